package virt

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	cdiv1beta1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

const reasonNoClaim = "FailedPvcNotFound"

// volumeUsers knows which VMs use a claim or DataVolume, so that its change wakes them.
type volumeUsers struct {
	mu       sync.Mutex
	byVolume map[store.Key]map[store.Key]struct{}
}

func (u *volumeUsers) set(key store.Key, vm *vmObject) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range vm.Spec.Template.Spec.Volumes {
		name := claimName(&vm.Spec.Template.Spec.Volumes[i])
		if name == "" {
			continue
		}
		volume := store.Key{Namespace: key.Namespace, Name: name}
		if u.byVolume[volume] == nil {
			u.byVolume[volume] = map[store.Key]struct{}{}
		}
		u.byVolume[volume][key] = struct{}{}
	}
}

func (u *volumeUsers) forget(key store.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for volume, vms := range u.byVolume {
		delete(vms, key)
		if len(vms) == 0 {
			delete(u.byVolume, volume)
		}
	}
}

func (u *volumeUsers) of(volume store.Key) []store.Key {
	u.mu.Lock()
	defer u.mu.Unlock()
	var keys []store.Key
	for k := range u.byVolume[volume] {
		keys = append(keys, k)
	}
	return keys
}

func (v *Virt) volumeChanged(e store.Event) {
	if e.Object.Type == resource.DataVolumes {
		v.enqueue(resource.DataVolumes, e.Object.Key())
	}
	for _, key := range v.users.of(e.Object.Key()) {
		v.enqueue(resource.VirtualMachines, key)
		v.enqueue(resource.VirtualMachineInstances, key)
	}
}

func dataVolumeNames(vm *vmObject) []string {
	var names []string
	for _, vol := range vm.Spec.Template.Spec.Volumes {
		if vol.DataVolume != nil {
			names = append(names, vol.DataVolume.Name)
		}
	}
	return names
}

// createDataVolumes makes the volumes of the VM's templates; true when all are there.
func (v *Virt) createDataVolumes(vm *vmObject) (bool, error) {
	for i := range vm.Spec.DataVolumeTemplates {
		dv := newDataVolume(vm, &vm.Spec.DataVolumeTemplates[i])
		if err := create(v.Store, resource.DataVolumes, dv); err != nil && !apierrors.IsAlreadyExists(err) {
			return false, err
		}
	}
	return true, nil
}

func newDataVolume(vm *vmObject, t *kubevirtv1.DataVolumeTemplateSpec) *cdiv1beta1.DataVolume {
	return &cdiv1beta1.DataVolume{
		ObjectMeta: metav1.ObjectMeta{Name: t.Name, Namespace: vm.Namespace, Labels: t.Labels, Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vm, kubevirtv1.VirtualMachineGroupVersionKind)}},
		Spec: t.Spec,
	}
}

// volumesState says whether an instance's volumes let it start.
type volumesState int

const (
	volumesReady volumesState = iota
	volumesWait
	volumesMissing
	volumesFailed
)

func (v *Virt) volumesReady(vmi *vmiObject) (volumesState, string) {
	for i := range vmi.Spec.Volumes {
		vol := &vmi.Spec.Volumes[i]
		name := claimName(vol)
		if name == "" {
			continue
		}
		if state, message := v.volumeState(vol, store.Key{Namespace: vmi.Namespace, Name: name}); state != volumesReady {
			return state, message
		}
	}
	return volumesReady, ""
}

func (v *Virt) volumeState(vol *kubevirtv1.Volume, key store.Key) (volumesState, string) {
	dv, _, err := load[cdiv1beta1.DataVolume](v.Store, resource.DataVolumes, key)
	switch {
	case err != nil:
		return volumesWait, ""
	case dv == nil:
		if _, err := v.Store.Get(resource.PersistentVolumeClaims, key); err == nil {
			return volumesReady, ""
		}
		return volumesMissing, missingText(vol, key)
	case dv.Status.Phase == cdiv1beta1.Failed:
		return volumesFailed, ""
	case dv.Status.Phase == cdiv1beta1.Succeeded:
		return volumesReady, ""
	case dv.Status.Phase == cdiv1beta1.WaitForFirstConsumer:
		v.consume(dv)
	}
	return volumesWait, ""
}

func missingText(vol *kubevirtv1.Volume, key store.Key) string {
	if vol.DataVolume != nil {
		return fmt.Sprintf("DataVolume %s/%s does not exist, waiting for it to appear", key.Namespace, key.Name)
	}
	return fmt.Sprintf("PVC %s/%s does not exist, waiting for it to appear", key.Namespace, key.Name)
}

// consume is the first consumer that a volume waited for.
func (v *Virt) consume(dv *cdiv1beta1.DataVolume) {
	if _, err := v.changeDataVolume(keyOf(dv), func(dv *cdiv1beta1.DataVolume) bool {
		dv.Status.Phase, dv.Status.Progress = cdiv1beta1.ImportInProgress, "N/A"
		return true
	}); err != nil {
		v.Log.Error("consume volume", "namespace", dv.Namespace, "name", dv.Name, "err", err)
	}
}

func (v *Virt) changeDataVolume(key store.Key, f func(*cdiv1beta1.DataVolume) bool) (*cdiv1beta1.DataVolume, error) {
	return change(v.Store, resource.DataVolumes, key, status, func(dv *cdiv1beta1.DataVolume) error {
		if !f(dv) {
			return errStop
		}
		return nil
	})
}

