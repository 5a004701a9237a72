package sim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

// kubectl runs the installed client with a home of its own.
func kubectl(t *testing.T, c cluster) func(args ...string) string {
	t.Helper()
	path, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not installed: the simulator is not tried with it")
	}
	home := t.TempDir()
	config, err := c.Kubeconfig()
	require.NoError(t, err)
	file := filepath.Join(home, "kubeconfig")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	return func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Env = append(cmd.Environ(), "KUBECONFIG="+file, "HOME="+home)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "kubectl %v: %s", args, out)
		return string(out)
	}
}

func TestKubectlWorksOnTheSimulator(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet(), Delays: immediate()})
	run := kubectl(t, c)
	require.Regexp(t, `(?s)NAME +AGE +STATUS +READY.*node-0 +\S+ +Running +True.*node-1 +\S+ +Stopped +False`, run("get", "vm", "-n", "cp1"))
	require.Regexp(t, `(?s)NAME +AGE +PHASE +IP +NODENAME +READY.*node-0 +\S+ +Running +host-\d +True`, run("get", "vmi", "-n", "cp1"))
	require.Regexp(t, `Printable Status: +Running`, run("describe", "vm", "-n", "cp1", "node-0"))
	run("patch", "vm", "-n", "cp1", "node-1", "--type=merge", "-p", `{"spec":{"runStrategy":"Always"}}`)
	run("wait", "vm", "-n", "cp1", "node-1", "--for=jsonpath={.status.printableStatus}=Running", "--timeout=20s")
	run("label", "vm", "-n", "cp1", "node-1", "a=b")
	require.Contains(t, run("get", "vm", "-A", "-l", "a=b", "-o", "name"), "virtualmachine.kubevirt.io/node-1")
	require.Contains(t, run("auth", "can-i", "update", "virtualmachines", "--subresource=start"), "yes")
	run("create", "secret", "generic", "s", "--from-literal=k=v")
	require.Equal(t, "dg==", run("get", "secret", "s", "-o", "jsonpath={.data.k}"))
	run("delete", "vm", "-n", "cp1", "node-1", "--timeout=20s")
	require.NotContains(t, run("get", "vm,vmi,pvc", "-n", "cp1"), "node-1")
	run("delete", "namespace", "cp1", "--timeout=20s")
	file := filepath.Join(t.TempDir(), "vm.yaml")
	require.NoError(t, os.WriteFile(file, []byte(applied), 0o600))
	run("apply", "-f", file)
	run("apply", "-f", file)
	require.Contains(t, run("get", "vm", "applied"), "Stopped")
}

const applied = `
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: applied, namespace: default}
spec:
  runStrategy: Halted
  template: {spec: {domain: {devices: {}}}}
`
