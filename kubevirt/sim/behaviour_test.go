package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

// lone is a cluster with one machine in it, and what one can do with the machine.
func lone(t *testing.T, delays *sim.Delays, strategy kubevirtv1.VirtualMachineRunStrategy, edits ...func(*kubevirtv1.VirtualMachine)) *powerCase {
	t.Helper()
	c := start(t, sim.Options{Delays: delays})
	createNamespace(t, c, "cp1")
	create(t, c, machine("m", strategy, edits...))
	return &powerCase{cluster: c, name: "m"}
}

// up waits until the guest runs and remembers the instance.
func (p *powerCase) up(t *testing.T) {
	t.Helper()
	until(t, func() bool { v := p.vmi(t); return v != nil && v.IsRunning() && v.Annotations[sim.Boots] != "" })
	p.note(t)
}

func (p *powerCase) status(t *testing.T) kubevirtv1.VirtualMachinePrintableStatus {
	t.Helper()
	return p.machine(t).Status.PrintableStatus
}

func (p *powerCase) condition(t *testing.T, want kubevirtv1.VirtualMachineInstanceConditionType) (corev1.ConditionStatus, string) {
	t.Helper()
	if vmi := p.vmi(t); vmi != nil {
		for _, c := range vmi.Status.Conditions {
			if c.Type == want {
				return c.Status, c.Reason
			}
		}
	}
	return "", ""
}

func (p *powerCase) launchers(t *testing.T) []corev1.Pod {
	t.Helper()
	pods, err := p.kube.CoreV1().Pods("cp1").List(t.Context(), metav1.ListOptions{LabelSelector: "kubevirt.io=virt-launcher,vm.kubevirt.io/name=" + p.name})
	require.NoError(t, err)
	return pods.Items
}

func TestRunStrategyDecidesWhatFollowsTheEndOfTheGuest(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy kubevirtv1.VirtualMachineRunStrategy
		end      string
		policy   kubevirtv1.RebootPolicy
		want     string
		phase    kubevirtv1.VirtualMachineInstancePhase
	}{
		"Always, poweroff":           {"Always", "shutdown", "", other, "Running"},
		"Always, crash":              {"Always", "crash", "", other, "Running"},
		"Always, reboot":             {"Always", "reboot", "", rebooted, "Running"},
		"Always, terminating reboot": {"Always", "reboot", kubevirtv1.RebootPolicyTerminate, other, "Running"},
		"Rerun, poweroff":            {"RerunOnFailure", "shutdown", "", none, ""},
		"Rerun, crash":               {"RerunOnFailure", "crash", "", other, "Running"},
		"Rerun, terminating reboot":  {"RerunOnFailure", "reboot", kubevirtv1.RebootPolicyTerminate, none, ""},
		"Once, poweroff":             {"Once", "shutdown", "", same, "Succeeded"},
		"Once, crash":                {"Once", "crash", "", same, "Failed"},
		"Manual, poweroff":           {"Manual", "shutdown", "", same, "Succeeded"},
		"Manual, crash":              {"Manual", "crash", "", same, "Failed"},
		"Manual, terminating reboot": {"Manual", "reboot", kubevirtv1.RebootPolicyTerminate, same, "Succeeded"},
		"Manual, reboot as ever":     {"Manual", "reboot", kubevirtv1.RebootPolicyReboot, rebooted, "Running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lone(t, immediate(), tc.strategy, template(func(s *kubevirtv1.VirtualMachineInstanceSpec) {
				if tc.policy != "" {
					s.Domain.RebootPolicy = &tc.policy
				}
			}))
			if tc.strategy == "Manual" {
				until(t, func() bool { code, _ := p.call(t, "start"); return code == 202 })
			}
			p.up(t)
			p.annotate(t, sim.Do, tc.end)
			until(t, func() bool {
				vmi := p.vmi(t)
				return p.outcome(t) == tc.want && (vmi == nil || vmi.Status.Phase == tc.phase)
			})
		})
	}
}

