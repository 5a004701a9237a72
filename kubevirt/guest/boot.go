package guest

import (
	"cmp"
	"slices"
)

// Firmware is what runs before the operating system.
type Firmware string

// The firmwares that KubeVirt offers. The zero value is treated as BIOS, KubeVirt's default.
const (
	BIOS Firmware = "bios"
	UEFI Firmware = "uefi"
)

// Kind is what a boot device is.
type Kind string

// The kinds of boot devices.
const (
	Disk  Kind = "disk"
	CDROM Kind = "cdrom"
	NIC   Kind = "nic"
)

// Content is what the firmware finds on a device.
type Content string

// The contents. A NIC is Empty when nobody answers its network boot and Live when something does.
const (
	Empty    Content = "empty"    // no medium in the drive, no answer on the network
	Blank    Content = "blank"    // zeroes
	Labelled Content = "labelled" // a partition table without boot code
	Data     Content = "data"     // a file system that cannot be booted
	OS       Content = "os"       // an installed operating system with the fallback loader
	Live     Content = "live"     // a bootable medium
)

// Device is one thing that firmware may boot from.
type Device struct {
	Name string
	Kind Kind
	// Order is the explicit place in the boot order, from 1; 0 means none.
	Order   uint
	Content Content
}

// Machine is the part of a virtual machine that decides what boots.
type Machine struct {
	Firmware Firmware
	// Devices are in the order in which the machine lists them.
	Devices []Device
	// TerminateOnReboot ends the machine at any reset instead of booting again.
	TerminateOnReboot bool
}

// Outcome is how a boot attempt ended.
type Outcome string

// The outcomes.
const (
	Booted  Outcome = "booted"
	Hung    Outcome = "hung"    // the firmware waits for ever on a device
	Nothing Outcome = "nothing" // no device could be booted
)

// Boot is the result of the firmware's search.
type Boot struct {
	Outcome Outcome
	// Device is the one that was booted or that hung; zero when there was nothing.
	Device Device
}

// Boot looks for something to boot as measured with SeaBIOS and OVMF: with any explicit order only
// the ordered devices are tried; without one only the first disk is. Empty and unbootable media are
// skipped, except that BIOS hangs on a disk that is labelled but has no boot code.
func (m Machine) Boot() Boot {
	for _, d := range m.candidates() {
		switch {
		case d.Content == OS && d.Kind == Disk, d.Content == Live:
			return Boot{Outcome: Booted, Device: d}
		case d.Content == Labelled && d.Kind == Disk && m.Firmware != UEFI:
			return Boot{Outcome: Hung, Device: d}
		}
	}
	return Boot{Outcome: Nothing}
}

func (m Machine) candidates() []Device {
	var ordered []Device
	for _, d := range m.Devices {
		if d.Order > 0 {
			ordered = append(ordered, d)
		}
	}
	if len(ordered) > 0 {
		slices.SortStableFunc(ordered, func(a, b Device) int { return cmp.Compare(a.Order, b.Order) })
		return ordered
	}
	for _, d := range m.Devices {
		if d.Kind == Disk {
			return []Device{d}
		}
	}
	return nil
}
