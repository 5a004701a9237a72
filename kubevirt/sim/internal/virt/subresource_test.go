package virt

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

var testKey = store.Key{Namespace: "cp1", Name: "m"}

// quiet returns a Virt that does nothing by itself.
func quiet(t *testing.T) *Virt {
	t.Helper()
	c := testingclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	v := New(Options{Store: store.New(c), Clock: c, Log: slog.New(slog.DiscardHandler), Jitter: func(time.Duration) time.Duration { return 0 }})
	t.Cleanup(v.queue.ShutDown)
	return v
}

func statusCode(t *testing.T, err error) int {
	t.Helper()
	var s apierrors.APIStatus
	require.ErrorAs(t, err, &s)
	return int(s.Status().Code)
}

func withRunning(on bool) func(*vmObject) {
	return func(vm *vmObject) { vm.Spec.RunStrategy, vm.Spec.Running = nil, &on }
}

func (v *Virt) put(t *testing.T, strategy kubevirtv1.VirtualMachineRunStrategy, phase kubevirtv1.VirtualMachineInstancePhase, edit func(*vmObject, *vmiObject)) {
	t.Helper()
	vm := &vmObject{ObjectMeta: metav1.ObjectMeta{Name: testKey.Name, Namespace: testKey.Namespace},
		Spec: kubevirtv1.VirtualMachineSpec{RunStrategy: &strategy, Template: &kubevirtv1.VirtualMachineInstanceTemplateSpec{}}}
	vmi := &vmiObject{ObjectMeta: metav1.ObjectMeta{Name: testKey.Name, Namespace: testKey.Namespace, UID: "old"}}
	vmi.Status.Phase = phase
	if edit != nil {
		edit(vm, vmi)
	}
	require.NoError(t, create(v.Store, resource.VirtualMachines, vm))
	if phase != "" {
		require.NoError(t, create(v.Store, resource.VirtualMachineInstances, vmi))
	}
}

