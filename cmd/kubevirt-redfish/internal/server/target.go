package server

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

// target is the cluster that is served.
type target struct {
	config    *rest.Config
	simulated bool
	// namespace is our own when we run in the cluster; empty elsewhere.
	namespace string
	// uuid names the cluster, and with it this service.
	uuid  string
	close func()
}

// namespaceFile is where a pod finds the namespace that it runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// target is the cluster that the flags name: the simulator, a kubeconfig, the cluster that we run in, else the
// default kubeconfig.
func (s *serving) target(ctx context.Context) (*target, error) {
	if s.options.Simulate {
		return s.simulator(ctx)
	}
	t := &target{close: func() {}}
	if s.options.Kubeconfig == "" {
		t.config, _ = rest.InClusterConfig() // it fails when this is no pod
	}
	if t.config == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = s.options.Kubeconfig
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("no cluster to connect to: %w (use --kubeconfig, or --simulate to try without one)", err)
		}
		t.config = config
	} else if text, err := os.ReadFile(namespaceFile); err == nil {
		t.namespace = strings.TrimSpace(string(text))
	}
	t.config.UserAgent = "kubevirt-redfish/" + s.Version
	t.uuid = identify(ctx, t.config)
	return t, nil
}

func (s *serving) simulator(ctx context.Context) (*target, error) {
	fleet, err := readFleet(s.options.Fleet)
	if err != nil {
		return nil, err
	}
	cluster, err := sim.Start(ctx, sim.Options{Fleet: fleet, Logger: s.logger})
	if err != nil {
		return nil, fmt.Errorf("simulator, fleet %q: %w", s.options.Fleet, err)
	}
	config := cluster.RESTConfig()
	return &target{config: config, simulated: true, uuid: identify(ctx, config), close: cluster.Close}, nil
}

// readFleet reads a fleet file; the sample when there is none.
func readFleet(path string) (sim.Fleet, error) {
	if path == "" {
		return sim.DefaultFleet(), nil
	}
	file, err := os.Open(path) //nolint:gosec // the path is the person's who starts the program
	if err != nil {
		return sim.Fleet{}, fmt.Errorf("fleet: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	fleet, err := sim.ParseFleet(file)
	if err != nil {
		return sim.Fleet{}, fmt.Errorf("fleet %s: %w", path, err)
	}
	return fleet, nil
}

// identifyTimeout bounds the look at the cluster's identity at the start, which must not keep it from starting.
const identifyTimeout = 3 * time.Second

// identify is a UUID that all replicas and restarts on one cluster agree on: made from that of the cluster's
// own namespace, or from its address where that may not be read.
func identify(ctx context.Context, config *rest.Config) string {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	name := config.Host
	if client, err := kubernetes.NewForConfig(config); err == nil {
		if ns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{}); err == nil {
			name = string(ns.UID)
		}
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("kubevirt-redfish/"+name)).String()
}
