package guest

import (
	corev1 "k8s.io/api/core/v1"
	v1 "kubevirt.io/api/core/v1"
)

// Volume returns the VMI's volume of that name, nil when there is none.
func Volume(vmi *v1.VirtualMachineInstance, name string) *v1.Volume {
	for i := range vmi.Spec.Volumes {
		if vmi.Spec.Volumes[i].Name == name {
			return &vmi.Spec.Volumes[i]
		}
	}
	return nil
}

// ClaimName is empty for a volume that is no claim.
func ClaimName(volume *v1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.DataVolume != nil:
		return volume.DataVolume.Name
	}
	return ""
}

func claimOf(volume *v1.Volume, claim ClaimFunc) *corev1.PersistentVolumeClaim {
	if name := ClaimName(volume); name != "" {
		return claim(name)
	}
	return nil
}

// Hotpluggable tells whether the volume is attached by an attachment pod.
func Hotpluggable(volume *v1.Volume) bool {
	return (volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.Hotpluggable) ||
		(volume.DataVolume != nil && volume.DataVolume.Hotpluggable)
}

// HotplugMounted is virt-handler's check before it starts a domain: every hotpluggable volume is there.
func HotplugMounted(vmi *v1.VirtualMachineInstance) bool {
	for i := range vmi.Spec.Volumes {
		if v := &vmi.Spec.Volumes[i]; Hotpluggable(v) && !mounted(vmi, v.Name) {
			return false
		}
	}
	return true
}

func mounted(vmi *v1.VirtualMachineInstance, name string) bool {
	for _, s := range vmi.Status.VolumeStatus {
		if s.Name == name {
			return s.Phase == v1.VolumeReady || s.Phase == v1.HotplugVolumeMounted
		}
	}
	return false
}

// InstallTarget is the disk that an installer writes: the named one, or the first. Nil when there is none.
func InstallTarget(vmi *v1.VirtualMachineInstance, name string) *v1.Volume {
	for _, d := range vmi.Spec.Domain.Devices.Disks {
		if d.CDRom != nil || (name != "" && d.Name != name) {
			continue
		}
		if v := Volume(vmi, d.Name); v != nil {
			return v
		}
	}
	return nil
}

// Targets gives each disk of the spec the device name that the guest would see.
func Targets(vmi *v1.VirtualMachineInstance) map[string]string {
	out, count := map[string]string{}, map[string]int{}
	for _, d := range vmi.Spec.Domain.Devices.Disks {
		prefix := "sd"
		if bus := busOf(d); bus == v1.DiskBusVirtio || bus == "" {
			prefix = "vd"
		}
		out[d.Name] = prefix + string(rune('a'+count[prefix]))
		count[prefix]++
	}
	return out
}

func busOf(d v1.Disk) v1.DiskBus {
	switch {
	case d.CDRom != nil:
		return d.CDRom.Bus
	case d.LUN != nil:
		return d.LUN.Bus
	case d.Disk != nil:
		return d.Disk.Bus
	}
	return ""
}
