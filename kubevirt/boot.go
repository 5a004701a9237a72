package kubevirt

import (
	"cmp"
	"slices"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// bootOf is the boot configuration as the spec has it. Without any boot order firmware tries the first disk
// alone, which is libvirt's default.
func bootOf(hw *hardware) redfish.Boot {
	type candidate struct {
		redfish.BootDevice
		order int32
	}
	var ordered []candidate
	targets := []redfish.BootSource{redfish.BootNone, redfish.BootCd}
	if len(hw.nics) > 0 {
		targets = append(targets, redfish.BootPxe)
	}
	var first *disk
	for i := range hw.disks {
		d := &hw.disks[i]
		source := redfish.BootHdd
		if d.cdrom {
			source = redfish.BootCd
		} else if first == nil {
			first = d
		}
		if d.bootOrder > 0 {
			ordered = append(ordered, candidate{redfish.BootDevice{ID: d.name, Source: source}, d.bootOrder})
		}
	}
	for _, n := range hw.nics {
		if n.bootOrder > 0 {
			ordered = append(ordered, candidate{redfish.BootDevice{ID: n.name, Source: redfish.BootPxe}, n.bootOrder})
		}
	}
	slices.SortFunc(ordered, func(a, b candidate) int { return cmp.Compare(a.order, b.order) })
	boot := redfish.Boot{Enabled: redfish.BootDisabled, Target: redfish.BootNone}
	for _, c := range ordered {
		boot.Devices = append(boot.Devices, c.BootDevice)
	}
	if first != nil {
		targets = append(targets, redfish.BootHdd)
		if len(ordered) == 0 {
			boot.Devices = []redfish.BootDevice{{ID: first.name, Source: redfish.BootHdd}}
		}
	}
	boot.Targets = targets
	return boot
}