func TestCleanAndKilledEnds(t *testing.T) {
	deaf := guest(sim.IgnoreACPI, "true")
	for name, tc := range map[string]struct {
		verb  string
		grace int64
		edits []func(*kubevirtv1.VirtualMachine)
		want  kubevirtv1.VirtualMachineInstancePhase
	}{
		"shutdown is obeyed":               {"stop", 60, nil, kubevirtv1.Succeeded},
		"killed at once":                   {"stop 0", 60, []func(*kubevirtv1.VirtualMachine){deaf}, kubevirtv1.Succeeded},
		"killed after the grace period":    {"stop", 1, []func(*kubevirtv1.VirtualMachine){deaf}, kubevirtv1.Failed},
		"nothing booted, nothing can stop": {"stop", 1, []func(*kubevirtv1.VirtualMachine){guest(sim.ContentOf+"root", "blank")}, kubevirtv1.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lone(t, immediate(), "Always", append(tc.edits, template(func(s *kubevirtv1.VirtualMachineInstanceSpec) { s.TerminationGracePeriodSeconds = &tc.grace }))...)
			p.up(t)
			w, err := p.virt.KubevirtV1().VirtualMachineInstances("cp1").Watch(t.Context(), metav1.ListOptions{ResourceVersion: p.vmi(t).ResourceVersion})
			require.NoError(t, err)
			defer w.Stop()
			code, text := p.call(t, tc.verb)
			require.Equal(t, 202, code, text)
			for e := range w.ResultChan() {
				if vmi := e.Object.(*kubevirtv1.VirtualMachineInstance); vmi.IsFinal() { // a watch of these
					require.Equal(t, tc.want, vmi.Status.Phase)
					break
				}
			}
			until(t, func() bool { return p.vmi(t) == nil && len(p.launchers(t)) == 0 })
		})
	}
}

