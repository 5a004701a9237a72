// Package guest is the model of what runs inside a VMI: what its firmware boots, whether it has an agent, whether it listens.
// It decides from the VMI, its claims and the time, and does no I/O.
//
// Firmware tries the devices that have a bootOrder, lowest first; if none has one, only the first disk. A CD-ROM without a
// medium, a blank disk and a network without the annotation pxe are skipped.
package guest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
)

// ClaimFunc returns a claim of the VMI's namespace, nil when there is none.
type ClaimFunc func(name string) *corev1.PersistentVolumeClaim

// Boot is what one run of the firmware came to.
type Boot struct {
	From    string // position in the spec, see knob.BootedFrom
	Device  string
	Program string
}

type kind int

const (
	cdrom kind = iota
	disk
	network
)

type device struct {
	position, name string
	kind           kind
	order          uint
}

// Firmware looks for something to boot.
func Firmware(vmi *v1.VirtualMachineInstance, claim ClaimFunc) Boot {
	for _, d := range bootOrder(vmi) {
		if program, ok := bootable(vmi, d, claim); ok {
			return Boot{From: d.position, Device: d.name, Program: program}
		}
	}
	return Boot{From: "none"}
}

// Record writes a boot into the VMI's annotations and returns the line for the guest's log.
func Record(vmi *v1.VirtualMachineInstance, b Boot, now time.Time, why string) string {
	if vmi.Annotations == nil {
		vmi.Annotations = map[string]string{}
	}
	a := vmi.Annotations
	count, _ := strconv.Atoi(a[knob.BootCount])
	count++
	a[knob.BootCount], a[knob.BootedAt] = strconv.Itoa(count), now.UTC().Format(time.RFC3339Nano)
	a[knob.BootedFrom], a[knob.BootedDevice], a[knob.Program] = b.From, b.Device, b.Program
	delete(a, knob.Installed)
	DropCondition(vmi, v1.VirtualMachineInstanceAgentConnected)
	return fmt.Sprintf("boot=%d from=%s device=%s program=%q why=%s", count, b.From, b.Device, b.Program, why)
}

func bootOrder(vmi *v1.VirtualMachineInstance) []device {
	all := devices(vmi)
	ordered := slices.DeleteFunc(slices.Clone(all), func(d device) bool { return d.order == 0 })
	if len(ordered) == 0 {
		if i := slices.IndexFunc(all, func(d device) bool { return d.kind == disk }); i >= 0 {
			return all[i : i+1]
		}
	}
	slices.SortStableFunc(ordered, func(a, b device) int { return cmp.Compare(a.order, b.order) })
	return ordered
}

func devices(vmi *v1.VirtualMachineInstance) []device {
	var out []device
	cds, disks := 0, 0
	for _, d := range vmi.Spec.Domain.Devices.Disks {
		if d.CDRom != nil {
			out = append(out, device{fmt.Sprintf("cdrom%d", cds), d.Name, cdrom, order(d.BootOrder)})
			cds++
			continue
		}
		position := "rootdisk"
		if disks > 0 {
			position = fmt.Sprintf("disk%d", disks)
		}
		out = append(out, device{position, d.Name, disk, order(d.BootOrder)})
		disks++
	}
	for i, n := range vmi.Spec.Domain.Devices.Interfaces {
		out = append(out, device{fmt.Sprintf("net%d", i), n.Name, network, order(n.BootOrder)})
	}
	return out
}

func order(o *uint) uint {
	if o == nil {
		return 0
	}
	return *o
}

// bootable returns the program that the firmware finds on a device, if it finds one.
func bootable(vmi *v1.VirtualMachineInstance, d device, claim ClaimFunc) (string, bool) {
	if d.kind == network {
		program := vmi.Annotations[knob.PXE]
		return program, program != ""
	}
	volume := Volume(vmi, d.name)
	if volume == nil || (Hotpluggable(volume) && !mounted(vmi, d.name)) {
		return "", false // an empty drive
	}
	pvc := claimOf(volume, claim)
	if d.kind == cdrom {
		program := medium(vmi, volume, pvc)
		return program, ParseProgram(program).Kind != "data"
	}
	return "", diskState(vmi, volume, pvc) == "installed"
}

func medium(vmi *v1.VirtualMachineInstance, volume *v1.Volume, pvc *corev1.PersistentVolumeClaim) string {
	program := vmi.Annotations[knob.ISO+"."+volume.Name]
	if program == "" && pvc != nil {
		program = pvc.Annotations[knob.ISO]
	}
	switch {
	case program != "":
		return program
	case pvc == nil && volume.ContainerDisk == nil:
		return "data" // cloud-init, a config map …
	}
	return "live"
}

func diskState(vmi *v1.VirtualMachineInstance, volume *v1.Volume, pvc *corev1.PersistentVolumeClaim) string {
	if pvc != nil {
		return pvc.Annotations[knob.DiskState]
	}
	state := vmi.Annotations[knob.DiskState+"."+volume.Name]
	if state == "" && volume.ContainerDisk != nil {
		return "installed"
	}
	return state
}
