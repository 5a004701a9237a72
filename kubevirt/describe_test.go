package kubevirt

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// described is what a caller reads of the machine; the claims are what the store knows of them, in bytes.
func described(m *machine, claims map[string]int64, change ...func(h *handle)) *redfish.System {
	b := &Backend{store: newStore(auth.NewExposure(nil)), rights: &knownRights{missing: map[right]bool{}}}
	for name, bytes := range claims {
		b.store.setClaim(key{m.namespace, name}, &claimRecord{bytes: bytes})
	}
	h := &handle{found: found{machine: m, id: "cp1.node-0"}, backend: b, now: noon}
	for _, f := range change {
		f(h)
	}
	return h.Describe()
}

// equipped gives the VM, and its instance if there is one, some hardware.
func equipped(m *machine) *machine {
	hw := hardware{
		uuid: "AAAAAAAA-0000-4000-8000-00000000000A", serial: "SN-1", asset: "RACK-7", sku: "CP-1", architecture: "amd64", cpuModel: "EPYC",
		topology: topology{2, 4, 1}, memory: 16 * gibi, efi: true, secureBoot: true, grace: 180,
		disks: []disk{
			{name: "root", bus: "virtio", serial: "D-1", bootOrder: 1, volume: "dataVolume", claim: "node-0-root", bytes: 10 * gibi},
			{name: "cd", bus: "sata", cdrom: true, volume: "dataVolume", claim: "iso"},
			{name: "scratch", bus: "virtio", volume: "emptyDisk", bytes: gibi},
			{name: "init", bus: "virtio", volume: "cloudInit"},
		},
		nics: []nic{{name: "machine", mac: "02:00:00:c1:00:00", bootOrder: 2}, {name: "fast", mac: "02-00-00-c1-00-01"}, {name: "pod"}},
	}
	m.vm.template = hw
	if m.vmi != nil {
		m.vmi.hardware = hw
	}
	return m
}

func TestMachineThatIsOff(t *testing.T) {
	m := equipped(machineIn(halted, "ended"))
	m.vm.printable = "Stopped"
	s := described(m, nil)
	want := &redfish.System{
		ID: "cp1.node-0", UUID: "aaaaaaaa-0000-4000-8000-00000000000a", SerialNumber: "SN-1", AssetTag: "RACK-7", SKU: "CP-1",
		Manufacturer: "KubeVirt", Model: "None", Power: redfish.PowerOff, Resets: allResets,
		Status:     redfish.Status{State: redfish.StateEnabled, Health: redfish.HealthOK},
		Firmware:   redfish.Firmware{UEFI: true, SecureBoot: true, Version: "edk2"},
		Processors: redfish.Processors{Sockets: 2, CoresPerSocket: 4, ThreadsPerCore: 1, Architecture: "amd64", Model: "EPYC"},
		MemoryMiB:  16 * 1024,
		Boot: redfish.Boot{
			Enabled: redfish.BootDisabled, Target: redfish.BootNone,
			Targets: []redfish.BootSource{redfish.BootNone, redfish.BootCd, redfish.BootPxe, redfish.BootHdd},
			Devices: []redfish.BootDevice{{ID: "root", Source: redfish.BootHdd}, {ID: "machine", Source: redfish.BootPxe}},
		},
		Interfaces: []redfish.NetworkInterface{
			{ID: "machine", MAC: "02:00:00:C1:00:00", BootOrder: 2}, {ID: "fast", MAC: "02:00:00:C1:00:01"}, {ID: "pod"},
		},
		Disks: []redfish.Disk{
			{ID: "root", Bus: "virtio", CapacityBytes: 10 * gibi, SerialNumber: "D-1", BootOrder: 1, Source: "dataVolume node-0-root"},
			{ID: "scratch", Bus: "virtio", CapacityBytes: gibi, Source: "emptyDisk"},
			{ID: "init", Bus: "virtio", Source: "cloudInit"},
		},
		KubeVirt: redfish.KubeVirt{Namespace: "cp1", Name: "node-0", RunStrategy: "Halted", PrintableStatus: "Stopped"},
	}
	require.Equal(t, want, s)
}