func TestPowerRulesBesideTheObservedOnes(t *testing.T) {
	stop := kubevirtv1.VirtualMachineStateChangeRequest{Action: kubevirtv1.StopRequest, UID: new(typesUID("old"))}
	begin := kubevirtv1.VirtualMachineStateChangeRequest{Action: kubevirtv1.StartRequest}
	beginPaused := kubevirtv1.VirtualMachineStateChangeRequest{Action: kubevirtv1.StartRequest, Data: map[string]string{"paused": "true"}}
	off := false
	for name, tc := range map[string]struct {
		verb     string
		strategy kubevirtv1.VirtualMachineRunStrategy
		phase    kubevirtv1.VirtualMachineInstancePhase
		edit     func(*vmObject, *vmiObject)
		body     string
		code     int
		message  string
		after    kubevirtv1.VirtualMachineRunStrategy
		requests []kubevirtv1.VirtualMachineStateChangeRequest
	}{
		"start of a failed RerunOnFailure": {verb: "start", strategy: rerun, phase: kubevirtv1.Failed, code: 409, after: rerun,
			message: `Operation cannot be fulfilled on virtualmachine.kubevirt.io "m": RerunOnFailure does not support starting VM from failed state`},
		"start of a final Manual":    {verb: "start", strategy: manual, phase: kubevirtv1.Failed, code: 202, after: manual, requests: []kubevirtv1.VirtualMachineStateChangeRequest{stop, begin}},
		"start of a succeeded Rerun": {verb: "start", strategy: rerun, phase: kubevirtv1.Succeeded, code: 202, after: rerun, requests: []kubevirtv1.VirtualMachineStateChangeRequest{stop, begin}},
		"start of a new Always":      {verb: "start", strategy: always, code: 409, after: always, message: `Operation cannot be fulfilled on virtualmachine.kubevirt.io "m": Always does not support manual start requests`},
		"start paused":               {verb: "start", strategy: halted, body: `{"paused":true}`, code: 202, after: halted, requests: []kubevirtv1.VirtualMachineStateChangeRequest{beginPaused}},
		"start of a receiver":        {verb: "start", strategy: kubevirtv1.RunStrategyWaitAsReceiver, code: 202, after: kubevirtv1.RunStrategyWaitAsReceiver},
		"stop of a receiver":         {verb: "stop", strategy: kubevirtv1.RunStrategyWaitAsReceiver, code: 202, after: kubevirtv1.RunStrategyWaitAsReceiver},
		"start while one is queued": {verb: "start", strategy: manual, code: 500, after: manual, edit: func(vm *vmObject, _ *vmiObject) {
			vm.Status.StateChangeRequests = append(vm.Status.StateChangeRequests, begin)
		}, message: "Internal error occurred: unable to complete request: stop/start already underway", requests: []kubevirtv1.VirtualMachineStateChangeRequest{begin}},
		"stop replaces what is queued": {verb: "stop", strategy: manual, phase: kubevirtv1.Running, code: 202, after: manual, edit: func(vm *vmObject, _ *vmiObject) {
			vm.Status.StateChangeRequests = append(vm.Status.StateChangeRequests, begin)
		}, requests: []kubevirtv1.VirtualMachineStateChangeRequest{stop}},
		"start that needs recovery": {verb: "start", strategy: halted, code: 409, after: halted, edit: func(vm *vmObject, _ *vmiObject) {
			vm.Status.Conditions = []kubevirtv1.VirtualMachineCondition{{Type: kubevirtv1.VirtualMachineManualRecoveryRequired, Status: corev1.ConditionTrue}}
		}, message: `Operation cannot be fulfilled on virtualmachine.kubevirt.io "m": VM recovery required: Volumes update was cancelled, manual recovery is required`},
		"dry run start":               {verb: "start", strategy: halted, body: `{"dryRun":["All"]}`, code: 202, after: halted},
		"dry run stop":                {verb: "stop", strategy: always, phase: kubevirtv1.Running, body: `{"dryRun":["All"]}`, code: 202, after: always},
		"start with running: false":   {verb: "start", strategy: halted, edit: func(vm *vmObject, _ *vmiObject) { withRunning(false)(vm) }, code: 202, after: always},
		"stop with running: true":     {verb: "stop", strategy: always, edit: func(vm *vmObject, _ *vmiObject) { withRunning(true)(vm) }, phase: kubevirtv1.Running, code: 202, after: halted},
		"stop of Always without VMI":  {verb: "stop", strategy: always, code: 202, after: halted},
		"halted, no grace period set": {verb: "stop", strategy: halted, phase: kubevirtv1.Running, body: `{"gracePeriod":0}`, code: 202, after: halted, requests: []kubevirtv1.VirtualMachineStateChangeRequest{stop}},
		"negative grace of restart":   {verb: "restart", strategy: always, phase: kubevirtv1.Running, body: `{"gracePeriodSeconds":-1}`, code: 400, after: always, message: "gracePeriod has to be greater or equal to 0"},
		"pause with a liveness probe": {verb: "pause", strategy: always, phase: kubevirtv1.Running, code: 403, after: always, edit: func(_ *vmObject, vmi *vmiObject) { vmi.Spec.LivenessProbe = &kubevirtv1.Probe{} }, message: `virtualmachineinstance.kubevirt.io "m" is forbidden: Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported`},
		"pause while scheduled":       {verb: "pause", strategy: always, phase: kubevirtv1.Scheduled, code: 409, after: always, message: `Operation cannot be fulfilled on virtualmachineinstance.kubevirt.io "m": VM is not running`},
		"unpause while scheduled":     {verb: "unpause", strategy: always, phase: kubevirtv1.Scheduled, code: 409, after: always, message: `Operation cannot be fulfilled on virtualmachineinstance.kubevirt.io "m": VMI is not running`},
		"unpause during a snapshot":   {verb: "unpause", strategy: always, phase: kubevirtv1.Running, code: 409, after: always, edit: func(vm *vmObject, _ *vmiObject) { vm.Status.SnapshotInProgress = new("s") }, message: `Operation cannot be fulfilled on virtualmachine.kubevirt.io "m": VM snapshot is in progress`},
		"soft reboot of a deaf guest": {verb: "softreboot", strategy: always, phase: kubevirtv1.Running, code: 409, after: always, edit: func(_ *vmObject, vmi *vmiObject) {
			vmi.Spec.Domain.Features = &kubevirtv1.Features{ACPI: kubevirtv1.FeatureState{Enabled: &off}}
		}, message: `Operation cannot be fulfilled on virtualmachineinstance.kubevirt.io "m": VMI neither have the agent connected nor the ACPI feature enabled`},
		"reset while scheduling":   {verb: "reset", strategy: always, phase: kubevirtv1.Scheduling, code: 400, after: always, message: "Failed to reset non-running VMI with phase Scheduling: Unable to connect to VirtualMachineInstance because phase is Scheduling instead of Running or Scheduled"},
		"reset while scheduled":    {verb: "reset", strategy: always, phase: kubevirtv1.Scheduled, code: 500, after: always, message: "Internal error occurred: Failed to reset non-running VMI with phase Scheduled: the domain is not running"},
		"a body that is no object": {verb: "stop", strategy: always, body: `[]`, code: 400, after: always, message: "Can not unmarshal Request body to struct, error: json: cannot unmarshal array into Go value of type virt.options"},
		"a verb that nobody has":   {verb: "explode", strategy: always, code: 404, after: always, message: `virtualmachineinstances.subresources.kubevirt.io "m" not found`, phase: kubevirtv1.Running},
	} {
		t.Run(name, func(t *testing.T) {
			v := quiet(t)
			v.put(t, tc.strategy, tc.phase, tc.edit)
			plural := rule{verb: tc.verb}.plural()
			code, _, err := v.Call(http.MethodPut, plural, tc.verb, testKey, []byte(tc.body))
			if err != nil {
				code = statusCode(t, err)
				require.Equal(t, tc.message, err.Error())
			} else {
				require.Empty(t, tc.message)
			}
			require.Equal(t, tc.code, code)
			vm, err := v.vm(testKey)
			require.NoError(t, err)
			after, err := vm.RunStrategy()
			require.NoError(t, err)
			require.Equal(t, tc.after, after)
			require.Equal(t, tc.requests, vm.Status.StateChangeRequests)
		})
	}
}

