package virt

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

type (
	vmObject  = kubevirtv1.VirtualMachine
	vmiObject = kubevirtv1.VirtualMachineInstance
)

func (v *Virt) vm(key store.Key) (*vmObject, error) {
	vm, _, err := load[vmObject](v.Store, resource.VirtualMachines, key)
	return vm, err
}

func (v *Virt) vmi(key store.Key) (*vmiObject, error) {
	vmi, _, err := load[vmiObject](v.Store, resource.VirtualMachineInstances, key)
	return vmi, err
}

// reconcileVM does what virt-controller does for a VirtualMachine.
func (v *Virt) reconcileVM(key store.Key) error {
	vm, err := v.vm(key)
	if err != nil {
		return err
	}
	if vm == nil {
		v.users.forget(key)
		return nil
	}
	v.users.set(key, vm)
	vmi, err := v.vmi(key)
	if err != nil {
		return err
	}
	if vmi != nil && !metav1.IsControlledBy(vmi, vm) {
		return nil // somebody else's instance has the name
	}
	if vm.DeletionTimestamp != nil {
		return v.deleteVM(key, vmi)
	}
	if !slices.Contains(vm.Finalizers, kubevirtv1.VirtualMachineControllerFinalizer) {
		_, err := change(v.Store, resource.VirtualMachines, key, meta, func(vm *vmObject) error {
			vm.Finalizers = append(vm.Finalizers, kubevirtv1.VirtualMachineControllerFinalizer)
			return nil
		})
		return err // the change comes back as an event
	}
	failure := v.syncRunStrategy(vm, vmi)
	return v.updateVMStatus(key, failure)
}

// deleteVM stops the instance and lets the VM go when it is gone.
func (v *Virt) deleteVM(key store.Key, vmi *vmiObject) error {
	if err := v.stopVMI(vmi); err != nil {
		return err
	}
	if err := v.updateVMStatus(key, nil); err != nil || vmi != nil {
		return err
	}
	_, err := change(v.Store, resource.VirtualMachines, key, meta, func(vm *vmObject) error {
		vm.Finalizers = slices.DeleteFunc(vm.Finalizers, func(f string) bool { return f == kubevirtv1.VirtualMachineControllerFinalizer })
		return nil
	})
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// syncRunStrategy starts or stops the instance as the run strategy and the requests want.
func (v *Virt) syncRunStrategy(vm *vmObject, vmi *vmiObject) error {
	strategy, err := vm.RunStrategy()
	if err != nil {
		return err
	}
	if vmi != nil {
		return v.syncExisting(vm, vmi, strategy)
	}
	if strategy == kubevirtv1.RunStrategyHalted && hasStartRequest(vm) {
		return v.startPaused(vm)
	}
	if !wantsVMI(vm, strategy) {
		return nil
	}
	if wait := v.backOffLeft(vm); wait > 0 && strategy != kubevirtv1.RunStrategyManual {
		v.enqueueAfter(resource.VirtualMachines, keyOf(vm), wait)
		return nil
	}
	return v.startVMI(vm)
}

// wantsVMI tells whether a VM without an instance gets one.
func wantsVMI(vm *vmObject, strategy kubevirtv1.VirtualMachineRunStrategy) bool {
	switch strategy {
	case kubevirtv1.RunStrategyAlways, kubevirtv1.RunStrategyOnce:
		return true
	case kubevirtv1.RunStrategyRerunOnFailure:
		// a VM that comes here for the first time, or from another strategy, starts by itself
		return hasStartRequest(vm) || vm.Status.RunStrategy != strategy
	case kubevirtv1.RunStrategyManual:
		return hasStartRequest(vm)
	}
	return false
}

// syncExisting ends an instance that the run strategy does not want to keep.
func (v *Virt) syncExisting(vm *vmObject, vmi *vmiObject, strategy kubevirtv1.VirtualMachineRunStrategy) error {
	stop := hasStopRequest(vm, vmi)
	switch strategy {
	case kubevirtv1.RunStrategyHalted:
		return v.stopVMI(vmi)
	case kubevirtv1.RunStrategyAlways:
		if stop || vmi.IsFinal() {
			return v.stopVMI(vmi)
		}
	case kubevirtv1.RunStrategyManual:
		if stop {
			return v.stopVMI(vmi)
		}
	case kubevirtv1.RunStrategyRerunOnFailure:
		if vmi.DeletionTimestamp != nil || (!stop && !vmi.IsFinal()) {
			return nil
		}
		if err := v.stopVMI(vmi); err != nil || vmi.Status.Phase != kubevirtv1.Failed {
			return err
		}
		return v.addStartRequest(keyOf(vm))
	}
	return nil
}

func (v *Virt) stopVMI(vmi *vmiObject) error {
	if vmi == nil || vmi.DeletionTimestamp != nil {
		return nil
	}
	_, _, err := v.Store.Delete(resource.VirtualMachineInstances, keyOf(vmi), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(vmi.UID))})
	return ignoreNotFound(err)
}

func (v *Virt) addStartRequest(key store.Key) error {
	_, err := change(v.Store, resource.VirtualMachines, key, status, func(vm *vmObject) error {
		if hasStartRequest(vm) {
			return errStop
		}
		vm.Status.StateChangeRequests = append(vm.Status.StateChangeRequests, kubevirtv1.VirtualMachineStateChangeRequest{Action: kubevirtv1.StartRequest})
		return nil
	})
	return err
}

// startPaused answers a start of a Halted VM with the paused option, which virt-api leaves to the controller.
func (v *Virt) startPaused(vm *vmObject) error {
	_, err := change(v.Store, resource.VirtualMachines, keyOf(vm), spec, func(vm *vmObject) error {
		setStrategy(vm, kubevirtv1.RunStrategyAlways)
		return nil
	})
	return err
}

// setStrategy writes the field that the VM uses.
func setStrategy(vm *vmObject, s kubevirtv1.VirtualMachineRunStrategy) {
	if vm.Spec.RunStrategy != nil {
		vm.Spec.RunStrategy = &s
		return
	}
	running := s == kubevirtv1.RunStrategyAlways
	vm.Spec.Running = &running
}

func (v *Virt) startVMI(vm *vmObject) error {
	ready, err := v.createDataVolumes(vm)
	if err != nil || !ready {
		return err
	}
	vmi, err := v.newVMI(vm)
	if err != nil {
		return err
	}
	if err := create(v.Store, resource.VirtualMachineInstances, vmi); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

func (v *Virt) backOffLeft(vm *vmObject) time.Duration {
	if f := vm.Status.StartFailure; f != nil && f.RetryAfterTimestamp != nil {
		return f.RetryAfterTimestamp.Sub(v.Clock.Now())
	}
	return 0
}

// Only the first request counts; the controller has not seen the others yet.
func hasStartRequest(vm *vmObject) bool {
	r := vm.Status.StateChangeRequests
	return len(r) > 0 && r[0].Action == kubevirtv1.StartRequest
}

func hasPausedStartRequest(vm *vmObject) bool {
	return hasStartRequest(vm) && vm.Status.StateChangeRequests[0].Data[kubevirtv1.StartRequestDataPausedKey] == kubevirtv1.StartRequestDataPausedTrue
}

func hasStopRequest(vm *vmObject, vmi *vmiObject) bool {
	r := vm.Status.StateChangeRequests
	return len(r) > 0 && r[0].Action == kubevirtv1.StopRequest && r[0].UID != nil && *r[0].UID == vmi.UID
}

func keyOf(o metav1.Object) store.Key {
	return store.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}
