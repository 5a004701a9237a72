package guest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/guest"
)

func TestFirmwareBootsTheFirstBootableCandidate(t *testing.T) {
	disk := func(order uint, c guest.Content) guest.Device {
		return guest.Device{Name: "disk", Kind: guest.Disk, Order: order, Content: c}
	}
	cd := func(order uint, c guest.Content) guest.Device {
		return guest.Device{Name: "cd", Kind: guest.CDROM, Order: order, Content: c}
	}
	nic := func(order uint, c guest.Content) guest.Device {
		return guest.Device{Name: "nic", Kind: guest.NIC, Order: order, Content: c}
	}
	for name, tc := range map[string]struct {
		firmware guest.Firmware
		devices  []guest.Device
		outcome  guest.Outcome
		device   string
	}{
		"blank disk falls through to the CD":        {guest.BIOS, []guest.Device{disk(1, guest.Blank), cd(2, guest.Live)}, guest.Booted, "cd"},
		"labelled disk hangs BIOS":                  {guest.BIOS, []guest.Device{disk(1, guest.Labelled), cd(2, guest.Live)}, guest.Hung, "disk"},
		"labelled disk does not hang UEFI":          {guest.UEFI, []guest.Device{disk(1, guest.Labelled), cd(2, guest.Live)}, guest.Booted, "cd"},
		"installed disk first":                      {guest.UEFI, []guest.Device{disk(1, guest.OS), cd(2, guest.Live)}, guest.Booted, "disk"},
		"CD first, listed last":                     {guest.UEFI, []guest.Device{disk(2, guest.OS), cd(1, guest.Live)}, guest.Booted, "cd"},
		"empty tray is skipped":                     {guest.BIOS, []guest.Device{disk(2, guest.OS), cd(1, guest.Empty)}, guest.Booted, "disk"},
		"data CD is skipped":                        {guest.UEFI, []guest.Device{disk(2, guest.OS), cd(1, guest.Data)}, guest.Booted, "disk"},
		"CD without an order is never tried":        {guest.UEFI, []guest.Device{disk(1, guest.Blank), cd(0, guest.Live)}, guest.Nothing, ""},
		"no order at all means the first disk only": {guest.BIOS, []guest.Device{cd(0, guest.Live), disk(0, guest.OS)}, guest.Booted, "disk"},
		"no order, blank disk, never the CD":        {guest.BIOS, []guest.Device{disk(0, guest.Blank), cd(0, guest.Live)}, guest.Nothing, ""},
		"network answers":                           {guest.UEFI, []guest.Device{nic(1, guest.Live), disk(2, guest.OS)}, guest.Booted, "nic"},
		"network does not answer":                   {guest.UEFI, []guest.Device{nic(1, guest.Empty), disk(2, guest.OS)}, guest.Booted, "disk"},
		"no device":                                 {guest.UEFI, nil, guest.Nothing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := guest.Machine{Firmware: tc.firmware, Devices: tc.devices}.Boot()
			require.Equal(t, tc.outcome, b.Outcome)
			require.Equal(t, tc.device, b.Device.Name)
		})
	}
}

var (
	installed = guest.Machine{Devices: []guest.Device{{Name: "root", Kind: guest.Disk, Content: guest.OS}}}
	blank     = guest.Machine{Devices: []guest.Device{{Name: "root", Kind: guest.Disk, Content: guest.Blank}}}
	slow      = guest.Behaviour{Boot: 10 * time.Second, Agent: 5 * time.Second, Shutdown: 3 * time.Second}
)

func at(seconds int) time.Time { return time.Unix(1000, 0).Add(time.Duration(seconds) * time.Second) }

func TestGuestLifeFollowsItsDelays(t *testing.T) {
	g := guest.Start(installed, slow, at(0))
	require.Equal(t, guest.Starting, g.State(at(9)))
	require.Equal(t, at(10), g.NextChange(at(0)))
	require.Equal(t, guest.Up, g.State(at(10)))
	require.False(t, g.Agent(at(14)))
	require.True(t, g.Agent(at(15)))
	require.Zero(t, g.NextChange(at(15)))

	g.PowerButton(at(20))
	g.PowerButton(at(22)) // pressing again changes nothing
	require.Equal(t, guest.ShuttingDown, g.State(at(22)))
	require.Equal(t, at(23), g.NextChange(at(20)))
	require.Equal(t, guest.Off, g.State(at(23)))
	require.False(t, g.Agent(at(23)))
}