func TestStopAndRestartChangeTheGracePeriodOfTheInstance(t *testing.T) {
	for name, tc := range map[string]struct {
		verb, body string
		strategy   kubevirtv1.VirtualMachineRunStrategy
		have       *int64
		code       int
		want       *int64
	}{
		"stop without one":                  {"stop", `{}`, always, new(int64(60)), 202, new(int64(60))},
		"stop with one":                     {"stop", `{"gracePeriod":0}`, always, new(int64(60)), 202, new(int64(0))},
		"stop with a longer one":            {"stop", `{"gracePeriod":90}`, manual, new(int64(60)), 202, new(int64(90))},
		"refused, and changed all the same": {"stop", `{"gracePeriod":90}`, halted, new(int64(60)), 409, new(int64(90))},
		"second force off":                  {"stop", `{"gracePeriod":0}`, halted, new(int64(0)), 409, new(int64(0))},
		"forced restart":                    {"restart", `{"gracePeriodSeconds":0}`, always, new(int64(60)), 202, new(int64(1))},
		"forced restart, none set":          {"restart", `{"gracePeriodSeconds":0}`, always, nil, 202, new(int64(1))},
		"graceful restart":                  {"restart", `{}`, always, nil, 202, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := quiet(t)
			v.put(t, tc.strategy, kubevirtv1.Running, func(_ *vmObject, vmi *vmiObject) { vmi.Spec.TerminationGracePeriodSeconds = tc.have })
			code, _, err := v.Call(http.MethodPut, "virtualmachines", tc.verb, testKey, []byte(tc.body))
			if err != nil {
				code = statusCode(t, err)
			}
			require.Equal(t, tc.code, code)
			vmi, err := v.vmi(testKey)
			require.NoError(t, err)
			require.Equal(t, tc.want, vmi.Spec.TerminationGracePeriodSeconds)
		})
	}
}

func TestBackOffGrowsWithTheSquareUpToAMaximum(t *testing.T) {
	v := quiet(t)
	v.Delays.BackOff = 10 * time.Second
	for count, want := range map[int]time.Duration{1: 10 * time.Second, 2: 40 * time.Second, 5: 250 * time.Second, 6: 300 * time.Second, 60: 300 * time.Second} {
		require.Equal(t, want, v.backOff(count), count)
	}
	v.Jitter = func(limit time.Duration) time.Duration { return limit }
	require.Equal(t, 15*time.Second, v.backOff(1))
}
