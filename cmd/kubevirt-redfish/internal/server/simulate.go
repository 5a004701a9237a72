package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	kubevirtclient "kubevirt.io/client-go/kubevirt"

	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/cli"
	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/config"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

// simulationListen and simulationMetrics are where a simulation listens unless it is told otherwise: it is for
// trying, so for this machine alone.
const (
	simulationListen  = "127.0.0.1:8443"
	simulationMetrics = "127.0.0.1:8080"
)

// Simulate runs the simulated cluster alone until ctx ends.
func (p Programs) Simulate(ctx context.Context, o cli.SimulateOptions) error {
	logging, _ := config.LoggingFrom(p.Env)
	logger, flush := newLogger(p.Err, logging)
	defer flush()
	fleet, err := readFleet(o.Fleet)
	if o.VMs > 0 {
		fleet, err = sim.Generate(o.VMs)
	}
	if err != nil {
		return err //nolint:wrapcheck // says what it is about
	}
	cluster, err := sim.Start(ctx, sim.Options{Listen: o.Listen, Fleet: fleet, Logger: logger})
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	defer cluster.Close()
	kubeconfig, err := cluster.Kubeconfig()
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	if o.KubeconfigOut == "" {
		_, _ = fmt.Fprintf(p.Out, "The simulated cluster serves at %s. Its kubeconfig:\n\n%s\n", cluster.URL(), kubeconfig)
	} else {
		if err := os.WriteFile(o.KubeconfigOut, kubeconfig, 0o600); err != nil {
			return fmt.Errorf("writing the kubeconfig: %w", err)
		}
		_, _ = fmt.Fprintf(p.Out, "The simulated cluster serves at %s. Try:\n\n  kubectl --kubeconfig %s get vm,vmi -A\n", cluster.URL(), o.KubeconfigOut)
	}
	<-ctx.Done()
	return nil
}

// configureSimulation makes the configuration of a simulation without a file.
func (s *serving) configureSimulation(ctx context.Context, t *target, source config.Source) error {
	password, err := s.adminPassword()
	if err != nil {
		return err
	}
	s.password = password
	names, err := machineNames(ctx, t.config)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return config.Problems{{Text: "fleet " + s.options.Fleet + ": there is no VirtualMachine in it"}}
	}
	var namespaces []string
	for _, name := range names {
		namespace, _, _ := strings.Cut(name, ".")
		namespaces = append(namespaces, namespace)
	}
	if source.Listen == "" {
		source.Listen = simulationListen
	}
	if source.MetricsListen == "" {
		source.MetricsListen = simulationMetrics
	}
	s.config = config.ForSimulation(password, slices.Compact(namespaces))
	warnings, err := source.Override(s.config)
	if err != nil {
		return err //nolint:wrapcheck // says what it is about
	}
	s.warn(warnings)
	return nil
}

// adminPassword is the password of the simulation's only user.
func (s *serving) adminPassword() (string, error) {
	if s.options.AdminPasswordFile == "" {
		return rand.Text(), nil
	}
	text, err := os.ReadFile(s.options.AdminPasswordFile)
	if err != nil {
		return "", config.Problems{{Text: "--admin-password-file: " + err.Error()}}
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return "", config.Problems{{Text: "--admin-password-file: " + s.options.AdminPasswordFile + " is empty"}}
	}
	return password, nil
}

// machineNames are the machines of a cluster as "<namespace>.<name>", sorted.
func machineNames(ctx context.Context, cluster *rest.Config) ([]string, error) {
	client, err := kubevirtclient.NewForConfig(cluster)
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	list, err := client.KubevirtV1().VirtualMachines(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Namespace + "." + list.Items[i].Name
	}
	slices.Sort(names)
	return names, nil
}