func TestRunningMachineIsAsItsInstanceReports(t *testing.T) {
	m := equipped(with(always, "running", onVMI("Ready", "True", "", ""), onVMI("AgentConnected", "True", "", ""), onVM("RestartRequired", "True", "", "")))
	m.vm.template.topology, m.vm.template.memory, m.vm.template.secureBoot = topology{1, 1, 1}, gibi, false // edited since
	m.vmi.topology, m.vmi.memory = topology{3, 4, 1}, 32*gibi                                               // added while it runs
	m.vmi.running, m.vmi.guestOS = noon.Add(-time.Minute), "Fedora Linux 44"
	m.vmi.volumes = []volumeState{{"root", 12 * gibi}, {"init", mebi}, {"scratch", 0}}
	m.vmi.nics = []nicState{
		{name: "machine", mac: "02:00:00:c1:00:00", addresses: []string{"192.0.2.10"}},
		{name: "fast", mac: "02:00:00:c1:00:01", down: true},
		{name: "pod", mac: "0a:58:0a:00:00:01"},
		{mac: "6e:00:00:00:00:01"}, // the guest's own
	}
	s := described(m, map[string]int64{"node-0-root": 11 * gibi})
	require.Equal(t, redfish.PowerOn, s.Power)
	require.Equal(t, redfish.Processors{Sockets: 3, CoresPerSocket: 4, ThreadsPerCore: 1, Architecture: "amd64", Model: "EPYC"}, s.Processors)
	require.EqualValues(t, 32*1024, s.MemoryMiB)
	require.Equal(t, noon.Add(-time.Minute), s.LastReset)
	require.Equal(t, redfish.Firmware{UEFI: true, SecureBoot: true, SecureNow: true, Version: "edk2"}, s.Firmware)
	require.Equal(t, []redfish.NetworkInterface{
		{ID: "machine", MAC: "02:00:00:C1:00:00", Connected: true, Addresses: []string{"192.0.2.10"}, BootOrder: 2},
		{ID: "fast", MAC: "02:00:00:C1:00:01"},
		{ID: "pod", MAC: "0A:58:0A:00:00:01", Connected: true},
	}, s.Interfaces)
	require.Equal(t, []int64{12 * gibi, gibi, mebi}, []int64{s.Disks[0].CapacityBytes, s.Disks[1].CapacityBytes, s.Disks[2].CapacityBytes})
	require.Equal(t, redfish.KubeVirt{
		Namespace: "cp1", Name: "node-0", RunStrategy: "Always", RestartRequired: true, Node: "host-1", InstanceUID: "vmi-1", Phase: "Running",
		GuestAgent: true, GuestOS: "Fedora Linux 44", Conditions: []redfish.PlatformCondition{{Type: "RestartRequired", Status: "True"}},
	}, s.KubeVirt)
}

func TestEndedInstanceIsNotTakenForTheMachine(t *testing.T) {
	m := equipped(machineIn(manual, "succeeded"))
	m.vm.template.topology, m.vm.template.memory = topology{1, 2, 1}, gibi
	m.vmi.nics = []nicState{{name: "pod", mac: "0a:58:0a:00:00:01", addresses: []string{"192.0.2.10"}}}
	m.vmi.running = noon
	s := described(m, nil)
	require.Equal(t, 2, s.Processors.CoresPerSocket)
	require.EqualValues(t, 1024, s.MemoryMiB)
	require.Zero(t, s.LastReset)
	require.False(t, s.Interfaces[0].Connected)
	require.Empty(t, s.Interfaces[2].MAC, "a next instance has another one")
	require.False(t, s.Firmware.SecureNow)
}

func TestUUIDAndSerialAreNeverEmpty(t *testing.T) {
	const legacy = "64b7b60f-6d3b-5157-bcbf-7c281949040d" // uuid5 of "node-0" in KubeVirt's name space
	tests := map[string]struct {
		state         string
		template, vmi string
		serial        string
		uuid          string
		wantSerial    string
	}{
		"of the template":                {"ended", "AAAAAAAA-0000-4000-8000-00000000000A", "", "SN-1", "aaaaaaaa-0000-4000-8000-00000000000a", "SN-1"},
		"of the instance":                {"running", "", "BBBBBBBB-0000-4000-8000-00000000000B", "", "bbbbbbbb-0000-4000-8000-00000000000b", "bbbbbbbb-0000-4000-8000-00000000000b"},
		"of the instance, not a new one": {"running", "AAAAAAAA-0000-4000-8000-00000000000A", "bbbbbbbb-0000-4000-8000-00000000000b", "", "bbbbbbbb-0000-4000-8000-00000000000b", "bbbbbbbb-0000-4000-8000-00000000000b"},
		"of neither":                     {"ended", "", "", "", legacy, legacy},
		"of neither, running":            {"running", "", "", "", legacy, legacy},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := machineIn(always, tc.state)
			m.vm.template.uuid, m.vm.template.serial = tc.template, tc.serial
			if m.vmi != nil {
				m.vmi.hardware.uuid, m.vmi.hardware.serial = tc.vmi, tc.serial
			}
			s := described(m, nil)
			require.Equal(t, tc.uuid, s.UUID)
			require.Equal(t, tc.wantSerial, s.SerialNumber)
		})
	}
}

