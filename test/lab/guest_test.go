package lab_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

func TestGuestBehavesAsAnnotated(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(space){
		"ignored ACPI is killed after the grace period":     killedAfterGrace,
		"grace period 0 kills at once":                      killedAtOnce,
		"shutdown takes as long as told":                    slowShutdown,
		"Always makes a new VMI after a crash":              crashed,
		"failed start ends in CrashLoopBackOff":             startFails,
		"no fitting node is ErrorUnschedulable":             unschedulable,
		"paused guest goes on where it was":                 pausedAndResumed,
		"agent decides readiness of the pod":                readiness,
		"nothing to boot":                                   nothingToBoot,
		"deleted launcher pod with a short grace is killed": launcherKilled,
		"screenshot shows what was booted":                  screenshot,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(newSpace(t))
		})
	}
}

func killedAfterGrace(s space) {
	s.start("vm", machine{grace: 3, annotations: map[string]string{"ignore-acpi": "true"}})
	s.running("vm")
	begin := time.Now()
	require.Equal(s, "202", call(s, "vm", "stop"))
	s.gone("vm")
	require.GreaterOrEqual(s, time.Since(begin), 3*time.Second)
	require.Contains(s, s.guestLog("vm"), "end=Failed")
}

func killedAtOnce(s space) {
	s.start("vm", machine{annotations: map[string]string{"ignore-acpi": "true"}})
	s.running("vm")
	require.Equal(s, "202", call(s, "vm", "stop grace 0"))
	s.gone("vm") // grace is 60 s, as long as we would wait
	require.Regexp(s, `end=Succeeded why="(VMI|launcher pod) was deleted, no grace period"`, s.guestLog("vm"))
}

func slowShutdown(s space) {
	s.start("vm", machine{annotations: map[string]string{"shutdown": "4s"}})
	s.running("vm")
	begin := time.Now()
	require.Equal(s, "202", call(s, "vm", "stop"))
	s.gone("vm")
	require.GreaterOrEqual(s, time.Since(begin), 4*time.Second)
	require.Contains(s, s.guestLog("vm"), "end=Succeeded")
}

func crashed(s space) {
	s.start("vm", machine{})
	before := s.running("vm")
	s.annotate("vm", "guest", "crash")
	s.eventually("a new VMI", "Always, Running; new VMI", func() string { return describe(s, "vm", before) })
	require.Contains(s, s.guestLog("vm"), `end=Failed why="guest crashed"`)
}

func startFails(s space) {
	s.start("vm", machine{annotations: map[string]string{"start-fail": "true"}})
	s.printable("vm", "CrashLoopBackOff")
}

func unschedulable(s space) {
	s.start("vm", machine{selector: map[string]string{"kubernetes.io/hostname": "nowhere"}})
	s.printable("vm", "ErrorUnschedulable")
}

func pausedAndResumed(s space) {
	s.start("vm", machine{})
	before := s.running("vm")
	require.Equal(s, "200", call(s, "vm", "pause"))
	s.printable("vm", "Paused")
	require.Equal(s, "200", call(s, "vm", "reset"))
	require.Equal(s, "200", call(s, "vm", "unpause"))
	s.eventually("reset while paused takes effect", "Always, Running; same VMI, booted again", func() string { return describe(s, "vm", before) })
}

func readiness(s space) {
	s.start("vm", machine{agentProbe: true, annotations: map[string]string{"agent": "false"}})
	s.running("vm")
	ready := func() string { return conditionOf(s.vmi("vm"), "Ready") }
	s.eventually("not ready without an agent", "False", ready)
	s.annotate("vm", "agent", nil)
	s.eventually("ready with an agent", "True", ready)
	s.annotate("vm", "guest", "hang")
	s.eventually("not ready when it hangs", "False", ready)
}

func nothingToBoot(s space) {
	s.start("vm", machine{grace: 2, annotations: map[string]string{"disk-state.root": "blank"}})
	s.bootedFrom("vm", "none")
	require.Equal(s, "202", call(s, "vm", "stop"))
	s.gone("vm")
	require.Contains(s, s.guestLog("vm"), "end=Failed") // firmware does not listen to ACPI
}

func launcherKilled(s space) {
	s.start("vm", machine{annotations: map[string]string{"ignore-acpi": "true"}})
	before := s.running("vm")
	var pods struct{ Items []kube.Object }
	_, err := s.Do(s.Context(), http.MethodGet, s.path(core, "pods", "")+"?labelSelector=kubevirt.io%3Dvirt-launcher", nil, &pods)
	require.NoError(s, err)
	require.Len(s, pods.Items, 1)
	_, err = s.Do(s.Context(), http.MethodDelete, s.path(core, "pods", pods.Items[0].Text("metadata", "name")), kube.Object{"gracePeriodSeconds": 1}, nil)
	require.NoError(s, err)
	s.eventually("a new VMI", "Always, Running; new VMI", func() string { return describe(s, "vm", before) })
	require.Contains(s, s.guestLog("vm"), `end=Failed why="launcher pod was killed"`)
}

func screenshot(s space) {
	s.start("vm", machine{})
	s.running("vm")
	code, err := s.Do(s.Context(), http.MethodGet, s.path(subs, onVMI, "vm")+"/vnc/screenshot", nil, nil)
	require.NoError(s, err)
	require.Equal(s, http.StatusOK, code)
}

func TestLostNodeKeepsItsVMIRunningButNotReady(t *testing.T) {
	ownLab(t)
	s := newSpace(t)
	s.start("vm", machine{})
	s.eventually("ready", "True", func() string { return conditionOf(s.vmi("vm"), "Ready") })
	node := s.vmi("vm").Text("status", "nodeName")
	down := func(value any) {
		require.NoError(t, s.Patch(t.Context(), "/api/v1/nodes/"+node, kube.Object{"metadata": map[string]any{"annotations": map[string]any{annotation + "down": value}}}, nil))
	}
	down("true")
	s.eventually("not ready", "False", func() string { return conditionOf(s.vmi("vm"), "Ready") })
	require.Equal(t, "Running", s.vmi("vm").Text("status", "phase"))
	require.True(t, strings.HasPrefix(call(s, "vm", "pause"), "5"), "virt-handler of a lost node must not answer")
	down(nil)
	s.eventually("ready again", "True", func() string { return conditionOf(s.vmi("vm"), "Ready") })
}
