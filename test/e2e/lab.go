package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	kubevirtclient "kubevirt.io/client-go/kubevirt"
	"sigs.k8s.io/yaml"
)

// Environment variables that ask for the tests on a real control plane: LAB_KUBECONFIG names a running one, any
// value of LAB starts one of their own.
const (
	labVariable           = "LAB"
	labKubeconfigVariable = "LAB_KUBECONFIG"
)

// Lab is a real control plane of Kubernetes and KubeVirt with imitated nodes and guests, see test/lab.
type Lab struct {
	admin   *rest.Config
	kube    kubernetes.Interface
	virt    kubevirtclient.Interface
	dynamic dynamic.Interface
	// own is true of a lab that ends with the tests, so that nothing in it has to be cleared away.
	own bool
}

// lab is the one that the tests of this process share; nil without.
var lab *Lab

const (
	// spareNode is kept free of machines that do not ask for it, so that a test can lose it. A lab started for the
	// tests has it.
	spareNode = "node-4"
	labNodes  = "4"
	// labParallel is how many tests wait side by side; they do not compute.
	labParallel = "16"
	// spareTaint keeps others away from it.
	spareTaint = "e2e-spare"
)

// RunWithLab runs the tests of a process. When the environment asks for it, they have a lab meanwhile.
func RunWithLab(m *testing.M) int {
	kubeconfig, own := os.Getenv(labKubeconfigVariable), false
	stop := func(bool) error { return nil }
	var err error
	if kubeconfig == "" && os.Getenv(labVariable) != "" {
		own = true
		kubeconfig, stop, err = startLab()
	}
	if err == nil && kubeconfig != "" {
		lab, err = connect(context.Background(), kubeconfig, own) // there is no test yet
		_ = flag.Set("test.parallel", labParallel)                // a flag of the command line comes later and wins
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, "starting the lab:", err)
	}
	if err := stop(code == 0); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the lab:", err)
		return 1
	}
	return code
}

// startLab starts a lab in a folder of its own and returns how to stop it, also when it has failed; all being
// well its logs go too.
func startLab() (kubeconfig string, stop func(well bool) error, err error) {
	state, err := os.MkdirTemp("", "kubevirt-redfish-lab-")
	if err != nil {
		return "", func(bool) error { return nil }, fmt.Errorf("a folder for the lab: %w", err)
	}
	stop = func(well bool) error {
		if _, err := labCommand("down", "--state", state, "--clean"); err != nil {
			return err
		}
		if well {
			return os.RemoveAll(state) //nolint:wrapcheck // says what it is about
		}
		fmt.Fprintln(os.Stderr, "the lab's logs are in", state)
		return nil
	}
	kubeconfig, err = labCommand("up", "--state", state, "--nodes", labNodes)
	return kubeconfig, stop, err
}

// labCommand runs the lab's own program, which lives in another Go module, and returns what it prints.
func labCommand(args ...string) (string, error) {
	_, file, _, _ := runtime.Caller(0)
	command := exec.Command("go", append([]string{"run", "-C", filepath.Join(filepath.Dir(file), "../lab"), "./cmd/lab"}, args...)...) //nolint:noctx // it bounds itself
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("lab %s: %w", args[0], err)
	}
	return strings.TrimSpace(out.String()), nil
}

// connect makes the clients, as the administrator, and what all tests share.
func connect(ctx context.Context, kubeconfig string, own bool) (*Lab, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	l := &Lab{admin: config, own: own}
	if l.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if l.virt, err = kubevirtclient.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if l.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if err := l.reserveSpare(ctx); err != nil {
		return nil, err
	}
	for _, text := range []string{manifest("machines"), documentedRole} {
		if err := l.apply(ctx, text); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// reserveSpare keeps the spare node, if the lab has one, for the test that loses it.
func (l *Lab) reserveSpare(ctx context.Context) error {
	nodes, err := l.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + spareNode})
	if err != nil || len(nodes.Items) == 0 {
		return err //nolint:wrapcheck // says what it is about
	}
	patch := fmt.Sprintf(`{"spec": {"taints": [{"key": %q, "effect": "NoSchedule"}]}}`, spareTaint)
	return l.patchNode(ctx, spareNode, patch)
}

// resources are the kinds that the tests apply.
var resources = map[string]schema.GroupVersionResource{
	"ServiceAccount":     {Version: "v1", Resource: "serviceaccounts"},
	"Role":               {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	"RoleBinding":        {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	"ClusterRole":        {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	"ClusterRoleBinding": {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
}

// apply does what kubectl apply does with the documents of a manifest.
func (l *Lab) apply(ctx context.Context, text string) error {
	for document := range strings.SplitSeq(text, "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return fmt.Errorf("manifest: %w", err)
		}
		objects := l.dynamic.Resource(resources[o.GetKind()]).Namespace(o.GetNamespace())
		if _, err := objects.Apply(ctx, o.GetName(), &o, metav1.ApplyOptions{FieldManager: "e2e", Force: true}); err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
