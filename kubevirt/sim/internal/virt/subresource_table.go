package virt

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
)

// rule is one row of what virt-api does with a power verb: the first one that applies is used.
type rule struct {
	verb       string
	strategies []kubevirtv1.VirtualMachineRunStrategy // nil is any
	when       func(*call) bool                       // nil is always
	then       func(*call) error
}

type strategies = []kubevirtv1.VirtualMachineRunStrategy

const (
	always = kubevirtv1.RunStrategyAlways
	halted = kubevirtv1.RunStrategyHalted
	manual = kubevirtv1.RunStrategyManual
	rerun  = kubevirtv1.RunStrategyRerunOnFailure
	once   = kubevirtv1.RunStrategyOnce
)

// rules follow pkg/virt-api/rest/lifecycle.go of KubeVirt 1.9, order included.
var rules = []rule{
	{"start", nil, live, refuseVM("VM is already running")},
	{"start", nil, recoveryNeeded, refuseVM("VM recovery required: Volumes update was cancelled, manual recovery is required")},
	{"start", strategies{halted}, startsPaused, requestStart},
	{"start", strategies{halted}, nil, setTo(always)},
	{"start", strategies{rerun}, failed, refuseVM("RerunOnFailure does not support starting VM from failed state")},
	{"start", strategies{manual, rerun}, final, requestRestart},
	{"start", strategies{manual, rerun}, nil, requestStart},
	{"start", strategies{always, once}, nil, refuseStart},
	{"start", nil, nil, nothing},

	{"stop", strategies{halted, manual, rerun}, notLive, refuseVM("VM is not running")},
	{"stop", strategies{halted}, graceNotShorter, refuseShorter},
	{"stop", strategies{halted, manual, rerun}, nil, requestStop},
	{"stop", strategies{always, once}, nil, halt},
	{"stop", nil, nil, graceOnly},

	{"restart", strategies{halted, once}, nil, refuseRestart},
	{"restart", nil, absent, refuseVM("VM is not running: Halted")},
	{"restart", nil, nil, requestRestart},

	{"pause", nil, notRunning, refuseVMI("VM is not running")},
	{"pause", nil, otherLivenessProbe, forbidPause},
	{"pause", nil, paused, refuseVMI("VMI is already paused")},
	{"pause", nil, nil, func(c *call) error { return c.setPaused(true) }},

	{"unpause", nil, snapshotRuns, refuseVM("VM snapshot is in progress")},
	{"unpause", nil, notRunning, refuseVMI("VMI is not running")},
	{"unpause", nil, notPaused, refuseVMI("VMI is not paused")},
	{"unpause", nil, nil, func(c *call) error { return c.setPaused(false) }},

	{"softreboot", nil, notRunning, refuseVMI("VM is not running")},
	{"softreboot", nil, paused, refuseVMI("VMI is paused")},
	{"softreboot", nil, deaf, refuseVMI("VMI neither have the agent connected nor the ACPI feature enabled")},
	{"softreboot", nil, nil, func(c *call) error { c.reset(true); return nil }},

	{"reset", nil, scheduled, failReset},
	{"reset", nil, notRunning, refuseReset},
	{"reset", nil, nil, func(c *call) error { c.reset(false); return nil }},
}

func (r rule) plural() string {
	switch r.verb {
	case "start", "stop", "restart":
		return resource.VirtualMachines.Plural
	}
	return resource.VirtualMachineInstances.Plural
}

// code is what the verb answers when it works.
func (r rule) code() int {
	if r.plural() == resource.VirtualMachines.Plural {
		return http.StatusAccepted
	}
	return http.StatusOK
}

func (r rule) applies(c *call) bool {
	return (r.strategies == nil || slices.Contains(r.strategies, c.strategy)) && (r.when == nil || r.when(c))
}

// The states.

func absent(c *call) bool { return c.vmi == nil }

func live(c *call) bool {
	return c.vmi != nil && !c.vmi.IsFinal() && c.vmi.Status.Phase != kubevirtv1.VmPhaseUnset && c.vmi.Status.Phase != kubevirtv1.Unknown
}