func TestUUIDIsTheSameOnAndOff(t *testing.T) {
	off, on := machineIn(halted, "ended"), machineIn(always, "running")
	on.vmi.hardware.uuid = described(off, nil).UUID // what KubeVirt gives an instance of a VM without one
	require.Equal(t, described(off, nil).UUID, described(on, nil).UUID)
}

func TestInstanceTypeThatIsNotKnownYet(t *testing.T) {
	typed := func(state string) *machine {
		m := equipped(machineIn(manual, state))
		m.vm.instancetype, m.vm.preference = "VirtualMachineInstancetype/u1", "fedora"
		m.vm.template.topology, m.vm.template.memory = topology{1, 1, 1}, 0
		return m
	}
	unknown := described(typed("ended"), nil)
	require.Zero(t, unknown.Processors, "not what the bare template would give")
	require.Zero(t, unknown.MemoryMiB)
	require.Len(t, unknown.Interfaces, 3, "what does not depend on it is there")
	require.Len(t, unknown.Disks, 3)
	require.Equal(t, "VirtualMachineInstancetype/u1", unknown.KubeVirt.Instancetype)

	known := typed("ended")
	known.expanded, known.expandedFor = &hardware{topology: topology{8, 1, 1}, memory: 4 * gibi}, known.vm.expansion()
	require.Equal(t, 8, described(known, nil).Processors.Sockets)
	require.EqualValues(t, 4096, described(known, nil).MemoryMiB)
	require.Equal(t, 2, described(typed("running"), nil).Processors.Sockets, "the instance has it applied")
}

func TestExpansionIsAskedForWhenItsCauseChanges(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}})
	k := key{"cp1", "a"}
	typed := func(version uint64, generation int64, revisions string) *vmRecord {
		vm := vmNamed("cp1", "a", version)
		vm.instancetype, vm.generation, vm.revisions = "u1", generation, revisions
		return vm
	}
	plain := vmNamed("cp1", "plain", 1)
	s.setVM(plain.key, plain)
	require.False(t, s.get(plain.key).needsExpansion())

	first := typed(1, 1, "")
	s.setVM(k, first)
	require.True(t, s.get(k).needsExpansion())
	s.setExpanded(first, &hardware{memory: gibi})
	require.False(t, s.get(k).needsExpansion())
	s.setVM(k, typed(2, 1, ""))
	require.False(t, s.get(k).needsExpansion(), "a change of the status")
	s.setVM(k, typed(3, 1, "type-1"))
	require.True(t, s.get(k).needsExpansion(), "another revision of the type")
	s.setExpanded(first, &hardware{memory: 2 * gibi})
	require.True(t, s.get(k).needsExpansion(), "an answer that is out of date")
	require.EqualValues(t, gibi, s.get(k).hardware().memory)
	s.setVMI(k, instance(phaseRunning))
	require.False(t, s.get(k).needsExpansion(), "the instance knows it")
}

func TestLastInstanceTellsUntilTheTypeIsKnown(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}})
	vm := vmNamed("cp1", "a", 1)
	vm.instancetype = "u1"
	s.setVM(vm.key, vm)
	vmi := instance(phaseRunning)
	vmi.hardware.memory = gibi
	s.setVMI(vm.key, vmi)
	ended := *vmi
	ended.phase = phaseSucceeded
	s.setVMI(vm.key, &ended)
	require.NotNil(t, s.get(vm.key).hardware(), "the ended instance is still there")
	require.EqualValues(t, gibi, s.get(vm.key).hardware().memory)
	s.setVMI(vm.key, nil)
	require.EqualValues(t, gibi, s.get(vm.key).hardware().memory)
	require.True(t, s.get(vm.key).needsExpansion())
}

