package node

import (
	"fmt"
	"log/slog"
	"time"

	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/reconcile"
)

// hotplug does virt-handler's part of volumeStatus: AttachedToNode (by virt-controller) → MountedToPod → Ready, and after a removal
// from the spec → UnMountedFromPod, after which virt-controller detaches the volume and drops its status. True means that vmi was
// changed; otherwise again says when it will be.
func (f *Fleet) hotplug(vmi *v1.VirtualMachineInstance) (changed bool, again time.Duration) {
	targets := guest.Targets(vmi)
	for i := range vmi.Status.VolumeStatus {
		s := &vmi.Status.VolumeStatus[i]
		if s.HotplugVolume == nil {
			if vmi.Status.Phase == v1.Running && s.Target != targets[s.Name] {
				s.Target, changed = targets[s.Name], true
			}
			continue
		}
		next := nextStep(vmi, s, targets[s.Name])
		if next == nil {
			continue
		}
		key := fmt.Sprintf("hotplug/%s/%s", s.Name, next.Phase)
		if left := f.Delays.Hotplug - f.memory.age(vmi.UID, key); left > 0 {
			again = reconcile.Sooner(again, left)
			continue
		}
		f.memory.restart(vmi.UID, key)
		slog.Info("volume", "vmi", vmi.Namespace+"/"+vmi.Name, "volume", s.Name, "from", s.Phase, "to", next.Phase)
		s.Phase, s.Reason, s.Message, s.Target = next.Phase, next.Reason, next.Message, next.Target
		changed = true
	}
	return changed, again
}

// nextStep is what a hotplugged volume goes to, nil when it stays.
func nextStep(vmi *v1.VirtualMachineInstance, s *v1.VolumeStatus, target string) *v1.VolumeStatus {
	wanted := guest.Volume(vmi, s.Name) != nil
	attached := s.HotplugVolume.AttachPodUID != ""
	switch s.Phase {
	case v1.HotplugVolumeAttachedToNode, v1.VolumeBound, v1.VolumePending:
		if wanted && attached {
			return &v1.VolumeStatus{Phase: v1.HotplugVolumeMounted, Reason: "VolumeMountedToPod",
				Message: fmt.Sprintf("Volume %s has been mounted in virt-launcher pod", s.Name)}
		}
		if wanted || s.Phase != v1.HotplugVolumeAttachedToNode {
			return nil
		}
	case v1.HotplugVolumeMounted:
		if wanted && vmi.Status.Phase == v1.Running {
			return &v1.VolumeStatus{Phase: v1.VolumeReady, Reason: "VolumeReady", Target: target,
				Message: fmt.Sprintf("Successfully attach hotplugged volume %s to VM", s.Name)}
		}
		if wanted {
			return nil
		}
	case v1.VolumeReady:
		if wanted {
			return nil
		}
	default:
		return nil
	}
	if vmi.Annotations[knob.TrayLocked] == "true" {
		return nil
	}
	return &v1.VolumeStatus{Phase: v1.HotplugVolumeUnMounted, Reason: "VolumeUnMountedFromPod",
		Message: fmt.Sprintf("Volume %s has been unmounted from virt-launcher pod", s.Name)}
}
