package kubevirt

import (
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// plan is what a reset takes: calls in order, none when the wanted state is reached or on its way.
type plan struct {
	calls []call
	// held reports that the power-on is done later, by the worker; the annotation names the task.
	held bool
	// shown is true of a machine that shows the effect; the answer waits for it.
	shown func(*machine) bool
	// refused is why the machine's state does not allow the reset; empty when it does.
	refused string
}

// call is one call to the API server.
type call struct {
	do verb
	// now asks for no grace: the guest is killed instead of asked.
	now bool
	// to is the run strategy for setStrategy.
	to strategy
	// hold is the annotation to write with the call: setStrategy and annotate.
	hold *powerOn
	// keep is the run strategy to remember for the next start, with setStrategy and annotate.
	keep strategy
}

// verb names a call.
type verb string

const (
	start       verb = "start"
	stop        verb = "stop"
	restart     verb = "restart"
	pause       verb = "pause"
	unpause     verb = "unpause"
	setStrategy verb = "set run strategy"
	annotate    verb = "annotate"
	// unrequest takes pending start and stop requests out of the VM's status.
	unrequest verb = "withdraw requests"
	// request puts a start request there, for those who lack the right to the start subresource.
	request verb = "request start"
	// kill deletes the launcher pod, for those who lack the right to the stop subresource.
	kill verb = "delete launcher pod"
)

// allResets are the reset types in the order in which they are listed.
var allResets = []redfish.ResetType{
	redfish.ResetOn, redfish.ResetForceOn, redfish.ResetForceOff, redfish.ResetGracefulShutdown, redfish.ResetGracefulRestart,
	redfish.ResetForceRestart, redfish.ResetPowerCycle, redfish.ResetPushPowerButton, redfish.ResetPause, redfish.ResetResume,
}

// resets are the reset types that the machine accepts: all, whatever state it is in.
func resets(*machine) []redfish.ResetType { return allResets }

// rights are the rights on KubeVirt's subresources that a plan can count on.
type rights struct{ start, stop, restart, killPods bool }

// decide is what the reset takes in the machine's present state. It is a pure function: the tables of its
// tests are the specification.
func decide(m *machine, how redfish.ResetType, at moment) plan {
	d := decision{m: m, how: how, moment: at}
	switch {
	case !m.vm.deleted.IsZero():
		return plan{refused: "The machine is being deleted."}
	case m.vm.strategy == waitAsReceiver:
		return plan{refused: "The machine waits to receive a migration."}
	}
	switch how {
	case redfish.ResetOn, redfish.ResetForceOn:
		return d.on()
	case redfish.ResetForceOff:
		return d.off(true)
	case redfish.ResetGracefulShutdown:
		return d.off(false)
	case redfish.ResetGracefulRestart:
		return d.again(false)
	case redfish.ResetForceRestart, redfish.ResetPowerCycle:
		return d.again(true)
	case redfish.ResetPushPowerButton:
		if m.live() && !m.ending() {
			return d.off(false)
		}
		return d.on()
	case redfish.ResetPause:
		return d.pause()
	case redfish.ResetResume:
		return d.resume()
	default:
		return plan{refused: "The reset type is not known."}
	}
}

// moment is what a decision depends on besides the machine.
type moment struct {
	may rights
	now time.Time
	id  string // for the task of a power-on that has to wait
}

type decision struct {
	m   *machine
	how redfish.ResetType
	moment
}

// hold is the annotation of a power-on that has to wait.
func (d decision) hold() *powerOn {
	return &powerOn{Version: powerOnVersion, ID: d.id, Reset: string(d.how), State: holdWaiting, Since: d.now.UTC().Truncate(time.Second)}
}

// on powers on: at once, or as soon as the instance that is going down has gone.
func (d decision) on() plan {
	m := d.m
	switch {
	case m.hold.waiting():
		return plan{held: true}
	case m.paused() && !m.ending():
		return plan{calls: []call{{do: unpause}}, shown: func(m *machine) bool { return !m.paused() }}
	case m.live() && !m.ending(), m.comesBack():
		return plan{}
	case m.live():
		return plan{held: true, calls: []call{{do: annotate, hold: d.hold()}}, shown: isHeld}
	case m.wanted():
		return plan{}
	case m.vm.strategy == once:
		// The ended instance is in the way: it goes when the machine is Halted, then the power-on follows.
		return plan{held: true, calls: []call{{do: setStrategy, to: halted, keep: once, hold: d.hold()}}, shown: isHeld}
	default:
		return plan{calls: d.startCalls(), shown: func(m *machine) bool { return m.live() || m.wanted() }}
	}
}

// comesBack reports whether the instance that is ending is followed by a new one without further doing.
func (m *machine) comesBack() bool {
	if !m.ending() {
		return false
	}
	// A stop request on a machine that is always on is a restart; without one, a deleted instance is replaced.
	return m.requested(actionStart) || m.vm.strategy == always
}

// startCalls start a machine without a live instance and without a request.
func (d decision) startCalls() []call {
	m, to := d.m, d.m.startStrategy()
	switch {
	case m.vm.strategy != halted && d.may.start:
		return []call{{do: start}}
	case m.vm.strategy != halted:
		return []call{{do: request}}
	case to == always && d.may.start:
		return []call{{do: start}}
	case to == manual && d.may.start:
		return []call{{do: setStrategy, to: manual}, {do: start}}
	case to == manual:
		return []call{{do: setStrategy, to: manual}, {do: request}}
	default:
		return []call{{do: setStrategy, to: to}}
	}
}

// startStrategy is the run strategy that a start gives to a Halted machine.
func (m *machine) startStrategy() strategy {
	for _, to := range []strategy{m.vm.annotations.StoppedRunStrategy, m.vm.annotations.RunStrategy} {
		switch to {
		case always, rerunOnFailure, manual, once:
			return to
		}
	}
	return always
}

// off powers off and gives up a held power-on.
func (d decision) off(now bool) plan {
	m := d.m
	var calls []call
	if m.hold.waiting() {
		calls = append(calls, call{do: annotate, hold: m.hold.ended(holdCancelled, "Cancelled by "+string(d.how)+".", d.now)})
	}
	left := m
	if m.requested(actionStart) {
		// KubeVirt refuses a stop while a start is queued, and a Halted machine with one starts.
		calls = append(calls, call{do: unrequest})
		left = m.withoutRequests()
	}
	switch {
	case !left.live() && !left.wanted():
	case left.live() && m.ending() && !m.comesBack() && (!now || m.vmi.hardware.grace == 0):
	default:
		calls = append(calls, d.stopCalls(now)...)
	}
	if calls == nil {
		return plan{}
	}
	return plan{calls: calls, shown: func(m *machine) bool {
		return !m.hold.waiting() && (!m.live() || m.ending()) && !m.wantedSoon()
	}}
}

// withoutRequests is the machine as it is when its VM's pending requests are withdrawn.
func (m *machine) withoutRequests() *machine {
	vm, left := *m.vm, *m
	vm.requests = nil
	left.vm = &vm
	return &left
}

// wantedSoon reports whether an instance is made or kept without further doing.
func (m *machine) wantedSoon() bool { return !m.live() && m.wanted() || m.comesBack() }

// stopCalls stop the instance, or keep one from being made.
func (d decision) stopCalls(now bool) []call {
	m := d.m
	if !d.may.stop {
		return d.stopWithoutRight(now)
	}
	if m.vm.strategy == once {
		// The subresource makes the machine Halted and forgets what it was.
		if !m.live() || !now {
			return []call{{do: setStrategy, to: halted, keep: once}}
		}
		return []call{{do: annotate, keep: once}, {do: stop, now: true}}
	}
	if !m.live() && m.vm.strategy == rerunOnFailure {
		return []call{{do: setStrategy, to: halted, keep: rerunOnFailure}} // the subresource needs an instance
	}
	return []call{{do: stop, now: now && m.live()}}
}

// stopWithoutRight stops by the run strategy alone, remembering the user's, and kills the launcher pod when
// the guest is not to be asked.
func (d decision) stopWithoutRight(now bool) []call {
	m := d.m
	var calls []call
	if m.vm.strategy != halted {
		to := call{do: setStrategy, to: halted}
		if m.vm.strategy != always {
			to.keep = m.vm.strategy
		}
		calls = append(calls, to)
	}
	if now && m.live() && d.may.killPods {
		calls = append(calls, call{do: kill})
	}
	return calls
}

// again restarts: with a new instance, so that changes of the definition apply. A machine that is off is
// powered on.
func (d decision) again(now bool) plan {
	m := d.m
	switch {
	case !m.live():
		return d.on()
	case m.ending():
		return d.onAfter(now)
	case m.vm.strategy == once:
		calls := []call{{do: setStrategy, to: halted, keep: once, hold: d.hold()}}
		if now {
			calls = append(calls, call{do: stop, now: true})
		}
		return plan{held: true, calls: calls, shown: isHeld}
	case !d.may.restart:
		stops := d.stopWithoutRight(now)
		stops[0].hold = d.hold()
		return plan{held: true, calls: stops, shown: isHeld}
	default:
		uid := m.vmi.uid
		return plan{calls: []call{{do: restart, now: now}}, shown: func(m *machine) bool {
			return m.vmi == nil || m.vmi.uid != uid || m.ending()
		}}
	}
}

// onAfter powers on once the instance that is ending has gone, which is now forced if asked.
func (d decision) onAfter(now bool) plan {
	m := d.m
	p := d.on()
	forced := now && m.vmi.hardware.grace != 0
	switch {
	case !forced:
	case m.comesBack() && m.requested(actionStart) && d.may.restart:
		// A graceful restart is under way: begin it anew without grace.
		p = plan{calls: []call{{do: unrequest}, {do: restart, now: true}}}
	case m.comesBack() && d.may.restart:
		p = plan{calls: []call{{do: restart, now: true}}}
	case !m.comesBack() && d.may.stop:
		p.calls = append(p.calls, call{do: stop, now: true})
	case d.may.killPods:
		p.calls = append(p.calls, call{do: kill})
	}
	return p
}

func (d decision) pause() plan {
	m := d.m
	switch {
	case m.paused():
		return plan{}
	case !m.live() || m.ending() || m.vmi.phase != phaseRunning:
		return plan{refused: "Only a running machine can be paused."}
	}
	return plan{calls: []call{{do: pause}}, shown: (*machine).paused}
}

func (d decision) resume() plan {
	m := d.m
	switch {
	case m.paused() && !m.ending():
		return plan{calls: []call{{do: unpause}}, shown: func(m *machine) bool { return !m.paused() }}
	case m.live() && !m.ending() && m.vmi.phase == phaseRunning:
		return plan{}
	}
	return plan{refused: "Only a paused machine can be resumed."}
}

func isHeld(m *machine) bool { return m.hold.waiting() }
