package virt

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// maxBackOff is the longest back-off, in units of Delays.BackOff: 300 s with KubeVirt's 10 s.
const maxBackOff = 30

// updateVMStatus writes what virt-controller reports, then lets go of an ended instance.
func (v *Virt) updateVMStatus(key store.Key, failure error) error {
	vmi, err := v.vmi(key)
	if err != nil {
		return err
	}
	_, err = change(v.Store, resource.VirtualMachines, key, status, func(vm *vmObject) error {
		before := vm.Status.DeepCopy()
		v.setVMStatus(vm, vmi, failure)
		if equality.Semantic.DeepEqual(before, &vm.Status) {
			return errStop
		}
		return nil
	})
	if err != nil || vmi == nil || !vmi.IsFinal() {
		return err
	}
	return v.removeFinalizer(vmi, kubevirtv1.VirtualMachineControllerFinalizer)
}

func (v *Virt) removeFinalizer(vmi *vmiObject, name string) error {
	if !slices.Contains(vmi.Finalizers, name) {
		return nil
	}
	_, err := change(v.Store, resource.VirtualMachineInstances, keyOf(vmi), meta, func(vmi *vmiObject) error {
		vmi.Finalizers = slices.DeleteFunc(vmi.Finalizers, func(f string) bool { return f == name })
		return nil
	})
	return ignoreNotFound(err)
}

func (v *Virt) setVMStatus(vm *vmObject, vmi *vmiObject, failure error) {
	s := &vm.Status
	s.Created = vmi != nil
	s.Ready = vmi != nil && vmiCondition(vmi, kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionTrue)
	// an empty value says that the VM was never started
	if strategy, err := vm.RunStrategy(); err == nil && (s.RunStrategy != "" || s.Created) {
		s.RunStrategy = strategy
	}
	s.DesiredGeneration = vm.Generation
	if vmi != nil {
		s.ObservedGeneration = generationOf(vmi)
	}
	if requestDone(vm, vmi) {
		s.StateChangeRequests = s.StateChangeRequests[1:]
	}
	if len(s.StateChangeRequests) == 0 {
		s.StateChangeRequests = nil
	}
	v.setStartFailure(vm, vmi)
	v.setVMConditions(vm, vmi, failure)
	s.PrintableStatus = v.printableStatus(vm, vmi)
	s.VolumeSnapshotStatuses = nil
}

// requestDone tells whether the first state change request has been carried out.
func requestDone(vm *vmObject, vmi *vmiObject) bool {
	if len(vm.Status.StateChangeRequests) == 0 {
		return false
	}
	r := vm.Status.StateChangeRequests[0]
	if r.Action == kubevirtv1.StopRequest {
		return vmi == nil || r.UID == nil || *r.UID != vmi.UID
	}
	return vmi != nil && vmi.DeletionTimestamp == nil && !vmi.IsFinal()
}

func (v *Virt) setStartFailure(vm *vmObject, vmi *vmiObject) {
	strategy, _ := vm.RunStrategy() // an invalid one never recovers a failed start
	restarts := strategy == kubevirtv1.RunStrategyAlways || strategy == kubevirtv1.RunStrategyRerunOnFailure || strategy == kubevirtv1.RunStrategyOnce
	switch {
	case wasRunning(vmi) || !restarts:
		vm.Status.StartFailure = nil
	case vmi != nil && vmi.IsFinal():
		v.countStartFailure(vm, vmi)
	}
}

func (v *Virt) countStartFailure(vm *vmObject, vmi *vmiObject) {
	old := vm.Status.StartFailure
	count := 1
	if old != nil {
		if old.LastFailedVMIUID == vmi.UID {
			return
		}
		count = old.ConsecutiveFailCount + 1
	}
	retry := metav1.NewTime(v.Clock.Now().Add(v.backOff(count))).Rfc3339Copy()
	vm.Status.StartFailure = &kubevirtv1.VirtualMachineStartFailure{ConsecutiveFailCount: count, LastFailedVMIUID: vmi.UID, RetryAfterTimestamp: &retry}
}

// backOff grows with the square of the failures, plus up to half of it.
func (v *Virt) backOff(count int) time.Duration {
	d := time.Duration(count*count) * v.Delays.BackOff
	if half := d / 2; half > 0 {
		d += v.Jitter(half)
	}
	return min(d, maxBackOff*v.Delays.BackOff)
}

func wasRunning(vmi *vmiObject) bool {
	return vmi != nil && slices.ContainsFunc(vmi.Status.PhaseTransitionTimestamps, func(t kubevirtv1.VirtualMachineInstancePhaseTransitionTimestamp) bool {
		return t.Phase == kubevirtv1.Running
	})
}

// setVMConditions copies the instance's conditions; Ready, Failure and RestartRequired are the VM's own.
func (v *Virt) setVMConditions(vm *vmObject, vmi *vmiObject, failure error) {
	own := []kubevirtv1.VirtualMachineConditionType{kubevirtv1.VirtualMachineReady, kubevirtv1.VirtualMachineFailure, kubevirtv1.VirtualMachineRestartRequired}
	v.setVMCondition(vm, v.readyCondition(vmi))
	if failure != nil {
		v.setVMCondition(vm, kubevirtv1.VirtualMachineCondition{Type: kubevirtv1.VirtualMachineFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: failure.Error()})
	} else {
		removeVMCondition(vm, kubevirtv1.VirtualMachineFailure)
	}
	v.setRestartRequired(vm, vmi)
	if vmi == nil {
		return
	}
	have := map[kubevirtv1.VirtualMachineConditionType]bool{}
	for _, c := range vmi.Status.Conditions {
		t := kubevirtv1.VirtualMachineConditionType(c.Type)
		have[t] = true
		if !slices.Contains(own, t) {
			v.setVMCondition(vm, kubevirtv1.VirtualMachineCondition{Type: t, Status: c.Status, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime})
		}
	}
	vm.Status.Conditions = slices.DeleteFunc(vm.Status.Conditions, func(c kubevirtv1.VirtualMachineCondition) bool {
		return !slices.Contains(own, c.Type) && !have[c.Type]
	})
}

func (v *Virt) readyCondition(vmi *vmiObject) kubevirtv1.VirtualMachineCondition {
	c := kubevirtv1.VirtualMachineCondition{Type: kubevirtv1.VirtualMachineReady, Status: corev1.ConditionFalse}
	if vmi == nil {
		c.Reason, c.Message = "VMINotExists", "VMI does not exist"
		return c
	}
	for _, r := range vmi.Status.Conditions {
		if r.Type == kubevirtv1.VirtualMachineInstanceReady {
			c.Status, c.Reason, c.Message, c.LastTransitionTime = r.Status, r.Reason, r.Message, r.LastTransitionTime
			return c
		}
	}
	c.Reason, c.Message = "VMIConditionMissing", "VMI is missing the Ready condition"
	return c
}

// setVMCondition keeps the transition time while nothing changes.
func (v *Virt) setVMCondition(vm *vmObject, c kubevirtv1.VirtualMachineCondition) {
	for i, old := range vm.Status.Conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
			return
		}
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = v.now()
		}
		vm.Status.Conditions[i] = c
		return
	}
	if c.LastTransitionTime.IsZero() {
		c.LastTransitionTime = v.now()
	}
	vm.Status.Conditions = append(vm.Status.Conditions, c)
}

func removeVMCondition(vm *vmObject, t kubevirtv1.VirtualMachineConditionType) {
	vm.Status.Conditions = slices.DeleteFunc(vm.Status.Conditions, func(c kubevirtv1.VirtualMachineCondition) bool { return c.Type == t })
}
