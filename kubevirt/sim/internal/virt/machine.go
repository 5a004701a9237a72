package virt

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// Annotations that describe a guest. On a VM they belong into the template's metadata. Durations are Go's.
const (
	prefix = "sim.kubevirt-redfish.io/"

	BootDelay     = prefix + "boot-delay"
	AgentDelay    = prefix + "agent-delay"
	ShutdownDelay = prefix + "shutdown-delay"
	NoAgent       = prefix + "no-agent"    // "true"
	IgnoreACPI    = prefix + "ignore-acpi" // "true"
	StartFail     = prefix + "start-fail"  // "true": the hypervisor never comes up
	Crash         = prefix + "crash"       // a duration after each boot, or "true" for at once

	// Content on a PersistentVolumeClaim, and ContentOf with a disk's or interface's name appended, say what
	// firmware finds there: empty, blank, labelled, data, os or live.
	Content   = prefix + "content"
	ContentOf = prefix + "content."

	// Do on a running instance makes its guest act once: shutdown, reboot or crash.
	Do = prefix + "do"
	// Down on a Node, "true", is a node that is lost.
	Down = prefix + "node-down"

	// BootedFrom and Boots are results on the instance: the device that booted, and power on plus resets.
	BootedFrom = prefix + "booted-from"
	Boots      = prefix + "boots"
)

func (v *Virt) behaviour(vmi *vmiObject) guest.Behaviour {
	a := vmi.Annotations
	crash, crashes := a[Crash]
	b := guest.Behaviour{
		Boot: durationOr(a[BootDelay], v.Delays.Boot), Agent: durationOr(a[AgentDelay], v.Delays.Agent),
		Shutdown: durationOr(a[ShutdownDelay], v.Delays.Shutdown),
		NoAgent:  a[NoAgent] == "true", IgnoreACPI: a[IgnoreACPI] == "true", StartFail: a[StartFail] == "true",
		Crash: crashes && crash != "false", CrashAfter: durationOr(crash, 0),
	}
	if f := vmi.Spec.Domain.Features; f != nil && f.ACPI.Enabled != nil && !*f.ACPI.Enabled {
		b.IgnoreACPI = true
	}
	return b
}

func durationOr(text string, fallback time.Duration) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return fallback
}

// machine describes an instance to the guest model.
func (v *Virt) machine(vmi *vmiObject) guest.Machine {
	d := &vmi.Spec.Domain
	m := guest.Machine{Firmware: guest.BIOS, TerminateOnReboot: d.RebootPolicy != nil && *d.RebootPolicy == kubevirtv1.RebootPolicyTerminate}
	if d.Firmware != nil && d.Firmware.Bootloader != nil && d.Firmware.Bootloader.EFI != nil {
		m.Firmware = guest.UEFI
	}
	for _, disk := range d.Devices.Disks {
		kind := guest.Disk
		if disk.CDRom != nil {
			kind = guest.CDROM
		}
		m.Devices = append(m.Devices, guest.Device{Name: disk.Name, Kind: kind, Order: order(disk.BootOrder), Content: v.diskContent(vmi, disk.Name, kind)})
	}
	for _, nic := range d.Devices.Interfaces {
		content := guest.Empty
		if c := vmi.Annotations[ContentOf+nic.Name]; c != "" {
			content = guest.Content(c)
		}
		m.Devices = append(m.Devices, guest.Device{Name: nic.Name, Kind: guest.NIC, Order: order(nic.BootOrder), Content: content})
	}
	return m
}

func order(o *uint) uint {
	if o == nil {
		return 0
	}
	return *o
}

// diskContent is what an annotation says, on the instance or on the claim, or else what the volume suggests.
func (v *Virt) diskContent(vmi *vmiObject, name string, kind guest.Kind) guest.Content {
	if c := vmi.Annotations[ContentOf+name]; c != "" {
		return guest.Content(c)
	}
	vol := volumeNamed(vmi.Spec.Volumes, name)
	if vol == nil {
		return guest.Empty
	}
	full := guest.OS
	if kind == guest.CDROM {
		full = guest.Live
	}
	switch claim := claimName(vol); {
	case claim != "":
		pvc, _, err := load[corev1.PersistentVolumeClaim](v.Store, resource.PersistentVolumeClaims, store.Key{Namespace: vmi.Namespace, Name: claim})
		if err == nil && pvc != nil && pvc.Annotations[Content] != "" {
			return guest.Content(pvc.Annotations[Content])
		}
		return full
	case vol.ContainerDisk != nil:
		return full
	case vol.EmptyDisk != nil:
		return guest.Blank
	}
	return guest.Data // cloud-init, config maps and the like
}

func volumeNamed(volumes []kubevirtv1.Volume, name string) *kubevirtv1.Volume {
	for i := range volumes {
		if volumes[i].Name == name {
			return &volumes[i]
		}
	}
	return nil
}

// claimName is the claim behind a volume, "" when there is none.
func claimName(vol *kubevirtv1.Volume) string {
	switch {
	case vol.PersistentVolumeClaim != nil:
		return vol.PersistentVolumeClaim.ClaimName
	case vol.DataVolume != nil:
		return vol.DataVolume.Name
	}
	return ""
}

// bootedFrom names the result of a boot for people.
func bootedFrom(b guest.Boot) string {
	if b.Outcome == guest.Booted {
		return b.Device.Name
	}
	return strings.TrimSpace(string(b.Outcome) + " " + b.Device.Name)
}
