package lab

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Options of a lab. State is needed; the zero values of the others mean the defaults that DefaultOptions returns.
type Options struct {
	// State is the folder for keys, etcd's data, logs and process records. One lab per folder.
	State string `json:"state"`
	// PortBase is the first of the 100 ports that a lab may use, see Ports; 0 takes the first free hundred from 16400 on.
	PortBase int `json:"portBase"`
	// Nodes is the number of simulated nodes, node-1, node-2 …
	Nodes int `json:"nodes"`
	// Gates false plays an older KubeVirt: RebootPolicy and DeclarativeHotplugVolumes are disabled.
	Gates bool `json:"gates"`

	Heartbeat  time.Duration `json:"heartbeat"`  // of a node
	NodeGrace  time.Duration `json:"nodeGrace"`  // without a heartbeat until a node is NotReady
	Toleration time.Duration `json:"toleration"` // of pods for a node that is NotReady, in whole seconds

	PodStart    time.Duration `json:"podStart"`    // Pending to Running of a pod
	Boot        time.Duration `json:"boot"`        // Scheduled to Running of a VMI
	Agent       time.Duration `json:"agent"`       // boot of an installed disk to guest agent and readiness
	Shutdown    time.Duration `json:"shutdown"`    // of a guest that listens
	Hotplug     time.Duration `json:"hotplug"`     // each step of a hotplug
	ImportRetry time.Duration `json:"importRetry"` // wait before a failed import is tried again
}

// DefaultOptions are short enough for tests and long enough for a busy machine with two cores.
func DefaultOptions() Options {
	return Options{
		Nodes: 3, Gates: true,
		Heartbeat: 3 * time.Second, NodeGrace: 20 * time.Second, Toleration: 20 * time.Second,
		PodStart: 100 * time.Millisecond, Boot: 300 * time.Millisecond, Agent: 500 * time.Millisecond,
		Shutdown: 500 * time.Millisecond, Hotplug: 200 * time.Millisecond, ImportRetry: time.Second,
	}
}

// Validate tells what is wrong with the options.
func (o Options) Validate() error {
	switch {
	case o.State == "":
		return errors.New("no state folder")
	case o.Nodes < 1 || o.Nodes > 99:
		return fmt.Errorf("%d nodes: 1 to 99 are possible", o.Nodes)
	case o.PortBase != 0 && (o.PortBase < 1024 || o.PortBase > 65400):
		return fmt.Errorf("port base %d: 1024 to 65400 are possible", o.PortBase)
	}
	return nil
}

// ports of one lab, on 127.0.0.1; handler is on 127.0.1.1 … 127.0.1.N.
type ports struct {
	etcd, etcdPeer, api, controllerManager, scheduler, virtController, virtAPI, handler int
}

func portsAt(base int) ports {
	return ports{
		etcd: base + 1, etcdPeer: base + 2, api: base + 43, controllerManager: base + 57, scheduler: base + 59,
		virtController: base + 82, virtAPI: base + 84, handler: base + 86,
	}
}

func (p ports) free() error {
	for _, port := range []int{p.etcd, p.etcdPeer, p.api, p.controllerManager, p.scheduler, p.virtController, p.virtAPI} {
		if err := free("127.0.0.1", port); err != nil {
			return err
		}
	}
	return free("127.0.1.1", p.handler)
}

func free(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))) //nolint:noctx // ends at once
	if err != nil {
		return fmt.Errorf("port in use: %w", err)
	}
	return l.Close()
}

// choosePorts returns the port base to use.
func choosePorts(wanted int) (int, error) {
	if wanted != 0 {
		return wanted, portsAt(wanted).free()
	}
	for base := 16400; base < 20000; base += 100 {
		if portsAt(base).free() == nil {
			return base, nil
		}
	}
	return 0, errors.New("no free ports between 16400 and 20000")
}
