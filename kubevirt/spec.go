package kubevirt

import "k8s.io/apimachinery/pkg/api/resource"

const (
	architectureAMD64 = "amd64"
	architectureARM64 = "arm64"
)

// hardware works out what the guest sees, with KubeVirt's defaults.
func (w *wireSpec) hardware() hardware {
	d := &w.Domain
	h := hardware{
		uuid: d.Firmware.UUID, serial: d.Firmware.Serial, asset: shared(d.Chassis.Asset),
		sku: shared(d.Chassis.SKU), architecture: shared(w.Architecture), cpuModel: shared(d.CPU.Model),
		topology: d.topology(), memory: d.memory(), grace: -1,
	}
	h.efi, h.secureBoot = w.firmware()
	if h.cpuModel == "" && w.Architecture == architectureARM64 {
		h.cpuModel = "host-passthrough"
	}
	if w.Grace != nil {
		h.grace = *w.Grace
	}
	volumes := make(map[string]*wireVolume, len(w.Volumes))
	for i := range w.Volumes {
		volumes[w.Volumes[i].Name] = &w.Volumes[i]
	}
	h.disks = make([]disk, 0, len(d.Devices.Disks))
	for i := range d.Devices.Disks {
		h.disks = append(h.disks, d.Devices.Disks[i].disk(volumes, w.Architecture))
	}
	h.nics = make([]nic, 0, len(d.Devices.Interfaces))
	for _, n := range d.Devices.Interfaces {
		h.nics = append(h.nics, nic{name: shared(n.Name), mac: n.MAC, bootOrder: n.BootOrder})
	}
	return h
}

// firmware reports whether the firmware is UEFI, and whether secure boot is on: by default it is on amd64,
// while arm64 always has UEFI without it (KubeVirt's pkg/defaults).
func (w *wireSpec) firmware() (efi, secureBoot bool) {
	arm := w.Architecture == architectureARM64
	if set := w.Domain.Firmware.Bootloader.EFI; set == nil {
		return arm, false
	} else if set.SecureBoot != nil {
		return true, *set.SecureBoot
	}
	return true, !arm
}

// topology is the CPU topology that KubeVirt gives the domain: what is set, else one socket for each CPU of
// the limits or the requests, else a single CPU (pkg/virt-launcher/virtwrap/converter/vcpu).
func (d *wireDomain) topology() topology {
	c := &d.CPU
	if c.Sockets != 0 || c.Cores != 0 || c.Threads != 0 {
		return topology{max(c.Sockets, 1), max(c.Cores, 1), max(c.Threads, 1)}
	}
	for _, q := range []*resource.Quantity{d.Resources.Limits.CPU, d.Resources.Requests.CPU} {
		if n := value(q); n > 0 {
			return topology{int32(min(n, 1<<16)), 1, 1}
		}
	}
	return topology{1, 1, 1}
}

// memory is the size of the guest's memory in bytes, 0 when the spec does not say it.
func (d *wireDomain) memory() int64 {
	for _, q := range []*resource.Quantity{d.Memory.Guest, d.Resources.Requests.Memory, d.Resources.Limits.Memory} {
		if n := value(q); n > 0 {
			return n
		}
	}
	page, err := resource.ParseQuantity(d.Memory.Hugepages.PageSize)
	if err != nil {
		return 0
	}
	return page.Value()
}

func (w *wireDisk) disk(volumes map[string]*wireVolume, architecture string) disk {
	d := disk{name: shared(w.Name), serial: w.Serial, bootOrder: w.BootOrder, cdrom: w.CDROM != nil, bus: defaultBus(architecture)}
	for _, target := range []*wireTarget{w.Disk, w.LUN, w.CDROM} {
		if target != nil && target.Bus != "" {
			d.bus = shared(target.Bus)
		}
	}
	if v := volumes[w.Name]; v != nil {
		d.volume, d.claim, d.bytes = v.source()
	}
	return d
}

// defaultBus is the bus of a disk that names none (KubeVirt's pkg/defaults).
func defaultBus(architecture string) string {
	if architecture == "" || architecture == architectureAMD64 {
		return "sata"
	}
	return "virtio"
}

// source names the volume's kind, the claim that holds it, and its size when the spec gives it.
func (v *wireVolume) source() (kind, claim string, bytes int64) {
	switch {
	case v.DataVolume != nil:
		return "dataVolume", v.DataVolume.Name, 0
	case v.PersistentVolumeClaim != nil:
		return "persistentVolumeClaim", v.PersistentVolumeClaim.ClaimName, 0
	case v.Ephemeral != nil && v.Ephemeral.PersistentVolumeClaim != nil:
		return "ephemeral", v.Ephemeral.PersistentVolumeClaim.ClaimName, 0
	case v.EmptyDisk != nil:
		return "emptyDisk", "", value(v.EmptyDisk.Capacity)
	case v.HostDisk != nil:
		return "hostDisk", "", value(v.HostDisk.Capacity)
	case v.ContainerDisk != nil:
		return "containerDisk", "", 0
	case v.CloudInitNoCloud != nil, v.CloudInitConfig != nil:
		return "cloudInit", "", 0
	default:
		return "", "", 0
	}
}

// sizesFrom fills in the sizes of disks whose DataVolume is made from a template of the VM itself.
func (h *hardware) sizesFrom(templates []wireTemplate) {
	for i := range templates {
		t := &templates[i]
		size := max(value(t.Spec.PVC.Resources.Requests.Storage), value(t.Spec.Storage.Resources.Requests.Storage))
		for j := range h.disks {
			if h.disks[j].claim == t.Metadata.Name {
				h.disks[j].bytes = size
			}
		}
	}
}

// value is the quantity rounded up to a whole number; 0 for nil.
func value(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}
