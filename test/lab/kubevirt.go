package lab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

const (
	namespace   = "kubevirt"
	leaderLease = "/apis/coordination.k8s.io/v1/namespaces/kubevirt/leases/virt-controller"
)

// startKubeVirt installs what virt-operator would, starts KubeVirt's programs and the stand-ins, and ends when a VM could be started.
func (l *lab) startKubeVirt(ctx context.Context) error {
	if err := l.generate(ctx); err != nil {
		return err
	}
	crds, err := l.manifest("crds.json")
	if err != nil {
		return err
	}
	// CDI's kinds come before virt-api and virt-controller start: these exit when they appear later
	crds = append(crds, customResources()...)
	if err := l.apply(ctx, crds...); err != nil {
		return err
	}
	if err := l.await(ctx, "custom resources", func(ctx context.Context) error { return l.served(ctx, crds) }); err != nil {
		return err
	}
	if err := l.apply(ctx, kube.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}); err != nil {
		return err
	}
	if err := l.applyFiles(ctx, "rbac.json", "services.json"); err != nil {
		return err
	}
	if err := l.apply(ctx, append(storageObjects(), l.kubeVirt())...); err != nil {
		return err
	}
	if err := l.api.ApplyStatus(ctx, kubeVirtStatus()); err != nil {
		return err
	}
	return l.startPrograms(ctx)
}

func (l *lab) startPrograms(ctx context.Context) error {
	// a leader that was stopped has left its lease, which would have to run out first
	if _, err := l.api.Do(ctx, http.MethodDelete, leaderLease, nil, nil); err != nil && kube.Code(err) != http.StatusNotFound {
		return err
	}
	for name, argv := range map[string][]string{"virt-api": l.virtAPICommand(), "virt-controller": l.virtControllerCommand(), "fakenode": l.fakenodeCommand()} {
		if err := l.start(name, argv...); err != nil {
			return err
		}
	}
	if err := l.await(ctx, "virt-api", l.virtAPIHealthy); err != nil {
		return err
	}
	if err := l.applyFiles(ctx, "virt-handler.json", "registration.json"); err != nil {
		return err
	}
	for what, ready := range map[string]func(context.Context) error{
		"subresources": func(ctx context.Context) error { return l.get(ctx, "/apis/subresources.kubevirt.io/v1") },
		"virt-controller": func(ctx context.Context) error {
			return l.get(ctx, "/apis/coordination.k8s.io/v1/namespaces/kubevirt/leases/virt-controller")
		},
		"nodes": l.nodesReady,
		"default account": func(ctx context.Context) error {
			return l.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
		},
	} {
		if err := l.await(ctx, what, ready); err != nil {
			return err
		}
	}
	return nil
}

// generate lets kvgen write KubeVirt's manifests.
func (l *lab) generate(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, l.bin.program("kvgen"), "-dir", l.manifests(), "-ca", l.pki("kubevirt-ca.crt"), //nolint:gosec // our own program
		"-virt-api-port", fmt.Sprint(l.virtAPI), "-version", kubevirtVersion)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kvgen: %w: %s", err, out)
	}
	return nil
}

func (l *lab) applyFiles(ctx context.Context, names ...string) error {
	for _, name := range names {
		objects, err := l.manifest(name)
		if err != nil {
			return err
		}
		if err := l.apply(ctx, objects...); err != nil {
			return err
		}
	}
	return nil
}

// apply applies objects side by side.
func (l *lab) apply(ctx context.Context, objects ...kube.Object) error {
	errs := make([]error, len(objects))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i, o := range objects {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = l.api.Apply(ctx, o)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// served asks discovery for the kinds that custom resource definitions declare: it lists them once they are established.
func (l *lab) served(ctx context.Context, crds []kube.Object) error {
	for _, crd := range crds {
		spec := kube.Object(crd["spec"].(map[string]any))
		for _, v := range spec["versions"].([]any) {
			version := kube.Object(v.(map[string]any))
			if version["served"] != true {
				continue
			}
			if _, err := l.api.Path(ctx, kube.Object{"apiVersion": spec.Text("group") + "/" + version.Text("name"), "kind": spec.Text("names", "kind")}); err != nil {
				return err
			}
		}
	}
	return nil
}

// nodesReady asks for the nodes and for virt-handler's pods on them.
func (l *lab) nodesReady(ctx context.Context) error {
	var daemons struct {
		Status struct{ NumberReady int }
	}
	if _, err := l.api.Do(ctx, http.MethodGet, "/apis/apps/v1/namespaces/kubevirt/daemonsets/virt-handler", nil, &daemons); err != nil {
		return err
	}
	if daemons.Status.NumberReady != l.Nodes {
		return fmt.Errorf("%d of %d virt-handlers are ready", daemons.Status.NumberReady, l.Nodes)
	}
	var nodes struct{ Items []kube.Object }
	if _, err := l.api.Do(ctx, http.MethodGet, "/api/v1/nodes", nil, &nodes); err != nil {
		return err
	}
	for _, n := range nodes.Items {
		if !conditionTrue(n, "Ready") {
			return fmt.Errorf("%s is not ready", n.Text("metadata", "name"))
		}
	}
	return nil
}

func conditionTrue(o kube.Object, kind string) bool {
	status, _ := o["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if c := kube.Object(c.(map[string]any)); c.Text("type") == kind {
			return c.Text("status") == "True"
		}
	}
	return false
}

// virtAPICommand and virtControllerCommand run as the service accounts that virt-operator would give them.
func (l *lab) virtAPICommand() []string {
	return []string{
		l.bin.program("virt"), "virt-api", "--kubeconfig", l.pki("virt-api-client.kubeconfig"), "--subresources-only", "-v", "2",
		"--listen", "127.0.0.1", "--port", fmt.Sprint(l.virtAPI), "--console-server-port", fmt.Sprint(l.handler),
		"--tls-cert-file", l.pki("virt-api.crt"), "--tls-key-file", l.pki("virt-api.key"),
		"--handler-cert-file", l.pki("virt-handler-client.crt"), "--handler-key-file", l.pki("virt-handler-client.key"),
	}
}

func (l *lab) virtControllerCommand() []string {
	return []string{
		l.bin.program("virt"), "virt-controller", "--kubeconfig", l.pki("virt-controller-client.kubeconfig"), "-v", "2",
		"--listen", "127.0.0.1", "--port", fmt.Sprint(l.virtController),
		"--launcher-image", "lab.invalid/kubevirt/virt-launcher:" + kubevirtVersion,
		"--exporter-image", "lab.invalid/kubevirt/virt-exportserver:" + kubevirtVersion,
		"--prom-cert-file", l.pki("virt-controller.crt"), "--prom-key-file", l.pki("virt-controller.key"),
		// it ends when it loses its lease, which the default of 15 s makes it do on a busy machine
		"--leader-elect-lease-duration", "40s", "--leader-elect-renew-deadline", "30s", "--leader-elect-retry-period", "3s",
	}
}

func (l *lab) fakenodeCommand() []string {
	return []string{
		l.bin.program("fakenode"), "-kubeconfig", l.kubeconfig(), "-pki", strings.TrimSuffix(l.pki("x"), "/x"),
		"-nodes", fmt.Sprint(l.Nodes), "-handler-port", fmt.Sprint(l.handler), "-heartbeat", l.Heartbeat.String(),
		"-pod-start", l.PodStart.String(), "-boot", l.Boot.String(), "-agent", l.Agent.String(),
		"-shutdown", l.Shutdown.String(), "-hotplug", l.Hotplug.String(), "-import-retry", l.ImportRetry.String(),
	}
}
