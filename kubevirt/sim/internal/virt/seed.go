package virt

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	kubevirtv1 "kubevirt.io/api/core/v1"
	cdiv1beta1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// settled is how long a seeded guest has been up.
const settled = time.Hour

// Settle ends the seeding: what was stored until now is as it should be, or waits in the queue.
func (v *Virt) Settle() { v.seeded = v.Store.Revision() }

// Seed stores an object as if it had been there for a while: imports are done, and VMs that are to run do
// so. It must be called before Settle, and that before Run. Volumes must be seeded before the VMs that use
// them. VMs may be seeded concurrently.
func (v *Virt) Seed(t *resource.Type, d *store.Draft) error {
	if !t.ClusterScoped {
		if err := v.seedNamespace(d.Meta.Namespace); err != nil {
			return err
		}
	}
	switch t {
	case resource.Namespaces:
		return v.seedNamespace(d.Meta.Name)
	case resource.VirtualMachines:
		return v.seedVM(d)
	case resource.DataVolumes:
		return v.seedDataVolume(d)
	}
	if err := v.AdmitCreate(t, d); err != nil {
		return err
	}
	_, err := v.Store.Create(t, d, store.Options{})
	return err
}

func (v *Virt) seedNamespace(name string) error {
	if _, err := v.Store.Get(resource.Namespaces, store.Key{Name: name}); err == nil {
		return nil
	}
	ns := &corev1.Namespace{Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	ns.Name, ns.Finalizers = name, []string{namespaceFinalizer}
	if err := create(v.Store, resource.Namespaces, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

func (v *Virt) seedDataVolume(d *store.Draft) error {
	b, err := v.Store.Create(resource.DataVolumes, d, store.Options{DryRun: true})
	if err != nil {
		return err
	}
	dv := &cdiv1beta1.DataVolume{}
	if err := b.Into(dv); err != nil {
		return err
	}
	if dv.Status.Phase != "" { // the fleet says how far it is
		v.enqueue(resource.DataVolumes, keyOf(dv))
		return create(v.Store, resource.DataVolumes, dv)
	}
	return v.createImported(dv)
}

// createImported stores a volume that has succeeded, with its claim.
func (v *Virt) createImported(dv *cdiv1beta1.DataVolume) error {
	if dv.UID == "" {
		dv.UID = uuid.NewUUID()
	}
	v.setImported(dv)
	if err := create(v.Store, resource.DataVolumes, dv); err != nil {
		return err
	}
	pvc := v.newClaim(dv)
	pvc.UID = uuid.NewUUID()
	setBound(pvc)
	return create(v.Store, resource.PersistentVolumeClaims, pvc)
}

func (v *Virt) seedVM(d *store.Draft) error {
	vm := &vmObject{ObjectMeta: d.Meta}
	if err := json.Unmarshal(d.Fields["spec"], &vm.Spec); err != nil {
		return fmt.Errorf("seed %s/%s: %w", d.Meta.Namespace, d.Meta.Name, err)
	}
	if vm.Spec.Template != nil {
		setVMDefaults(&vm.Spec.Template.Spec)
	}
	if err := deny(vmWebhook, checkVM(vm)...); err != nil {
		return fmt.Errorf("seed %s/%s: %w", d.Meta.Namespace, d.Meta.Name, err)
	}
	vm.UID, vm.Generation = uuid.NewUUID(), 1
	vm.Finalizers = append(vm.Finalizers, kubevirtv1.VirtualMachineControllerFinalizer)
	for i := range vm.Spec.DataVolumeTemplates {
		if err := v.createImported(newDataVolume(vm, &vm.Spec.DataVolumeTemplates[i])); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	vmi, pod, err := v.settle(vm)
	if err != nil {
		return err
	}
	v.setVMStatus(vm, vmi, nil)
	v.users.set(keyOf(vm), vm)
	if err := create(v.Store, resource.VirtualMachines, vm); err != nil {
		return err
	}
	if vmi == nil {
		v.enqueue(resource.VirtualMachines, keyOf(vm))
		return nil
	}
	if err := create(v.Store, resource.VirtualMachineInstances, vmi); err != nil {
		return err
	}
	return create(v.Store, resource.Pods, pod)
}

// settle makes the running instance of a VM and its pod; nil when the VM does not run, or when how it
// starts is what is interesting about it.
func (v *Virt) settle(vm *vmObject) (*vmiObject, *corev1.Pod, error) {
	strategy, err := vm.RunStrategy()
	if err != nil || !slices.Contains(strategies{always, rerun, once}, strategy) {
		return nil, nil, err
	}
	vmi, err := v.newVMI(vm)
	if err != nil {
		return nil, nil, err
	}
	b := v.behaviour(vmi)
	node, _ := v.pickNode(vmi)
	if state, _ := v.volumesReady(vmi); state != volumesReady || node == "" || b.StartFail || b.Crash {
		v.guests.forget(keyOf(vmi))
		return nil, nil, nil
	}
	pod := newLauncher(vmi)
	v.setPodRunning(pod, node)
	v.setScheduling(vmi, pod)
	v.setScheduled(vmi, node)
	v.setRunning(vmi)
	var s sight
	v.guests.use(keyOf(vmi), vmi.UID, func(in *instance) {
		in.pod = pod.Name
		now := v.Clock.Now()
		in.enter(kubevirtv1.Running, now)
		in.guest = guest.Start(v.machine(vmi), b, now.Add(-settled))
		s = sight{agent: in.guest.Agent(now), boots: in.guest.Boots(), booted: bootedFrom(in.guest.BootedFrom())}
	})
	ready := v.readiness(vmi, s)
	v.setPodReady(pod, ready)
	v.reportGuest(vmi, s, ready)
	return vmi, pod, nil
}