func TestUnschedulableMachineWaitsForANode(t *testing.T) {
	p := lone(t, immediate(), "Always", template(func(s *kubevirtv1.VirtualMachineInstanceSpec) { s.NodeSelector = map[string]string{"gpu": "yes"} }))
	until(t, func() bool { return p.status(t) == kubevirtv1.VirtualMachineStatusUnschedulable })
	status, reason := p.condition(t, "PodScheduled")
	require.Equal(t, corev1.ConditionFalse, status)
	require.Equal(t, corev1.PodReasonUnschedulable, reason)
	require.Equal(t, kubevirtv1.Scheduling, p.vmi(t).Status.Phase)
	require.Equal(t, corev1.PodPending, p.launchers(t)[0].Status.Phase)

	_, err := p.kube.CoreV1().Nodes().Patch(t.Context(), "host-1", types.MergePatchType, []byte(`{"metadata":{"labels":{"gpu":"yes"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	p.up(t)
	require.Equal(t, "host-1", p.vmi(t).Status.NodeName)
	status, _ = p.condition(t, "PodScheduled")
	require.Empty(t, status)
}

func TestFailingStartsBackOff(t *testing.T) {
	p := lone(t, &sim.Delays{BackOff: time.Second}, "Always", guest(sim.StartFail, "true"))
	until(t, func() bool {
		f := p.machine(t).Status.StartFailure
		return f != nil && f.ConsecutiveFailCount == 2 && p.status(t) == kubevirtv1.VirtualMachineStatusCrashLoopBackOff
	})
	require.Greater(t, time.Until(p.machine(t).Status.StartFailure.RetryAfterTimestamp.Time), 2*time.Second, "the second wait is about four units long")
	code, _ := p.call(t, "stop")
	require.Equal(t, 202, code)
	until(t, func() bool {
		vm := p.machine(t)
		return vm.Status.StartFailure == nil && vm.Status.PrintableStatus == kubevirtv1.VirtualMachineStatusStopped
	})
}

func TestDeletingTheLauncherPodEndsTheGuest(t *testing.T) {
	for name, tc := range map[string]struct {
		grace int64
		edit  func(*kubevirtv1.VirtualMachine)
		want  kubevirtv1.VirtualMachineInstancePhase
	}{
		"obeyed within the grace period": {30, guest(sim.IgnoreACPI, "false"), kubevirtv1.Succeeded},
		"killed after it":                {1, guest(sim.IgnoreACPI, "true"), kubevirtv1.Failed},
		"removed without any":            {0, guest(sim.IgnoreACPI, "true"), kubevirtv1.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lone(t, immediate(), "Once", tc.edit)
			p.up(t)
			pod := p.launchers(t)[0]
			require.Equal(t, string(p.uid), pod.Labels["kubevirt.io/created-by"])
			stranger := metav1.NewUIDPreconditions("00000000-0000-0000-0000-000000000000")
			err := p.kube.CoreV1().Pods("cp1").Delete(t.Context(), pod.Name, metav1.DeleteOptions{Preconditions: stranger})
			require.True(t, apierrors.IsConflict(err), err)
			require.NoError(t, p.kube.CoreV1().Pods("cp1").Delete(t.Context(), pod.Name, metav1.DeleteOptions{
				Preconditions: metav1.NewUIDPreconditions(string(pod.UID)), GracePeriodSeconds: &tc.grace}))
			until(t, func() bool { return p.vmi(t).Status.Phase == tc.want && len(p.launchers(t)) == 0 })
		})
	}
}

func TestLostNodeLeavesTheInstanceRunningAndNotReady(t *testing.T) {
	p := lone(t, immediate(), "Always")
	p.up(t)
	node := p.vmi(t).Status.NodeName
	down := func(value string) {
		_, err := p.kube.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"`+sim.NodeDown+`":`+value+`}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	down(`"true"`)
	until(t, func() bool { s, _ := p.condition(t, "Ready"); return s == corev1.ConditionFalse })
	require.Equal(t, kubevirtv1.Running, p.vmi(t).Status.Phase)
	code, _ := p.call(t, "stop 0")
	require.Equal(t, 202, code)
	until(t, func() bool { return p.status(t) == kubevirtv1.VirtualMachineStatusStopping })
	require.Equal(t, terminating, p.outcome(t), "nobody is there to end it")
	down("null")
	until(t, func() bool { return p.outcome(t) == none })
}

func TestDeletedMachineStopsItsGuestAndTakesItsDisksAlong(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	p := &powerCase{cluster: c, name: "node-0"}
	require.NoError(t, c.virt.KubevirtV1().VirtualMachines("cp1").Delete(t.Context(), "node-0", metav1.DeleteOptions{}))
	until(t, func() bool { return p.status(t) == kubevirtv1.VirtualMachineStatusTerminating })
	until(t, func() bool {
		_, err := c.virt.KubevirtV1().VirtualMachines("cp1").Get(t.Context(), "node-0", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	require.Nil(t, p.vmi(t))
	_, err := c.kube.CoreV1().PersistentVolumeClaims("cp1").Get(t.Context(), "node-0-root", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), err)
	_, err = c.kube.CoreV1().PersistentVolumeClaims("cp1").Get(t.Context(), "node-1-root", metav1.GetOptions{})
	require.NoError(t, err, "others keep theirs")
}

func TestGuestAgentProbeDecidesReadiness(t *testing.T) {
	probe := template(func(s *kubevirtv1.VirtualMachineInstanceSpec) {
		s.ReadinessProbe = &kubevirtv1.Probe{Handler: kubevirtv1.Handler{GuestAgentPing: &kubevirtv1.GuestAgentPing{}}}
	})
	with := lone(t, immediate(), "Always", probe)
	until(t, func() bool { return with.machine(t).Status.Ready })
	agent, _ := with.condition(t, kubevirtv1.VirtualMachineInstanceAgentConnected)
	require.Equal(t, corev1.ConditionTrue, agent)
	info, err := with.virt.KubevirtV1().VirtualMachineInstances("cp1").GuestOsInfo(t.Context(), "m")
	require.NoError(t, err)
	require.Equal(t, "m", info.Hostname)
	require.NotEmpty(t, with.vmi(t).Status.GuestOSInfo.PrettyName)

	without := lone(t, immediate(), "Always", probe, guest(sim.NoAgent, "true"))
	without.up(t)
	status, reason := without.condition(t, "Ready")
	require.Equal(t, corev1.ConditionFalse, status)
	require.Equal(t, "ContainersNotReady", reason)
	_, err = without.virt.KubevirtV1().VirtualMachineInstances("cp1").GuestOsInfo(t.Context(), "m")
	require.True(t, apierrors.IsConflict(err), err)
}

func TestPausedMachineIsNotReadyAndHearsNothing(t *testing.T) {
	p := lone(t, immediate(), "Always")
	p.up(t)
	p.call(t, "pause")
	until(t, func() bool {
		s, r := p.condition(t, "Ready")
		return s == corev1.ConditionFalse && r == "ReadinessGatesNotReady"
	})
	p.call(t, "softreboot")
	p.call(t, "reset")
	require.Equal(t, same, p.outcome(t))
	p.call(t, "unpause")
	until(t, func() bool { return p.outcome(t) == rebooted })
	until(t, func() bool { return p.machine(t).Status.Ready })
}

func TestStartPausedComesUpPaused(t *testing.T) {
	p := lone(t, immediate(), "Halted")
	require.NoError(t, p.virt.KubevirtV1().VirtualMachines("cp1").Start(t.Context(), "m", &kubevirtv1.StartOptions{Paused: true}))
	until(t, func() bool { return p.status(t) == kubevirtv1.VirtualMachineStatusPaused })
	require.Equal(t, kubevirtv1.RunStrategyAlways, *p.machine(t).Spec.RunStrategy)
}

func TestRestartRequiredComesAndGoesWithTheTemplate(t *testing.T) {
	p := lone(t, immediate(), "Always")
	p.up(t)
	patch := func(body string) {
		_, err := p.virt.KubevirtV1().VirtualMachines("cp1").Patch(t.Context(), "m", types.JSONPatchType, []byte(body), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	required := func() bool {
		for _, c := range p.machine(t).Status.Conditions {
			if c.Type == kubevirtv1.VirtualMachineRestartRequired {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	patch(`[{"op":"add","path":"/spec/template/spec/domain/devices/disks/0/bootOrder","value":3}]`)
	until(t, required)
	patch(`[{"op":"remove","path":"/spec/template/spec/domain/devices/disks/0/bootOrder"}]`)
	until(t, func() bool { return !required() })
	patch(`[{"op":"add","path":"/spec/template/spec/domain/devices/disks/0/bootOrder","value":2}]`)
	until(t, required)
	code, _ := p.call(t, "restart")
	require.Equal(t, 202, code)
	until(t, func() bool { return p.outcome(t) == other && !required() })
	require.Equal(t, uint(2), *p.vmi(t).Spec.Domain.Devices.Disks[0].BootOrder)
}

func TestInstanceShowsWhatTheGuestSees(t *testing.T) {
	p := lone(t, immediate(), "Always", template(func(s *kubevirtv1.VirtualMachineInstanceSpec) {
		s.Domain.CPU = &kubevirtv1.CPU{Sockets: 2, Cores: 4}
	}))
	p.up(t)
	vmi := p.vmi(t)
	require.Equal(t, &kubevirtv1.CPUTopology{Sockets: 2, Cores: 4, Threads: 1}, vmi.Status.CurrentCPUTopology)
	require.Equal(t, "64Mi", vmi.Status.Memory.GuestCurrent.String())
	require.NotEmpty(t, vmi.Status.Machine.Type)
	require.Equal(t, "vda", vmi.Status.VolumeStatus[0].Target)
	require.NotEmpty(t, vmi.Status.Interfaces[0].IP)
	require.Equal(t, p.machine(t).Spec.Template.Spec.Domain.Firmware.UUID, vmi.Spec.Domain.Firmware.UUID)
	mac := vmi.Status.Interfaces[0].MAC
	var phases []kubevirtv1.VirtualMachineInstancePhase
	for _, ts := range vmi.Status.PhaseTransitionTimestamps {
		phases = append(phases, ts.Phase)
	}
	require.Equal(t, []kubevirtv1.VirtualMachineInstancePhase{"Pending", "Scheduling", "Scheduled", "Running"}, phases)
	p.call(t, "restart 0")
	until(t, func() bool { return p.outcome(t) == other && len(p.vmi(t).Status.Interfaces) > 0 })
	require.NotEqual(t, mac, p.vmi(t).Status.Interfaces[0].MAC, "a MAC that is not set changes with each start")
}
