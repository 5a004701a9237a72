package node

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
)

// boot runs the firmware and writes the VMI with what came of it.
func (f *Fleet) boot(ctx context.Context, vmi *v1.VirtualMachineInstance, why string) error {
	found := guest.Firmware(vmi, func(name string) *corev1.PersistentVolumeClaim { return f.claim(vmi.Namespace, name) })
	line := guest.Record(vmi, found, time.Now(), why)
	if err := f.writeVMI(ctx, vmi); err != nil {
		return err
	}
	slog.Info("guest boots", "node", vmi.Status.NodeName, "vmi", vmi.Namespace+"/"+vmi.Name, "from", found.From, "why", why)
	return f.log(ctx, vmi, line)
}

func (f *Fleet) claim(namespace, name string) *corev1.PersistentVolumeClaim {
	if o, ok, _ := f.claims.GetByKey(namespace + "/" + name); ok {
		return o.(*corev1.PersistentVolumeClaim)
	}
	return nil
}

// act lets a running guest do what it was told and what its program does. True means that it did something; otherwise wake says
// when it will.
func (f *Fleet) act(ctx context.Context, vmi *v1.VirtualMachineInstance) (acted bool, wake time.Duration, err error) {
	switch vmi.Annotations[knob.Guest] {
	case "shutdown":
		return true, 0, f.finishVMI(ctx, vmi, v1.Succeeded, "guest shut itself down")
	case "crash":
		return true, 0, f.finishVMI(ctx, vmi, v1.Failed, "guest crashed")
	case "reboot":
		return true, 0, f.reboot(ctx, vmi, "guest")
	}
	if command := f.memory.command(vmi.UID); command != "" {
		agent := guest.HasCondition(vmi, v1.VirtualMachineInstanceAgentConnected)
		if command == "reset" || guest.HearsACPI(vmi) || agent {
			err := f.reboot(ctx, vmi, command)
			if err == nil {
				f.memory.asked(vmi.UID, "")
			}
			return true, 0, err
		}
		f.memory.asked(vmi.UID, "") // a softreboot that nobody heard
	}
	program, installing := guest.Installing(vmi)
	if !installing {
		return false, 0, nil
	}
	if left := program.After - guest.Uptime(vmi, time.Now()); left > 0 {
		return false, left, nil
	}
	wake, err = f.install(ctx, vmi, program)
	return true, wake, err
}

// reboot is a system reset, from inside or by virt-handler. With rebootPolicy Terminate it ends the VMI.
func (f *Fleet) reboot(ctx context.Context, vmi *v1.VirtualMachineInstance, why string) error {
	if p := vmi.Spec.Domain.RebootPolicy; p != nil && *p == v1.RebootPolicyTerminate {
		return f.finishVMI(ctx, vmi, v1.Succeeded, why+" reboot with rebootPolicy Terminate")
	}
	delete(vmi.Annotations, knob.Guest)
	return f.boot(ctx, vmi, why)
}

// install marks the disk installed and, once the cache shows it so that a boot would find it, does what the program does next.
func (f *Fleet) install(ctx context.Context, vmi *v1.VirtualMachineInstance, program guest.Program) (time.Duration, error) {
	volume := guest.InstallTarget(vmi, program.Disk)
	if volume == nil {
		return 0, fmt.Errorf("guest %s/%s: no disk %q to install", vmi.Namespace, vmi.Name, program.Disk)
	}
	if name := guest.ClaimName(volume); name == "" {
		vmi.Annotations[knob.DiskState+"."+volume.Name] = "installed"
	} else if pvc := f.claim(vmi.Namespace, name); pvc == nil || pvc.Annotations[knob.DiskState] != "installed" {
		return 20 * time.Millisecond, f.markInstalled(ctx, vmi, volume.Name, name)
	}
	switch program.Then {
	case "poweroff":
		return 0, f.finishVMI(ctx, vmi, v1.Succeeded, "installer powered off")
	case "stay":
		vmi.Annotations[knob.Installed] = volume.Name
		return 0, f.writeVMI(ctx, vmi)
	}
	return 0, f.reboot(ctx, vmi, "installer")
}

func (f *Fleet) markInstalled(ctx context.Context, vmi *v1.VirtualMachineInstance, volume, claim string) error {
	if f.memory.age(vmi.UID, "install/"+vmi.Annotations[knob.BootCount]) > 0 {
		return nil // written before; the cache is behind
	}
	by := vmi.Annotations[knob.BootedDevice]
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{knob.DiskState: "installed", knob.InstalledFrom: by},
	}})
	if err != nil {
		return err
	}
	if _, err := f.kube.CoreV1().PersistentVolumeClaims(vmi.Namespace).Patch(ctx, claim, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		f.memory.restart(vmi.UID, "install/"+vmi.Annotations[knob.BootCount])
		return err
	}
	return f.log(ctx, vmi, fmt.Sprintf("installed=%s from=%s", volume, by))
}
