package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"
	kubevirtclient "kubevirt.io/client-go/kubevirt"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

func virtOf(t testing.TB, cluster *sim.Server) kubevirtclient.Interface {
	t.Helper()
	client, err := kubevirtclient.NewForConfig(cluster.RESTConfig())
	require.NoError(t, err)
	return client
}

func vmOf(t testing.TB, client kubevirtclient.Interface, namespace, name string) *virtv1.VirtualMachine {
	t.Helper()
	vm, err := client.KubevirtV1().VirtualMachines(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return vm
}

func vmiUID(t testing.TB, client kubevirtclient.Interface, namespace, name string) types.UID {
	t.Helper()
	vmi, err := client.KubevirtV1().VirtualMachineInstances(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return vmi.UID
}

// A forced power-off takes seconds whatever patience the machine's definition asks for, and leaves that alone.
func TestForceOffDoesNotWaitForTheGracePeriod(t *testing.T) {
	p, cluster := Odd(t)
	client := virtOf(t, cluster)
	for _, how := range []string{"ForceRestart", "ForceOff"} {
		p.WaitPower(t, Admin, "cp2.stubborn", "On")
		before := vmiUID(t, client, "cp2", "stubborn")
		began := time.Now()
		require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.stubborn", how).Status)
		require.Less(t, time.Since(began), 5*time.Second)
		if how == "ForceOff" {
			p.WaitPower(t, Admin, "cp2.stubborn", "Off")
		} else {
			require.Eventually(t, func() bool {
				vmi, err := client.KubevirtV1().VirtualMachineInstances("cp2").Get(t.Context(), "stubborn", metav1.GetOptions{})
				return err == nil && vmi.UID != before
			}, 20*time.Second, 20*time.Millisecond)
		}
		require.Less(t, time.Since(began), 20*time.Second)
	}
	require.EqualValues(t, 3600, *vmOf(t, client, "cp2", "stubborn").Spec.Template.Spec.TerminationGracePeriodSeconds)
}

// A power-on while the machine still shuts down is remembered, shown as a task, and done.
func TestPowerOnDuringShutdownIsRememberedAndDone(t *testing.T) {
	p, _ := Odd(t)
	p.WaitPower(t, Admin, "cp2.stubborn", "On")
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.stubborn", "GracefulShutdown").Status)
	require.Equal(t, "PoweringOff", p.Power(t, Admin, "cp2.stubborn"))
	accepted := p.Reset(t, Admin, "cp2.stubborn", "On")
	require.Equal(t, http.StatusAccepted, accepted.Status, accepted.Text)
	monitor := accepted.Header.Get("Location")
	require.True(t, strings.HasPrefix(monitor, "/redfish/v1/TaskService/TaskMonitors/"), monitor)
	require.Equal(t, "PoweringOn", p.Power(t, Admin, "cp2.stubborn"))
	again := p.Reset(t, Admin, "cp2.stubborn", "On")
	require.Equal(t, http.StatusAccepted, again.Status)
	require.Equal(t, monitor, again.Header.Get("Location"), "it is the same task")
	require.Equal(t, http.StatusAccepted, p.Do(t, Admin, http.MethodGet, monitor, nil).Status)

	hurried := p.Reset(t, Admin, "cp2.stubborn", "ForceRestart") // the power-on may be done before this is answered
	require.Contains(t, []int{http.StatusAccepted, http.StatusNoContent}, hurried.Status)
	p.WaitPower(t, Admin, "cp2.stubborn", "On")
	require.Eventually(t, func() bool {
		return p.Do(t, Admin, http.MethodGet, monitor, nil).Status == http.StatusNoContent
	}, 5*time.Second, 10*time.Millisecond, "the task has ended well")
}

// Any power-off gives up a power-on that waits.
func TestPowerOffCancelsAHeldPowerOn(t *testing.T) {
	for _, off := range []string{"ForceOff", "GracefulShutdown"} {
		t.Run(off, func(t *testing.T) {
			p, cluster := Odd(t)
			p.WaitPower(t, Admin, "cp2.stubborn", "On")
			p.Reset(t, Admin, "cp2.stubborn", "GracefulShutdown")
			held := p.Reset(t, Admin, "cp2.stubborn", "On")
			require.Equal(t, http.StatusAccepted, held.Status)
			require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.stubborn", off).Status)
			require.Contains(t, []string{"PoweringOff", "Off"}, p.Power(t, Admin, "cp2.stubborn"))
			task := p.Get(t, Admin, strings.Replace(held.Header.Get("Location"), "TaskMonitors", "Tasks", 1))
			require.Equal(t, "Cancelled", task["TaskState"])
			p.Reset(t, Admin, "cp2.stubborn", "ForceOff")
			p.WaitPower(t, Admin, "cp2.stubborn", "Off")
			require.Equal(t, virtv1.RunStrategyHalted, *vmOf(t, virtOf(t, cluster), "cp2", "stubborn").Spec.RunStrategy)
		})
	}
}

// A reset to the state that is already reached changes nothing.
func TestResetToTheReachedStateChangesNothing(t *testing.T) {
	p, cluster := Odd(t)
	client := virtOf(t, cluster)
	p.WaitPower(t, Admin, "cp1.node-0", "On")
	uid, generation := vmiUID(t, client, "cp1", "node-0"), vmOf(t, client, "cp1", "node-0").Generation
	for _, how := range []string{"On", "ForceOn"} {
		require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp1.node-0", how).Status)
	}
	require.Equal(t, uid, vmiUID(t, client, "cp1", "node-0"))
	require.Equal(t, generation, vmOf(t, client, "cp1", "node-0").Generation)
	before := vmOf(t, client, "cp1", "node-1").ResourceVersion
	for _, how := range []string{"ForceOff", "GracefulShutdown"} {
		require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp1.node-1", how).Status)
	}
	require.Equal(t, before, vmOf(t, client, "cp1", "node-1").ResourceVersion)
}

// A VM keeps the field that it says its run strategy in, and never has both.
func TestTheRunStrategyStaysInItsField(t *testing.T) {
	p, cluster := Odd(t)
	client := virtOf(t, cluster)
	for _, c := range []struct{ id, namespace, name string }{{"cp2.bare", "cp2", "bare"}, {"cp1.node-1", "cp1", "node-1"}} {
		legacy := vmOf(t, client, c.namespace, c.name).Spec.Running != nil
		for _, step := range []struct{ how, state string }{
			{"On", "On"}, {"ForceRestart", "On"}, {"GracefulRestart", "On"}, {"ForceOff", "Off"}, {"On", "On"}, {"PushPowerButton", "Off"}, {"PowerCycle", "On"},
		} {
			answer := p.Reset(t, Admin, c.id, step.how)
			require.Contains(t, []int{http.StatusNoContent, http.StatusAccepted}, answer.Status, answer.Text)
			p.WaitPower(t, Admin, c.id, step.state)
			vm := vmOf(t, client, c.namespace, c.name)
			require.Equal(t, legacy, vm.Spec.Running != nil)
			require.NotEqual(t, legacy, vm.Spec.RunStrategy != nil)
		}
	}
}

// Starting a Halted machine gives it the strategy that its annotation asks for; the others keep their own.
func TestTheRunStrategyIsTheUsers(t *testing.T) {
	p, cluster := Odd(t)
	client := virtOf(t, cluster)
	p.Stop()
	patch := `{"metadata":{"annotations":{"kubevirt-redfish.io/run-strategy":"Manual"}}}`
	_, err := client.KubevirtV1().VirtualMachines("cp1").Patch(t.Context(), "node-1", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	p = Start(t, Config{Cluster: cluster.RESTConfig(), Chassis: Chassis(), Users: p.users}) // it reads the annotation first
	for _, step := range []struct{ how, state string }{{"On", "On"}, {"ForceRestart", "On"}, {"ForceOff", "Off"}, {"On", "On"}, {"GracefulShutdown", "Off"}} {
		answer := p.Reset(t, Admin, "cp1.node-1", step.how)
		require.Contains(t, []int{http.StatusNoContent, http.StatusAccepted}, answer.Status, "%s: %s", step.how, answer.Text)
		p.WaitPower(t, Admin, "cp1.node-1", step.state)
		require.Equal(t, virtv1.RunStrategyManual, *vmOf(t, client, "cp1", "node-1").Spec.RunStrategy)
	}
	p.WaitPower(t, Admin, "cp2.once", "On")
	for _, step := range []struct{ how, state string }{{"ForceOff", "Off"}, {"On", "On"}, {"ForceRestart", "On"}} {
		answer := p.Reset(t, Admin, "cp2.once", step.how)
		require.Less(t, answer.Status, 300, answer.Text)
		p.WaitPower(t, Admin, "cp2.once", step.state)
	}
	require.Equal(t, virtv1.RunStrategyOnce, *vmOf(t, client, "cp2", "once").Spec.RunStrategy)
}

// A machine that no host takes is starting, says why, and can be switched off.
func TestAMachineWithoutAHostIsStartingAndSaysWhy(t *testing.T) {
	p, _ := Odd(t)
	p.waitPlatform(t, "cp2.homeless", "PrintableStatus", "ErrorUnschedulable")
	system := p.Get(t, Admin, "/redfish/v1/Systems/cp2.homeless")
	require.Equal(t, "PoweringOn", system["PowerState"])
	status := system["Status"].(map[string]any)
	require.Equal(t, "Starting", status["State"])
	require.Equal(t, "Warning", status["Health"])
	require.Contains(t, status["Conditions"].([]any)[0].(map[string]any)["Message"], "nodes")
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.homeless", "ForceOff").Status)
	p.WaitPower(t, Admin, "cp2.homeless", "Off")
}

// A machine whose starts fail is starting, with a warning.
func TestACrashLoopingMachineIsShownAsSuch(t *testing.T) {
	p, _ := Odd(t)
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.crashing", "On").Status)
	p.waitPlatform(t, "cp2.crashing", "PrintableStatus", "CrashLoopBackOff")
	system := p.Get(t, Admin, "/redfish/v1/Systems/cp2.crashing")
	require.Equal(t, "PoweringOn", system["PowerState"])
	require.Equal(t, "Warning", system["Status"].(map[string]any)["Health"])
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.crashing", "ForceOff").Status)
	p.WaitPower(t, Admin, "cp2.crashing", "Off")
}

// What a client reads after its write shows the write, although the watches lag.
func TestReadsShowWritesDespiteLaggingWatches(t *testing.T) {
	if testing.Short() {
		t.Skip("100 rounds against a lagging watch take a minute")
	}
	p, cluster := Odd(t)
	p.WaitPower(t, Admin, "cp1.node-0", "On")
	cluster.Faults().Add(sim.Rule{Verb: "watch", WatchLag: 300 * time.Millisecond})
	const id = "cp1.node-1"
	order := map[string]int{"Off": 0, "PoweringOn": 1, "On": 2, "PoweringOff": 3}
	for range 50 {
		require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, id, "On").Status)
		seen := p.Power(t, Admin, id)
		require.Contains(t, []string{"PoweringOn", "On"}, seen)
		for seen != "On" {
			now := p.Power(t, Admin, id)
			require.GreaterOrEqual(t, order[now], order[seen], "%s after %s", now, seen)
			seen = now
		}
		require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, id, "ForceOff").Status)
		seen = p.Power(t, Admin, id)
		require.Contains(t, []string{"PoweringOff", "Off"}, seen)
		for seen != "Off" {
			now := p.Power(t, Admin, id)
			require.Contains(t, []string{"PoweringOff", "Off"}, now)
			seen = now
		}
	}
}

// A reset that does not exist is refused and touches nothing.
func TestUnknownResetsTouchNothing(t *testing.T) {
	p, cluster := Odd(t)
	client := virtOf(t, cluster)
	before := vmOf(t, client, "cp1", "node-1").ResourceVersion
	const target = "/redfish/v1/Systems/cp1.node-1/Actions/ComputerSystem.Reset"
	for name, body := range map[string]any{
		"unknown": map[string]any{"ResetType": "SoftReset"}, "wrong case": map[string]any{"ResetType": "on"},
		"wrong type": map[string]any{"ResetType": 7}, "missing": map[string]any{}, "no body": nil, "Nmi": map[string]any{"ResetType": "Nmi"},
	} {
		answer := p.Do(t, Admin, http.MethodPost, target, body)
		require.Equal(t, http.StatusBadRequest, answer.Status, name)
		require.Contains(t, answer.Text, "ResetType", name)
	}
	require.Equal(t, before, vmOf(t, client, "cp1", "node-1").ResourceVersion)
}