func TestPowerButton(t *testing.T) {
	deaf, crashing := slow, slow
	deaf.IgnoreACPI = true
	crashing.Crash, crashing.CrashAfter = true, time.Second
	for name, tc := range map[string]struct {
		machine   guest.Machine
		behaviour guest.Behaviour
		pressed   int
		when      int
		want      guest.State
	}{
		"during boot is obeyed once up":  {installed, slow, 2, 12, guest.ShuttingDown},
		"during boot, then off":          {installed, slow, 2, 13, guest.Off},
		"ignored":                        {installed, deaf, 20, 1000, guest.Up},
		"nothing booted, nobody listens": {blank, slow, 20, 1000, guest.Starting},
		"crash comes first":              {installed, crashing, 10, 1000, guest.Crashed},
		"shutdown comes before a crash":  {installed, guest.Behaviour{Crash: true, CrashAfter: 5 * time.Second}, 1, 1000, guest.Off},
	} {
		t.Run(name, func(t *testing.T) {
			g := guest.Start(tc.machine, tc.behaviour, at(0))
			g.PowerButton(at(tc.pressed))
			require.Equal(t, tc.want, g.State(at(tc.when)))
		})
	}
}

func TestResetBootsAgainInTheSameMachine(t *testing.T) {
	g := guest.Start(installed, slow, at(0))
	g.PowerButton(at(1))
	g.Reset(at(5))
	require.Equal(t, 2, g.Boots())
	require.Equal(t, guest.Starting, g.State(at(14)))
	require.Equal(t, guest.Up, g.State(at(100)), "the reset forgets the button")
}

func TestResetEndsAMachineThatTerminates(t *testing.T) {
	m := installed
	m.TerminateOnReboot = true
	g := guest.Start(m, slow, at(0))
	g.Reset(at(5))
	require.Equal(t, guest.Off, g.State(at(5)))
	g.Reset(at(6))
	require.Equal(t, 1, g.Boots())
}

func TestSoftRebootNeedsSomebodyWhoListens(t *testing.T) {
	mute := slow
	mute.NoAgent, mute.IgnoreACPI = true, true
	g := guest.Start(installed, mute, at(0))
	g.SoftReboot(at(20))
	require.Equal(t, 1, g.Boots())
	g = guest.Start(installed, slow, at(0))
	g.SoftReboot(at(20))
	require.Equal(t, 2, g.Boots())
}

func TestPauseStopsTheGuestsClock(t *testing.T) {
	g := guest.Start(installed, slow, at(0))
	g.Pause(at(4))
	require.Zero(t, g.NextChange(at(5)))
	require.Equal(t, guest.Starting, g.State(at(100)))
	g.Resume(at(100))
	require.Equal(t, at(106), g.NextChange(at(100)))
	require.Equal(t, guest.Up, g.State(at(106)))
}

func TestPausedGuestHearsNothingUntilItGoesOn(t *testing.T) {
	g := guest.Start(installed, guest.Behaviour{}, at(0))
	g.Pause(at(1))
	g.PowerButton(at(2))
	g.Reset(at(3))
	require.Equal(t, guest.Up, g.State(at(50)))
	require.Equal(t, 1, g.Boots())
	g.Resume(at(50))
	require.Equal(t, 2, g.Boots())

	g = guest.Start(installed, guest.Behaviour{}, at(0))
	g.Pause(at(1))
	g.PowerButton(at(2))
	g.Resume(at(50))
	require.Equal(t, guest.Off, g.State(at(51)))
}

func TestEndIsFinal(t *testing.T) {
	g := guest.Start(installed, slow, at(0))
	g.End(guest.Crashed)
	g.End(guest.Off)
	require.Equal(t, guest.Crashed, g.State(at(1)))
	require.False(t, g.Agent(at(100)))
}
