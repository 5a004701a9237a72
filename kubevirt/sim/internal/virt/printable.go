package virt

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	cdiv1beta1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// printableStatus follows virt-controller's setPrintableStatus: several may be true, the first wins.
func (v *Virt) printableStatus(vm *vmObject, vmi *vmiObject) kubevirtv1.VirtualMachinePrintableStatus {
	importing, broken := v.importState(vm)
	live := vmi != nil && !vmi.IsFinal()
	strategy, _ := vm.RunStrategy() // an invalid one matches no row
	for _, row := range []struct {
		when   bool
		status kubevirtv1.VirtualMachinePrintableStatus
	}{
		{vm.DeletionTimestamp != nil, kubevirtv1.VirtualMachineStatusTerminating},
		{live && vmi.DeletionTimestamp != nil, kubevirtv1.VirtualMachineStatusStopping},
		{live && vmi.IsRunning() && vmiCondition(vmi, kubevirtv1.VirtualMachineInstancePaused, corev1.ConditionTrue), kubevirtv1.VirtualMachineStatusPaused},
		{live && vmi.IsRunning(), kubevirtv1.VirtualMachineStatusRunning},
		{synchronizedReason(vmi) == reasonNoClaim, kubevirtv1.VirtualMachineStatusPvcNotFound},
		{broken, kubevirtv1.VirtualMachineStatusDataVolumeError},
		{vmi != nil && unschedulable(vmi), kubevirtv1.VirtualMachineStatusUnschedulable},
		{importing, kubevirtv1.VirtualMachineStatusProvisioning},
		{live, kubevirtv1.VirtualMachineStatusStarting},
		{vm.Status.StartFailure != nil && vm.Status.StartFailure.ConsecutiveFailCount > 0 && strategy != kubevirtv1.RunStrategyHalted && strategy != kubevirtv1.RunStrategyManual,
			kubevirtv1.VirtualMachineStatusCrashLoopBackOff},
		{strategy == kubevirtv1.RunStrategyWaitAsReceiver && vmi == nil, kubevirtv1.VirtualMachineStatusWaitingForReceiver},
	} {
		if row.when {
			return row.status
		}
	}
	return kubevirtv1.VirtualMachineStatusStopped
}

// importState tells whether a DataVolume of the VM is being filled, and whether one fails to be.
func (v *Virt) importState(vm *vmObject) (importing, broken bool) {
	for _, name := range dataVolumeNames(vm) {
		dv, _, err := load[cdiv1beta1.DataVolume](v.Store, resource.DataVolumes, store.Key{Namespace: vm.Namespace, Name: name})
		if err != nil || dv == nil {
			continue
		}
		switch dv.Status.Phase {
		case cdiv1beta1.Succeeded, cdiv1beta1.PendingPopulation, cdiv1beta1.WaitForFirstConsumer:
		case cdiv1beta1.Failed:
			broken = true
		default:
			importing = true
			broken = broken || importError(dv)
		}
	}
	return importing, broken
}

func importError(dv *cdiv1beta1.DataVolume) bool {
	for _, c := range dv.Status.Conditions {
		if c.Type == cdiv1beta1.DataVolumeRunning && c.Status == corev1.ConditionFalse && (c.Reason == "Error" || c.Reason == "ImagePullFailed") {
			return true
		}
	}
	return false
}

func vmiCondition(vmi *vmiObject, t kubevirtv1.VirtualMachineInstanceConditionType, s corev1.ConditionStatus) bool {
	for _, c := range vmi.Status.Conditions {
		if c.Type == t {
			return c.Status == s
		}
	}
	return false
}

func hasVMICondition(vmi *vmiObject, t kubevirtv1.VirtualMachineInstanceConditionType) bool {
	return slices.ContainsFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool { return c.Type == t })
}

func synchronizedReason(vmi *vmiObject) string {
	if vmi == nil {
		return ""
	}
	for _, c := range vmi.Status.Conditions {
		if c.Type == kubevirtv1.VirtualMachineInstanceSynchronized && c.Status == corev1.ConditionFalse {
			return c.Reason
		}
	}
	return ""
}

func unschedulable(vmi *vmiObject) bool {
	for _, c := range vmi.Status.Conditions {
		if string(c.Type) == string(corev1.PodScheduled) {
			return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}