func notLive(c *call) bool    { return c.vmi == nil || c.vmi.IsFinal() }
func final(c *call) bool      { return c.vmi != nil && c.vmi.IsFinal() }
func failed(c *call) bool     { return c.vmi != nil && c.vmi.Status.Phase == kubevirtv1.Failed }
func notRunning(c *call) bool { return c.vmi.Status.Phase != kubevirtv1.Running }
func scheduled(c *call) bool  { return c.vmi.Status.Phase == kubevirtv1.Scheduled }
func notPaused(c *call) bool  { return !paused(c) }

func paused(c *call) bool {
	return vmiCondition(c.vmi, kubevirtv1.VirtualMachineInstancePaused, corev1.ConditionTrue)
}

func startsPaused(c *call) bool { return c.body.Paused }

func recoveryNeeded(c *call) bool {
	return slices.ContainsFunc(c.vm.Status.Conditions, func(o kubevirtv1.VirtualMachineCondition) bool {
		return o.Type == kubevirtv1.VirtualMachineManualRecoveryRequired && o.Status == corev1.ConditionTrue
	})
}

// graceNotShorter compares with the period before the call. An instance without one accepts any.
func graceNotShorter(c *call) bool {
	have := c.vmi.Spec.TerminationGracePeriodSeconds
	return c.body.GracePeriod == nil || (have != nil && *c.body.GracePeriod >= *have)
}

func otherLivenessProbe(c *call) bool {
	p := c.vmi.Spec.LivenessProbe
	return p != nil && p.GuestAgentPing == nil
}

func snapshotRuns(c *call) bool { return c.vm != nil && c.vm.Status.SnapshotInProgress != nil }

func deaf(c *call) bool {
	f := c.vmi.Spec.Domain.Features
	return !hasVMICondition(c.vmi, kubevirtv1.VirtualMachineInstanceAgentConnected) && f != nil && f.ACPI.Enabled != nil && !*f.ACPI.Enabled
}

// The actions.

func nothing(*call) error { return nil }

func setTo(s kubevirtv1.VirtualMachineRunStrategy) func(*call) error {
	return func(c *call) error { return c.setStrategy(s) }
}

// graceOnly changes the grace period and nothing else.
func graceOnly(c *call) error {
	if c.body.GracePeriod == nil {
		return nil
	}
	return c.setGrace(*c.body.GracePeriod)
}

func halt(c *call) error {
	if err := graceOnly(c); err != nil {
		return err
	}
	return c.setStrategy(halted)
}

func requestStart(c *call) error { return c.request(c.startRequest()) }

func requestStop(c *call) error {
	if err := graceOnly(c); err != nil {
		return err
	}
	return c.request(c.stopRequest())
}

// requestRestart of a forced restart leaves the guest one second, the shortest safe time.
func requestRestart(c *call) error {
	if err := c.request(c.stopRequest(), c.startRequest()); err != nil {
		return err
	}
	if c.body.GracePeriodSeconds != nil {
		return c.setGrace(1)
	}
	return nil
}

func refuseVM(text string) func(*call) error {
	return func(c *call) error { return c.conflict("virtualmachine", "%s", text) }
}

func refuseVMI(text string) func(*call) error {
	return func(c *call) error { return c.conflict("virtualmachineinstance", "%s", text) }
}

func refuseStart(c *call) error {
	return c.conflict("virtualmachine", "%v does not support manual start requests", c.strategy)
}

// refuseShorter has changed the grace period all the same, as virt-api does.
func refuseShorter(c *call) error {
	if err := graceOnly(c); err != nil {
		return err
	}
	return c.conflict("virtualmachine", "Halted only supports manual stop requests with a shorter graceperiod")
}

func refuseRestart(c *call) error {
	return c.conflict("virtualmachine", "RunStategy %v does not support manual restart requests", c.strategy)
}

func forbidPause(c *call) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "kubevirt.io", Resource: "virtualmachineinstance"}, c.key.Name,
		errors.New("Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported")) //nolint:staticcheck // virt-api's text
}

func failReset(c *call) error {
	return apierrors.NewInternalError(fmt.Errorf("Failed to reset non-running VMI with phase %s: the domain is not running", c.vmi.Status.Phase)) //nolint:staticcheck // virt-api's text
}

func refuseReset(c *call) error {
	return apierrors.NewBadRequest("Failed to reset non-running VMI with phase " + string(c.vmi.Status.Phase) +
		": Unable to connect to VirtualMachineInstance because phase is " + string(c.vmi.Status.Phase) + " instead of Running or Scheduled")
}
