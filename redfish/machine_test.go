package redfish_test

import (
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

var then = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// anyMachine is a machine in the most common state: running, with one disk and one interface.
func anyMachine(namespace, name string) *machine {
	id := redfish.SystemID(namespace + "." + name)
	return &machine{System: redfish.System{
		ID: id, UUID: "6a1f0c56-3d1e-5f0c-9a38-0d6f2c1b7e01", SerialNumber: "SN-" + name, Manufacturer: "KubeVirt", Model: "None", SKU: "None",
		HostName: name + ".example.test", Power: redfish.PowerOn, Status: redfish.Status{State: redfish.StateEnabled, Health: redfish.HealthOK},
		Resets: []redfish.ResetType{
			redfish.ResetOn, redfish.ResetForceOn, redfish.ResetForceOff, redfish.ResetGracefulShutdown, redfish.ResetGracefulRestart,
			redfish.ResetForceRestart, redfish.ResetPowerCycle, redfish.ResetPushPowerButton, redfish.ResetPause, redfish.ResetResume,
		},
		Boot: redfish.Boot{
			Enabled: redfish.BootDisabled, Target: redfish.BootNone,
			Targets: []redfish.BootSource{redfish.BootNone, redfish.BootCd, redfish.BootHdd, redfish.BootPxe},
			Devices: []redfish.BootDevice{{ID: "root", Source: redfish.BootHdd}, {ID: "default", Source: redfish.BootPxe}},
		},
		Firmware:   redfish.Firmware{UEFI: true, SecureBoot: true, SecureNow: true, Version: "edk2-20250523"},
		Processors: redfish.Processors{Sockets: 2, CoresPerSocket: 4, ThreadsPerCore: 1, Architecture: "amd64", Model: "host-model"},
		MemoryMiB:  16384,
		Interfaces: []redfish.NetworkInterface{{ID: "default", MAC: "02:00:00:00:00:01", Connected: true, Addresses: []string{"10.0.0.5", "fd00::5"}}},
		Disks:      []redfish.Disk{{ID: "root", Bus: redfish.BusVirtio, CapacityBytes: 120 << 30, SerialNumber: "D1", BootOrder: 1, Source: "persistentVolumeClaim root"}},
		LastReset:  then.Add(time.Hour),
		KubeVirt: redfish.KubeVirt{
			Namespace: namespace, Name: name, RunStrategy: "Always", PrintableStatus: "Running", Node: "host-1", InstanceUID: "i-1",
			Phase: "Running", GuestAgent: true, GuestOS: "Fedora", Instancetype: "u1.large", Preference: "fedora",
			Conditions: []redfish.PlatformCondition{{Type: "Ready", Status: "True"}, {Type: "LiveMigratable", Status: "False", Reason: "HostModel", Message: "not possible"}},
		},
	}}
}

// bare is a machine that was only just created: nothing is known beyond its name.
func bare(namespace, name string) *machine {
	m := anyMachine(namespace, name)
	m.System = redfish.System{
		ID: m.ID(), SerialNumber: m.SerialNumber, Power: redfish.PowerOff, Status: m.Status, Resets: m.Resets,
		Boot:     redfish.Boot{Enabled: redfish.BootDisabled, Target: redfish.BootNone, Targets: []redfish.BootSource{redfish.BootNone, redfish.BootCd}},
		KubeVirt: redfish.KubeVirt{Namespace: namespace, Name: name},
	}
	return m
}

// with is m after a change.
func (m *machine) with(change func(*machine)) *machine { change(m); return m }

// odd has a machine of every kind that clients must be able to read.
func odd() *fleet {
	f := &fleet{
		chassis: []auth.Chassis{
			{Name: "cp1", Namespace: "cp1", Description: "Control planes"}, {Name: "cp2", Namespace: "cp2"},
			{Name: "empty", Namespace: "nowhere"}, {Name: "cp1.named-like-a-chassis", Namespace: "cp1"},
		},
		tasks: []redfish.Task{
			{ID: "cp1.held.a1", System: "cp1.held", Name: "Reset On", State: redfish.TaskPending, Started: then, Message: "Waits for the end of the shutdown."},
			{ID: "cp1.held.a2", System: "cp1.held", Name: "Reset On", State: redfish.TaskCompleted, Started: then, Ended: then.Add(time.Minute)},
			{ID: "cp1.held.a3", System: "cp1.held", Name: "Reset On", State: redfish.TaskCancelled, Started: then, Ended: then.Add(time.Minute), Message: "A later ForceOff replaced it."},
			{ID: "cp2.node-0.b1", System: "cp2.node-0", Name: "Reset On", State: redfish.TaskException, Failed: true, Started: then, Ended: then.Add(time.Minute), Message: "The import failed."},
		},
	}
	f.machines = append(oddStates(), oddShapes()...)
	for i, m := range f.machines {
		m.version.Object = uint64(i + 1)
	}
	return f
}

// oddStates are machines in every state.
func oddStates() []*machine {
	off := func(m *machine) {
		m.Power, m.LastReset, m.HostName, m.Firmware.SecureNow = redfish.PowerOff, time.Time{}, "", false
		m.Interfaces[0].Connected, m.Interfaces[0].Addresses = false, nil
		m.KubeVirt.PrintableStatus, m.KubeVirt.Node, m.KubeVirt.InstanceUID, m.KubeVirt.Phase, m.KubeVirt.GuestAgent = "Stopped", "", "", "", false
	}
	return []*machine{
		anyMachine("cp1", "node-0"),
		anyMachine("cp1", "off").with(off),
		anyMachine("cp1", "paused").with(func(m *machine) { m.Power = redfish.PowerPaused }),
		anyMachine("cp1", "held").with(off).with(func(m *machine) {
			m.Power, m.Status.State = redfish.PowerPoweringOn, redfish.StateStarting
		}),
		anyMachine("cp1", "unschedulable").with(off).with(func(m *machine) {
			m.Power = redfish.PowerPoweringOn
			m.Status = redfish.Status{State: redfish.StateStarting, Health: redfish.HealthWarning, Conditions: []redfish.Condition{
				{Severity: redfish.HealthWarning, Message: "0/3 nodes are available: insufficient memory.", Since: then},
				{Severity: redfish.HealthOK, Message: "A restart is required for changes to take effect."},
			}}
		}),
		anyMachine("cp1", "lost").with(func(m *machine) {
			m.Status = redfish.Status{State: redfish.StateUnavailableOffline, Health: redfish.HealthCritical, Conditions: []redfish.Condition{{Severity: redfish.HealthCritical, Message: "The host does not answer."}}}
		}),
		anyMachine("cp1", "deleted").with(func(m *machine) { m.Power, m.Status.State = redfish.PowerPoweringOff, redfish.StateDisabled }),
		anyMachine("cp1", "override").with(func(m *machine) { m.Boot.Enabled, m.Boot.Target = redfish.BootOnce, redfish.BootCd }),
	}
}

// oddShapes are machines of every make.
func oddShapes() []*machine {
	return []*machine{
		anyMachine("cp1", "bios").with(func(m *machine) { m.Firmware = redfish.Firmware{Version: "1.16.3"} }),
		anyMachine("cp1", "insecure").with(func(m *machine) { m.Firmware.SecureBoot, m.Firmware.SecureNow = false, false }),
		anyMachine("cp1", "arm").with(func(m *machine) { m.Processors.Architecture = "arm64" }),
		anyMachine("cp1", "mainframe").with(func(m *machine) { m.Processors.Architecture = "s390x" }),
		anyMachine("cp1", "no-nics").with(func(m *machine) { m.Interfaces = nil }),
		anyMachine("cp1", "no-disks").with(func(m *machine) { m.Disks, m.Boot.Devices = nil, nil }),
		anyMachine("cp1", "nics").with(func(m *machine) {
			m.Interfaces = []redfish.NetworkInterface{
				{ID: "zulu", MAC: "02:00:00:00:00:0A", Connected: true, Addresses: []string{"10.0.0.6/24", "fd00::6/64", "fe80::1%eth0", "not an address", "0.0.0.0", "::"}},
				{ID: "alfa"}, {ID: "mike", MAC: "02:00:00:00:00:0C", Addresses: []string{"::ffff:10.0.0.7"}},
			}
		}),
		anyMachine("cp1", "disks").with(func(m *machine) {
			m.Disks = []redfish.Disk{
				{ID: "data", Bus: redfish.BusSCSI, CapacityBytes: 1 << 40}, {ID: "unknown", Bus: redfish.BusVirtio},
				{ID: "root", Bus: redfish.BusSATA, CapacityBytes: 20 << 30, SerialNumber: "R"}, {ID: "more", Bus: redfish.BusSCSI, CapacityBytes: 2 << 40},
				{ID: "stick", Bus: redfish.BusUSB, CapacityBytes: 1 << 30}, {ID: "odd", Bus: "nvme", CapacityBytes: 1 << 30},
			}
		}),
		anyMachine("cp1", "unknown-sizes").with(func(m *machine) { m.Disks[0].CapacityBytes = 0 }),
		anyMachine("cp1", "dotted.name.v1"),
		anyMachine("cp1", "named-like-a-chassis"),
		anyMachine("cp1", "legacy").with(func(m *machine) { m.System.ID = "legacy" }),
		bare("cp1", "bare"),
		anyMachine("cp2", "node-0").with(func(m *machine) { m.UUID = "0d4b5a5e-90ce-5c53-a1f5-7d4b66f4b002" }),
	}
}
