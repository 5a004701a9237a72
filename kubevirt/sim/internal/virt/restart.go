package virt

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// setRestartRequired says that the template has changed in a way that the running instance cannot take over.
// It goes away when the template is as it was at the start, or with the instance.
func (v *Virt) setRestartRequired(vm *vmObject, vmi *vmiObject) {
	var started *kubevirtv1.VirtualMachineInstanceSpec
	if vmi != nil && !vmi.IsFinal() {
		v.guests.use(keyOf(vmi), vmi.UID, func(in *instance) { started = in.template })
	}
	if started == nil || equality.Semantic.DeepEqual(withoutLive(started), withoutLive(&vm.Spec.Template.Spec)) {
		removeVMCondition(vm, kubevirtv1.VirtualMachineRestartRequired)
		return
	}
	v.setVMCondition(vm, kubevirtv1.VirtualMachineCondition{Type: kubevirtv1.VirtualMachineRestartRequired, Status: corev1.ConditionTrue,
		Reason: "RestartRequired", Message: "a non-live-updatable field was changed in the template spec"})
}

// withoutLive drops what KubeVirt updates in a running instance.
func withoutLive(s *kubevirtv1.VirtualMachineInstanceSpec) *kubevirtv1.VirtualMachineInstanceSpec {
	s = s.DeepCopy()
	s.NodeSelector, s.Affinity, s.Tolerations = nil, nil, nil
	if s.Domain.CPU != nil {
		s.Domain.CPU.Sockets = 0
	}
	if s.Domain.Memory != nil {
		s.Domain.Memory.Guest = nil
	}
	hot := map[string]bool{}
	volumes := s.Volumes
	s.Volumes = nil
	for _, vol := range volumes {
		if (vol.DataVolume != nil && vol.DataVolume.Hotpluggable) || (vol.PersistentVolumeClaim != nil && vol.PersistentVolumeClaim.Hotpluggable) {
			hot[vol.Name] = true
			continue
		}
		s.Volumes = append(s.Volumes, vol)
	}
	disks := s.Domain.Devices.Disks
	s.Domain.Devices.Disks = nil
	for _, d := range disks {
		if !hot[d.Name] || d.CDRom != nil {
			s.Domain.Devices.Disks = append(s.Domain.Devices.Disks, d)
		}
	}
	return s
}
