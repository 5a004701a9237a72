package guest

import "time"

// Behaviour is how a guest acts. The zero value boots at once, shuts down at once and has an agent.
type Behaviour struct {
	// Boot is the time from power or reset until the operating system is up and hears ACPI.
	Boot time.Duration
	// Agent is the time from then until the guest agent answers.
	Agent time.Duration
	// Shutdown is the time from the ACPI button until power is off.
	Shutdown time.Duration
	// NoAgent is a guest without an agent.
	NoAgent bool
	// IgnoreACPI is a guest that never reacts to the power button.
	IgnoreACPI bool
	// StartFail is a machine whose hypervisor process fails before the guest runs.
	StartFail bool
	// Crash ends the guest after every boot, CrashAfter its operating system is up.
	Crash      bool
	CrashAfter time.Duration
}

// State is how a guest is seen from outside.
type State string

// The states. Off is a clean end, Crashed is a panic of the guest.
const (
	Starting     State = "starting" // firmware and boot
	Up           State = "up"
	ShuttingDown State = "shutting down"
	Off          State = "off"
	Crashed      State = "crashed"
)

// Final tells whether the guest has ended.
func (s State) Final() bool { return s == Off || s == Crashed }

// Guest is one life of a machine, from power on until it ends. It is not safe for concurrent use.
// All times given to its methods must not go back.
type Guest struct {
	machine   Machine
	behaviour Behaviour

	boot    Boot
	boots   int
	booted  time.Time // power or the last reset
	pressed time.Time // the ACPI button
	paused  time.Time // zero while running
	reset   bool      // a reset came while paused
	ended   State
}

// Behave replaces how the guest acts, also on what it has not finished yet.
func (g *Guest) Behave(b Behaviour) { g.behaviour = b }

// Start gives power to a machine.
func Start(m Machine, b Behaviour, now time.Time) *Guest {
	g := &Guest{machine: m, behaviour: b}
	g.bootAgain(now)
	return g
}

func (g *Guest) bootAgain(now time.Time) {
	g.boot = g.machine.Boot()
	g.boots++
	g.booted, g.pressed = now, time.Time{}
}

// BootedFrom is what the firmware found at the last boot.
func (g *Guest) BootedFrom() Boot { return g.boot }

// Boots counts power on and every reset since.
func (g *Guest) Boots() int { return g.boots }

// State is the guest's state at a time.
func (g *Guest) State(now time.Time) State {
	if g.ended != "" {
		return g.ended
	}
	now = g.guestTime(now)
	switch {
	case g.reached(g.crashAt(), now) && !g.offBefore(g.crashAt()):
		return Crashed
	case g.reached(g.offAt(), now):
		return Off
	case g.reached(g.pressed, now) && g.hearsACPI() && !now.Before(g.upAt()):
		return ShuttingDown
	case g.boot.Outcome == Booted && !now.Before(g.upAt()):
		return Up
	}
	return Starting
}

// Agent tells whether the guest agent answers at a time. Only an installed system brings one.
func (g *Guest) Agent(now time.Time) bool {
	return !g.State(now).Final() && g.reached(g.agentAt(), g.guestTime(now))
}

// NextChange is when State or Agent will change by itself, zero when never.
func (g *Guest) NextChange(now time.Time) time.Time {
	if g.State(now).Final() || !g.paused.IsZero() {
		return time.Time{}
	}
	var next time.Time
	for _, t := range []time.Time{g.upAt(), g.agentAt(), g.crashAt(), g.offAt()} {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// PowerButton asks the guest to shut down, by ACPI or through its agent. Pressing again has no effect;
// a guest that is still booting acts once it is up, since the host repeats its request, and a paused one once
// it goes on.
func (g *Guest) PowerButton(now time.Time) {
	switch {
	case !g.pressed.IsZero():
	case !g.paused.IsZero():
		g.pressed = g.paused.Add(1)
	default:
		g.pressed = now
	}
}

// Reset is a hardware reset or the guest's own reboot: everything boots again in the same process, with
// the machine as it was at the start, unless the machine terminates on reboot. A paused guest boots once it
// goes on.
func (g *Guest) Reset(now time.Time) {
	if g.State(now).Final() {
		return
	}
	switch {
	case g.machine.TerminateOnReboot:
		g.ended = Off
	case !g.paused.IsZero():
		g.reset = true
	default:
		g.bootAgain(now)
	}
}

// SoftReboot is the power button used to reboot: ignored by a guest that does not hear it and has no agent.
func (g *Guest) SoftReboot(now time.Time) {
	if g.Agent(now) || (g.State(now) == Up && g.hearsACPI()) {
		g.Reset(now)
	}
}

// End ends the guest now: Off for its own clean poweroff, Crashed for a panic.
func (g *Guest) End(how State) {
	if g.ended == "" {
		g.ended = how
	}
}

// Pause stops the guest's clock.
func (g *Guest) Pause(now time.Time) {
	if g.paused.IsZero() {
		g.paused = now
	}
}

// Resume lets the guest go on where it was.
func (g *Guest) Resume(now time.Time) {
	if g.paused.IsZero() {
		return
	}
	stood := now.Sub(g.paused)
	g.paused = time.Time{}
	if g.reset {
		g.reset = false
		g.bootAgain(now)
		return
	}
	g.booted = g.booted.Add(stood)
	if !g.pressed.IsZero() {
		g.pressed = g.pressed.Add(stood)
	}
}

// guestTime is the time as the guest sees it: it stands still while paused.
func (g *Guest) guestTime(now time.Time) time.Time {
	if !g.paused.IsZero() {
		return g.paused
	}
	return now
}

func (g *Guest) reached(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

func (g *Guest) offBefore(at time.Time) bool { return g.reached(g.offAt(), at) }

func (g *Guest) hearsACPI() bool { return g.boot.Outcome == Booted && !g.behaviour.IgnoreACPI }

func (g *Guest) upAt() time.Time { return g.booted.Add(g.behaviour.Boot) }

func (g *Guest) agentAt() time.Time {
	if g.behaviour.NoAgent || g.boot.Outcome != Booted || g.boot.Device.Kind != Disk {
		return time.Time{}
	}
	return g.upAt().Add(g.behaviour.Agent)
}

func (g *Guest) crashAt() time.Time {
	if !g.behaviour.Crash || g.boot.Outcome != Booted {
		return time.Time{}
	}
	return g.upAt().Add(g.behaviour.CrashAfter)
}

func (g *Guest) offAt() time.Time {
	if g.pressed.IsZero() || !g.hearsACPI() {
		return time.Time{}
	}
	from := g.pressed
	if up := g.upAt(); from.Before(up) {
		from = up
	}
	return from.Add(g.behaviour.Shutdown)
}
