package kubevirt

import (
	"crypto/sha1" //nolint:gosec // UUID version 5 is defined with it
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// describe translates a machine into Redfish's words.
func (h *handle) describe() *redfish.System {
	m := h.machine
	power, status := h.status()
	hw := m.hardware()
	unknown := hw == nil
	if unknown {
		hw = &m.vm.template // names of disks and interfaces; sizes and CPUs are another matter
	}
	s := &redfish.System{
		ID: h.id, UUID: m.uuid(hw), SerialNumber: hw.serial, AssetTag: hw.asset, SKU: hw.sku,
		Manufacturer: "KubeVirt", Model: "None", Power: power, Status: status, Resets: resets(m),
		Firmware:   firmwareOf(m, hw),
		Boot:       bootOf(hw),
		Interfaces: interfacesOf(m, hw), Disks: h.disks(hw),
		KubeVirt: platformOf(m),
	}
	if s.SerialNumber == "" {
		s.SerialNumber = s.UUID
	}
	if !unknown || m.live() {
		s.Processors, s.MemoryMiB = processorsOf(m, hw), memoryOf(m, hw)
	}
	if m.live() {
		s.LastReset = m.vmi.running
	}
	if t := taskOf(m, h.now); t != nil {
		t.System = h.id
		s.Tasks = []redfish.Task{*t}
	}
	return s
}

// status is the state of the machine, with what hinders the service.
func (h *handle) status() (redfish.PowerState, redfish.Status) {
	power, status := powerOf(h.machine, h.now)
	if !h.lost.IsZero() {
		status.Health = status.Health.Worst(redfish.HealthWarning)
		status.Conditions = append(status.Conditions, because(redfish.HealthWarning, "The cluster's API does not answer; this is the last known state.", h.lost))
	}
	if may := h.backend.rights.forPower(); h.ending() && !may.stop && !may.killPods {
		status.Conditions = append(status.Conditions, because(redfish.HealthOK, "The guest is given its grace period: the service lacks the rights to end it at once.", time.Time{}))
	}
	return power, status
}

// legacyUUIDs is the name space in which KubeVirt before 1.6 made the UUID of a VM that has none
// (pkg/virt-controller/watch/vm/firmware.go).
var legacyUUIDs = uuid.MustParse("6a1a24a1-4061-4607-8bf4-a3963d0c5895")

// uuid is the SMBIOS UUID of the guest.
func (m *machine) uuid(hw *hardware) string {
	for _, id := range []string{hw.uuid, m.vm.template.uuid} {
		if id != "" {
			return strings.ToLower(id)
		}
	}
	return uuid.NewHash(sha1.New(), legacyUUIDs, []byte(m.name), 5).String() //nolint:gosec // see the import
}

func firmwareOf(m *machine, hw *hardware) redfish.Firmware {
	f := redfish.Firmware{UEFI: hw.efi, SecureBoot: m.vm.template.secureBoot || hw.secureBoot, Version: "SeaBIOS"}
	if hw.efi {
		f.Version = "edk2"
	}
	f.SecureNow = m.live() && m.vmi.hardware.secureBoot
	return f
}

func processorsOf(m *machine, hw *hardware) redfish.Processors {
	t := hw.topology
	if m.live() && m.vmi.topology.known() {
		t = m.vmi.topology
	}
	architecture := hw.architecture
	if architecture == "" {
		architecture = architectureAMD64
	}
	model := hw.cpuModel
	if model == "" {
		model = "host-model" // KubeVirt's default
	}
	return redfish.Processors{
		Sockets: int(t.sockets), CoresPerSocket: int(t.cores), ThreadsPerCore: int(t.threads), Architecture: architecture, Model: model,
	}
}

func memoryOf(m *machine, hw *hardware) int64 {
	const mebi = 1 << 20
	if m.live() && m.vmi.memory > 0 {
		return m.vmi.memory / mebi
	}
	return hw.memory / mebi
}

func interfacesOf(m *machine, hw *hardware) []redfish.NetworkInterface {
	list := make([]redfish.NetworkInterface, 0, len(hw.nics))
	for _, n := range hw.nics {
		nic := redfish.NetworkInterface{ID: n.name, MAC: addressOf(n.mac), BootOrder: int(n.bootOrder)}
		if m.live() {
			nic.Connected = m.vmi.phase == phaseRunning
			for _, state := range m.vmi.nics {
				if state.name == n.name {
					nic.Addresses, nic.Connected = state.addresses, nic.Connected && !state.down
					if nic.MAC == "" {
						nic.MAC = addressOf(state.mac)
					}
				}
			}
		}
		list = append(list, nic)
	}
	return list
}

// addressOf is a MAC address in the form that is shown.
func addressOf(mac string) string { return strings.ToUpper(strings.ReplaceAll(mac, "-", ":")) }

// disks are the drives that the guest sees, with their sizes as far as they are known.
func (h *handle) disks(hw *hardware) []redfish.Disk {
	list := make([]redfish.Disk, 0, len(hw.disks))
	for i := range hw.disks {
		d := &hw.disks[i]
		if d.cdrom {
			continue
		}
		source := d.volume
		if d.claim != "" {
			source += " " + d.claim
		}
		list = append(list, redfish.Disk{
			ID: d.name, Bus: redfish.Bus(d.bus), CapacityBytes: h.sizeOf(d), SerialNumber: d.serial, BootOrder: int(d.bootOrder), Source: source,
		})
	}
	return list
}

// sizeOf is the size of a disk in bytes: what the instance reports, else its claim's, else its spec's; 0 when
// none says it.
func (h *handle) sizeOf(d *disk) int64 {
	if h.machine.live() {
		for _, v := range h.machine.vmi.volumes {
			if v.name == d.name && v.bytes > 0 {
				return v.bytes
			}
		}
	}
	if size := h.backend.store.claim(key{h.machine.namespace, d.claim}); d.claim != "" && size > 0 {
		return size
	}
	return d.bytes
}

func platformOf(m *machine) redfish.KubeVirt {
	p := redfish.KubeVirt{
		Namespace: m.namespace, Name: m.name, RunStrategy: string(m.vm.strategy), PrintableStatus: m.vm.printable,
		RestartRequired: isTrue(m.vm.conditions, "RestartRequired"), Instancetype: m.vm.instancetype, Preference: m.vm.preference,
	}
	for _, c := range m.vm.conditions {
		p.Conditions = append(p.Conditions, redfish.PlatformCondition{Type: c.kind, Status: c.status, Reason: c.reason, Message: c.message})
	}
	if m.vmi != nil {
		p.Node, p.InstanceUID, p.Phase, p.GuestOS = m.vmi.node, m.vmi.uid, m.vmi.phase, m.vmi.guestOS
		p.GuestAgent = isTrue(m.vmi.conditions, "AgentConnected")
	}
	return p
}