// reconcileDataVolume imports in one step: nothing is downloaded, the claim appears and, after the import
// delay, the volume has succeeded.
func (v *Virt) reconcileDataVolume(key store.Key) error {
	dv, _, err := load[cdiv1beta1.DataVolume](v.Store, resource.DataVolumes, key)
	if err != nil || dv == nil || dv.DeletionTimestamp != nil {
		return err
	}
	switch dv.Status.Phase {
	case cdiv1beta1.PhaseUnset, cdiv1beta1.Pending:
		if err := create(v.Store, resource.PersistentVolumeClaims, v.newClaim(dv)); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		_, err = v.changeDataVolume(key, func(dv *cdiv1beta1.DataVolume) bool {
			dv.Status.ClaimName = dv.Name
			dv.Status.Phase, dv.Status.Progress = cdiv1beta1.ImportInProgress, "N/A"
			if v.waitsForConsumer(dv) {
				dv.Status.Phase = cdiv1beta1.WaitForFirstConsumer
			}
			return true
		})
		return err
	case cdiv1beta1.ImportInProgress:
		return v.importStep(dv)
	}
	return nil
}

func (v *Virt) waitsForConsumer(dv *cdiv1beta1.DataVolume) bool {
	if _, ok := dv.Annotations["cdi.kubevirt.io/storage.bind.immediate.requested"]; ok {
		return false
	}
	class := storageClassOf(dv)
	if class == nil {
		return false
	}
	sc, _, err := load[storagev1.StorageClass](v.Store, resource.StorageClasses, store.Key{Name: *class})
	return err == nil && sc != nil && sc.VolumeBindingMode != nil && *sc.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

func storageClassOf(dv *cdiv1beta1.DataVolume) *string {
	switch {
	case dv.Spec.Storage != nil:
		return dv.Spec.Storage.StorageClassName
	case dv.Spec.PVC != nil:
		return dv.Spec.PVC.StorageClassName
	}
	return nil
}

// importStep ends an import once it has run for the import delay.
func (v *Virt) importStep(dv *cdiv1beta1.DataVolume) error {
	var left time.Duration
	v.guests.use(importKey(dv), dv.UID, func(in *instance) { left = v.Delays.Import - in.enter("import", v.Clock.Now()) })
	if left > 0 {
		v.enqueueAfter(resource.DataVolumes, keyOf(dv), left)
		return nil
	}
	v.guests.forget(importKey(dv))
	if err := v.bindClaim(keyOf(dv)); err != nil {
		return err
	}
	_, err := v.changeDataVolume(keyOf(dv), func(dv *cdiv1beta1.DataVolume) bool {
		v.setImported(dv)
		return true
	})
	return err
}

// importKey keeps the clocks of imports apart from those of instances.
func importKey(dv *cdiv1beta1.DataVolume) store.Key {
	return store.Key{Namespace: "import/" + dv.Namespace, Name: dv.Name}
}

func (v *Virt) setImported(dv *cdiv1beta1.DataVolume) {
	dv.Status.ClaimName = dv.Name
	dv.Status.Phase, dv.Status.Progress = cdiv1beta1.Succeeded, "100.0%"
	now := v.now()
	dv.Status.Conditions = nil
	for _, c := range []struct {
		t      cdiv1beta1.DataVolumeConditionType
		s      corev1.ConditionStatus
		reason string
	}{{cdiv1beta1.DataVolumeBound, corev1.ConditionTrue, "Bound"}, {cdiv1beta1.DataVolumeReady, corev1.ConditionTrue, ""}, {cdiv1beta1.DataVolumeRunning, corev1.ConditionFalse, "Completed"}} {
		dv.Status.Conditions = append(dv.Status.Conditions, cdiv1beta1.DataVolumeCondition{Type: c.t, Status: c.s, Reason: c.reason, LastTransitionTime: now, LastHeartbeatTime: now})
	}
}

func (v *Virt) bindClaim(key store.Key) error {
	_, err := change(v.Store, resource.PersistentVolumeClaims, key, spec|status, func(pvc *corev1.PersistentVolumeClaim) error {
		setBound(pvc)
		return nil
	})
	return err
}

func setBound(pvc *corev1.PersistentVolumeClaim) {
	pvc.Spec.VolumeName = "pvc-" + string(pvc.UID)
	pvc.Status.Phase = corev1.ClaimBound
	pvc.Status.AccessModes = pvc.Spec.AccessModes
	pvc.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: *pvc.Spec.Resources.Requests.Storage()}
}

// newClaim makes the claim that CDI makes for a volume. What the guest will find is noted on it.
func (v *Virt) newClaim(dv *cdiv1beta1.DataVolume) *corev1.PersistentVolumeClaim {
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: dv.Name, Namespace: dv.Namespace, Labels: map[string]string{"app": "containerized-data-importer"}, Annotations: map[string]string{},
			UID:             types.UID(""),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(dv, resource.DataVolumes.GVK())}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	if s := dv.Spec.Storage; s != nil {
		pvc.Spec = corev1.PersistentVolumeClaimSpec{AccessModes: s.AccessModes, VolumeMode: s.VolumeMode, StorageClassName: s.StorageClassName, Resources: s.Resources}
	} else if dv.Spec.PVC != nil {
		pvc.Spec = *dv.Spec.PVC.DeepCopy()
	}
	if len(pvc.Spec.AccessModes) == 0 {
		pvc.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	if pvc.Spec.VolumeMode == nil {
		pvc.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	}
	if src := dv.Spec.Source; src != nil && src.Blank != nil {
		pvc.Annotations[Content] = string(guest.Blank)
	}
	if c := dv.Annotations[Content]; c != "" {
		pvc.Annotations[Content] = c
	}
	return pvc
}
