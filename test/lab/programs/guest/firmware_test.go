package guest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
)

// machine is a VMI with a disk "root", a CD "cd" and a NIC "nic"; order 0 is none. A medium of "" leaves the drive empty.
type machine struct {
	disk, cd, nic uint
	diskState     string
	medium        string
	notMounted    bool
	annotations   map[string]string
}

func (m machine) vmi() *v1.VirtualMachineInstance {
	order := func(o uint) *uint {
		if o == 0 {
			return nil
		}
		return &o
	}
	vmi := &v1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Annotations: m.annotations}}
	vmi.Spec.Domain.Devices = v1.Devices{
		Disks: []v1.Disk{
			{Name: "cd", BootOrder: order(m.cd), DiskDevice: v1.DiskDevice{CDRom: &v1.CDRomTarget{Bus: v1.DiskBusSATA}}},
			{Name: "root", BootOrder: order(m.disk), DiskDevice: v1.DiskDevice{Disk: &v1.DiskTarget{Bus: v1.DiskBusVirtio}}},
		},
		Interfaces: []v1.Interface{{Name: "nic", BootOrder: order(m.nic)}},
	}
	vmi.Spec.Volumes = []v1.Volume{{Name: "root", VolumeSource: v1.VolumeSource{DataVolume: &v1.DataVolumeSource{Name: "root"}}}}
	if m.medium != "" {
		vmi.Spec.Volumes = append(vmi.Spec.Volumes, v1.Volume{Name: "cd", VolumeSource: v1.VolumeSource{DataVolume: &v1.DataVolumeSource{Name: "iso", Hotpluggable: true}}})
		if !m.notMounted {
			vmi.Status.VolumeStatus = []v1.VolumeStatus{{Name: "cd", Phase: v1.VolumeReady}}
		}
	}
	return vmi
}

func (m machine) claim(name string) *corev1.PersistentVolumeClaim {
	return map[string]*corev1.PersistentVolumeClaim{
		"root": {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{knob.DiskState: m.diskState}}},
		"iso":  {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{knob.ISO: m.medium}}},
	}[name]
}

func TestFirmwareBootsTheFirstDeviceInOrderThatHoldsSomething(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine machine
		want    guest.Boot
	}{
		"lowest order first":            {machine{disk: 2, cd: 1, diskState: "installed", medium: "live"}, guest.Boot{From: "cdrom0", Device: "cd", Program: "live"}},
		"disk first":                    {machine{disk: 1, cd: 2, diskState: "installed", medium: "live"}, guest.Boot{From: "rootdisk", Device: "root"}},
		"blank disk is skipped":         {machine{disk: 1, cd: 2, medium: "live"}, guest.Boot{From: "cdrom0", Device: "cd", Program: "live"}},
		"empty drive is skipped":        {machine{disk: 2, cd: 1, diskState: "installed"}, guest.Boot{From: "rootdisk", Device: "root"}},
		"medium not mounted is skipped": {machine{disk: 2, cd: 1, diskState: "installed", medium: "live", notMounted: true}, guest.Boot{From: "rootdisk", Device: "root"}},
		"data CD is skipped":            {machine{disk: 2, cd: 1, diskState: "installed", medium: "data"}, guest.Boot{From: "rootdisk", Device: "root"}},
		"CD without an order is never tried, not even after a blank disk": {
			machine{disk: 1, medium: "live"}, guest.Boot{From: "none"}},
		"without any order only the first disk": {machine{diskState: "installed", medium: "live"}, guest.Boot{From: "rootdisk", Device: "root"}},
		"network without an answer is skipped":  {machine{nic: 1, disk: 2, diskState: "installed"}, guest.Boot{From: "rootdisk", Device: "root"}},
		"network with an answer": {
			machine{nic: 1, disk: 2, diskState: "installed", annotations: map[string]string{knob.PXE: "installer after=1s"}},
			guest.Boot{From: "net0", Device: "nic", Program: "installer after=1s"}},
		"annotation of the VMI overrides the medium": {
			machine{cd: 1, medium: "live", annotations: map[string]string{knob.ISO + ".cd": "installer"}},
			guest.Boot{From: "cdrom0", Device: "cd", Program: "installer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, guest.Firmware(c.machine.vmi(), c.machine.claim))
		})
	}
}

func TestContainerDiskIsInstalledUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	vmi := machine{}.vmi()
	vmi.Spec.Volumes[0].VolumeSource = v1.VolumeSource{ContainerDisk: &v1.ContainerDiskSource{}}
	require.Equal(t, "rootdisk", guest.Firmware(vmi, machine{}.claim).From)
	vmi.Annotations = map[string]string{knob.DiskState + ".root": "blank"}
	require.Equal(t, "none", guest.Firmware(vmi, machine{}.claim).From)
}

func TestRecordCountsBootsAndForgetsTheAgent(t *testing.T) {
	t.Parallel()
	vmi, at := &v1.VirtualMachineInstance{}, time.Unix(1000, 0)
	guest.AddCondition(vmi, v1.VirtualMachineInstanceAgentConnected, "", "")
	require.Equal(t, `boot=1 from=cdrom0 device=cd program="live" why=start`, guest.Record(vmi, guest.Boot{From: "cdrom0", Device: "cd", Program: "live"}, at, "start"))
	require.False(t, guest.HasCondition(vmi, v1.VirtualMachineInstanceAgentConnected))
	require.Equal(t, 5*time.Second, guest.Uptime(vmi, at.Add(5*time.Second)))
	require.Contains(t, guest.Record(vmi, guest.Boot{From: "none"}, at, "reset"), "boot=2 from=none")
}

func TestParseProgram(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]guest.Program{
		"":     {Kind: "live", Then: "reboot", After: 5 * time.Second},
		"data": {Kind: "data", Then: "reboot", After: 5 * time.Second},
		"installer after=2s then=poweroff disk=root": {Kind: "installer", Then: "poweroff", After: 2 * time.Second, Disk: "root"},
		"installer after=soon what=ever":             {Kind: "installer", Then: "reboot", After: 5 * time.Second},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, guest.ParseProgram(text))
		})
	}
}

func TestWhoHearsACPI(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		phase       v1.VirtualMachineInstancePhase
		annotations map[string]string
		paused      bool
		want        bool
	}{
		"running":            {v1.Running, nil, false, true},
		"not running yet":    {v1.Scheduled, map[string]string{knob.IgnoreACPI: "true"}, false, true},
		"told to ignore it":  {v1.Running, map[string]string{knob.IgnoreACPI: "true"}, false, false},
		"hanging":            {v1.Running, map[string]string{knob.Guest: "hang"}, false, false},
		"nothing was booted": {v1.Running, map[string]string{knob.BootedFrom: "none"}, false, false},
		"paused":             {v1.Running, nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vmi := &v1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}}
			vmi.Status.Phase = c.phase
			if c.paused {
				guest.AddCondition(vmi, v1.VirtualMachineInstancePaused, "", "")
			}
			require.Equal(t, c.want, guest.HearsACPI(vmi))
		})
	}
}