func TestDiskSizes(t *testing.T) {
	tests := map[string]struct {
		state     string
		vmi       int64
		claims    map[string]int64
		spec      int64
		claimName string
		want      int64
	}{
		"of the instance":             {"running", 3, map[string]int64{"c": 2}, 1, "c", 3},
		"of the claim, running":       {"running", 0, map[string]int64{"c": 2}, 1, "c", 2},
		"of the claim, off":           {"ended", 3, map[string]int64{"c": 2}, 1, "c", 2},
		"of the spec":                 {"ended", 0, nil, 1, "c", 1},
		"of another claim":            {"ended", 0, map[string]int64{"d": 2}, 1, "c", 1},
		"unknown":                     {"ended", 0, nil, 0, "c", 0},
		"no claim":                    {"ended", 0, map[string]int64{"": 2}, 1, "", 1},
		"ended instance says no more": {"succeeded", 3, map[string]int64{"c": 2}, 1, "c", 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := machineIn(manual, tc.state)
			disks := []disk{{name: "root", claim: tc.claimName, bytes: tc.spec}}
			m.vm.template.disks = disks
			if m.vmi != nil {
				m.vmi.hardware.disks, m.vmi.volumes = disks, []volumeState{{"root", tc.vmi}}
			}
			require.Equal(t, tc.want, described(m, tc.claims).Disks[0].CapacityBytes)
		})
	}
}

func TestBareMachine(t *testing.T) {
	s := described(machineIn(halted, "ended"), nil)
	require.NotNil(t, s.Interfaces)
	require.Empty(t, s.Interfaces)
	require.NotNil(t, s.Disks)
	require.Empty(t, s.Disks)
	require.Equal(t, []redfish.BootSource{redfish.BootNone, redfish.BootCd}, s.Boot.Targets)
	require.Empty(t, s.Boot.Devices)
	require.Equal(t, "SeaBIOS", s.Firmware.Version)
}

func TestBootDevicesAreInFirmwaresOrder(t *testing.T) {
	tests := map[string]struct {
		disks []disk
		nics  []nic
		want  []redfish.BootDevice
	}{
		"no order: the first disk alone": {
			[]disk{{name: "cd", cdrom: true}, {name: "root"}, {name: "data"}}, []nic{{name: "n"}}, []redfish.BootDevice{{ID: "root", Source: "Hdd"}},
		},
		"an order over all kinds": {
			[]disk{{name: "data"}, {name: "root", bootOrder: 3}, {name: "cd", cdrom: true, bootOrder: 1}}, []nic{{name: "n", bootOrder: 2}},
			[]redfish.BootDevice{{ID: "cd", Source: "Cd"}, {ID: "n", Source: "Pxe"}, {ID: "root", Source: "Hdd"}},
		},
		"a CD without a number is not tried": {[]disk{{name: "cd", cdrom: true}}, nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, bootOf(&hardware{disks: tc.disks, nics: tc.nics}).Devices)
		})
	}
}

func TestStatusTellsOfTheService(t *testing.T) {
	lost := func(h *handle) { h.lost = noon.Add(-time.Minute) }
	s := described(machineIn(always, "running"), nil, lost)
	require.Equal(t, redfish.PowerOn, s.Power)
	require.Equal(t, redfish.HealthWarning, s.Status.Health)
	require.Equal(t, noon.Add(-time.Minute), s.Status.Conditions[0].Since)
	require.Equal(t, redfish.HealthCritical, described(with(always, "running", onVMI("Ready", "False", "", "")), nil, lost).Status.Health, "the worst counts")

	mayNot := func(rights ...right) func(h *handle) {
		return func(h *handle) {
			for _, r := range rights {
				h.backend.rights.missing[r] = true
			}
		}
	}
	bound := described(machineIn(halted, "stopping"), nil, mayNot(rightStop, rightKill))
	require.Equal(t, redfish.HealthOK, bound.Status.Health)
	require.Len(t, bound.Status.Conditions, 1)
	require.Contains(t, bound.Status.Conditions[0].Message, "grace period")
	require.Empty(t, described(machineIn(halted, "stopping"), nil, mayNot(rightStop)).Status.Conditions)
	require.Empty(t, described(machineIn(halted, "ended"), nil, mayNot(rightStop, rightKill)).Status.Conditions)
}

func TestHeldPowerOnIsATaskOfTheSystem(t *testing.T) {
	s := described(machineIn(halted, "hold"), nil)
	require.Len(t, s.Tasks, 1)
	require.EqualValues(t, "cp1.node-0.old", s.Tasks[0].ID)
	require.EqualValues(t, "cp1.node-0", s.Tasks[0].System)
}
