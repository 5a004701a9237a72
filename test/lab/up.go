package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

const startTimeout = 3 * time.Minute // of a whole lab, on a busy machine

// lab is one that is being started.
type lab struct {
	Options
	state
	ports
	bin binaries
	api *kube.Client
}

// Up starts a lab with the programs in dir and returns the path of the administrator's kubeconfig once the lab can be used. When it fails it stops
// what it has started; logs stay in the state folder. A folder that a stopped lab has left is continued.
func Up(ctx context.Context, dir string, o Options) (string, error) {
	if err := o.Validate(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	unlock, err := lockPorts()
	if err != nil {
		return "", err
	}
	defer unlock()
	l, err := prepare(dir, o)
	if err != nil {
		return "", err
	}
	start := time.Now()
	for _, stage := range []struct {
		name string
		run  func(context.Context) error
	}{{"Kubernetes", l.startKubernetes}, {"KubeVirt", l.startKubeVirt}} {
		if err := stage.run(ctx); err != nil {
			err = fmt.Errorf("start %s: %w (logs in %s)", stage.name, err, l.logs())
			return "", errors.Join(err, Down(o.State, false))
		}
		unlock() // the first ports are in use now, so that nobody takes these hundred
		slog.Info("lab", "started", stage.name, "after", time.Since(start).Round(100*time.Millisecond).String())
	}
	return l.kubeconfig(), nil
}

// lockPorts makes labs that are started at the same time choose one after the other. Unlocking twice does no harm.
func lockPorts() (unlock func(), err error) {
	dir, err := DefaultCache()
	if err == nil {
		err = os.MkdirAll(dir, 0o755) //nolint:gosec // nothing secret
	}
	if err != nil {
		return nil, err
	}
	return lock(filepath.Join(dir, "ports"))
}

// prepare checks that the folder and the ports are free, and makes keys for a new folder.
func prepare(dir string, o Options) (*lab, error) {
	s, err := openState(o.State)
	if err != nil {
		return nil, err
	}
	if err := s.make(); err != nil {
		return nil, err
	}
	running, err := s.recorded()
	if err != nil {
		return nil, err
	}
	for _, p := range running {
		if p.alive() {
			return nil, fmt.Errorf("a lab already runs in %s: %s has process id %d", s, p.Name, p.PID)
		}
	}
	saved, err := s.saved()
	if err != nil {
		return nil, err
	}
	if saved != nil { // keys and registrations name its ports
		if (o.PortBase != 0 && o.PortBase != saved.PortBase) || o.Nodes != saved.Nodes {
			return nil, fmt.Errorf("%s belongs to a lab with port base %d and %d nodes; take it away with down --clean", s, saved.PortBase, saved.Nodes)
		}
		o.PortBase = saved.PortBase
	}
	if o.PortBase, err = choosePorts(o.PortBase); err != nil {
		return nil, err
	}
	l := &lab{Options: o, state: s, ports: portsAt(o.PortBase), bin: binaries(dir)}
	if saved == nil {
		if err := s.writePKI(l.server()); err != nil {
			return nil, err
		}
	}
	if l.api, err = s.client(); err != nil {
		return nil, err
	}
	return l, s.save(o)
}

func (l *lab) server() string { return fmt.Sprintf("https://127.0.0.1:%d", l.ports.api) }

func (s state) client() (*kube.Client, error) {
	config, err := kube.ReadConfig(s.kubeconfig())
	if err != nil {
		return nil, err
	}
	return kube.New(config)
}

// await asks until ready returns nil. It gives up when ctx ends, with ready's last answer, or when a program of the lab has ended.
func (l *lab) await(ctx context.Context, what string, ready func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		dead, deadErr := l.dead()
		if len(dead) > 0 || deadErr != nil {
			return errors.Join(fmt.Errorf("%s: %s ended: %w", what, strings.Join(dead, ", "), err), deadErr)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", what, ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// ProcessStatus is one program of a lab.
type ProcessStatus struct {
	Name  string
	PID   int
	Alive bool
	RSS   int64 // bytes
	Log   string
}

// Status tells how the programs of a lab are; empty when none was started.
func Status(dir string) ([]ProcessStatus, error) {
	s, err := openState(dir)
	if err != nil {
		return nil, err
	}
	all, err := s.recorded()
	if err != nil {
		return nil, err
	}
	out := make([]ProcessStatus, len(all))
	for i, p := range all {
		out[i] = ProcessStatus{Name: p.Name, PID: p.PID, Alive: p.alive(), Log: s.logs() + "/" + p.Name + ".log"}
		if out[i].Alive {
			out[i].RSS = p.memory()
		}
	}
	return out, nil
}

// stopOrder is clients first.
var stopOrder = [][]string{
	{"fakenode", "virt-controller", "virt-api"}, {"kube-scheduler", "kube-controller-manager"}, {"kube-apiserver"}, {"etcd"},
}

// stopPatience is the time that a program has to end by itself.
const stopPatience = 15 * time.Second

// Down stops the lab of a state folder, and only what its process records name. Clean also removes keys, data and records, but not the logs.
func Down(dir string, clean bool) error {
	s, err := openState(dir)
	if err != nil {
		return err
	}
	all, err := s.recorded()
	if err != nil {
		return err
	}
	byName := map[string]process{}
	for _, p := range all {
		byName[p.Name] = p
	}
	var errs []error
	for _, group := range stopOrder {
		results := make(chan error, len(group))
		for _, name := range group {
			go func() { results <- byName[name].stop(stopPatience) }()
		}
		for range group {
			errs = append(errs, <-results)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if clean {
		return s.clean()
	}
	return os.RemoveAll(s.processes())
}
