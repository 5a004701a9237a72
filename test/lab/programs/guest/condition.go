package guest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"
)

type conditionType = v1.VirtualMachineInstanceConditionType

// HasCondition tells whether a condition is True.
func HasCondition(vmi *v1.VirtualMachineInstance, t conditionType) bool {
	return slices.ContainsFunc(vmi.Status.Conditions, func(c v1.VirtualMachineInstanceCondition) bool {
		return c.Type == t && c.Status == corev1.ConditionTrue
	})
}

// AddCondition sets a condition to True.
func AddCondition(vmi *v1.VirtualMachineInstance, t conditionType, reason, message string) {
	DropCondition(vmi, t)
	now := metav1.Now()
	vmi.Status.Conditions = append(vmi.Status.Conditions, v1.VirtualMachineInstanceCondition{
		Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now,
	})
}

// DropCondition removes a condition.
func DropCondition(vmi *v1.VirtualMachineInstance, t conditionType) {
	vmi.Status.Conditions = slices.DeleteFunc(vmi.Status.Conditions, func(c v1.VirtualMachineInstanceCondition) bool { return c.Type == t })
}

// SetPhase moves the VMI to a phase and notes when.
func SetPhase(vmi *v1.VirtualMachineInstance, phase v1.VirtualMachineInstancePhase) {
	vmi.Status.Phase = phase
	vmi.Status.PhaseTransitionTimestamps = append(vmi.Status.PhaseTransitionTimestamps,
		v1.VirtualMachineInstancePhaseTransitionTimestamp{Phase: phase, PhaseTransitionTimestamp: metav1.Now()})
}
