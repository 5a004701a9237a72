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

// on powers on: at once, or as soon as the instance that is in the way has gone.
func (d decision) on() plan {
	m := d.m
	switch {
	case m.hold.waiting():
		return plan{held: true}
	case m.paused() && !m.ending():
		return plan{calls: []call{{do: unpause}}, shown: func(m *machine) bool { return !m.paused() }}
	case m.live() && !m.ending(), m.comesBack(), !m.live() && m.wanted():
		return plan{}
	case m.vm.strategy == once:
		// The ended instance stays until the machine is Halted.
		return d.held(call{do: setStrategy, to: halted, keep: once})
	case m.live(), m.blocked():
		return d.held(call{do: annotate})
	default:
		return plan{calls: d.startCalls(), shown: func(m *machine) bool {
			return m.live() && !m.ending() || !m.live() && m.wanted()
		}}
	}
}

// held is a plan after which the worker powers on as soon as it can. The last call, which writes to the VM, says
// so on it unless that stands there already. Nothing may follow: a stop that the worker overtakes would hit the
// machine that it has powered on.
func (d decision) held(calls ...call) plan {
	if len(calls) == 0 || calls[len(calls)-1].do == stop || calls[len(calls)-1].do == kill {
		calls = append(calls, call{do: annotate})
	}
	last, id := &calls[len(calls)-1], d.id
	if d.m.hold.waiting() {
		id = d.m.hold.ID
	}
	switch {
	case !d.m.hold.waiting():
		last.hold = &powerOn{
			Version: powerOnVersion, ID: id, Reset: string(d.how), State: holdWaiting, Since: d.now.UTC().Truncate(time.Second),
		}
	case len(calls) == 1 && last.do == annotate:
		calls = nil
	default:
		last.hold = d.m.hold // tests that it has not been done meanwhile
	}
	return plan{held: true, calls: calls, shown: func(m *machine) bool {
		return m.hold.waiting() || m.hold != nil && m.hold.ID == id
	}}
}

// startCalls start a machine without a live instance and without a request.
func (d decision) startCalls() []call {
	m, to := d.m, d.m.startStrategy()
	byRequest := call{do: start}
	if !d.may.start || len(m.vm.requests) > 0 { // the subresource refuses while the last stop request still stands
		byRequest.do = request
	}
	switch {
	case m.vm.strategy != halted:
		return []call{byRequest}
	case to == always && d.may.start:
		return []call{{do: start}}
	case m.startsByRequest(to):
		return []call{{do: setStrategy, to: to}, byRequest}
	default:
		return []call{{do: setStrategy, to: to}}
	}
}

// off powers off and gives up a held power-on.
func (d decision) off(now bool) plan {
	left, onItsWay := d.m, false
	var calls []call
	if left.hold.waiting() {
		calls = append(calls, call{do: annotate, hold: left.hold.ended(holdCancelled, "Cancelled by "+string(d.how)+".", d.now)})
	}
	if left.requested(actionStart) && !d.stopReplacesRequests(now) {
		// A Halted machine with a start request is started: virt-controller makes it Always.
		calls = append(calls, call{do: unrequest})
		// virt-controller may have read the request: only Halted keeps an instance off that it is about to make.
		onItsWay = d.startsLater()
		left = left.withoutRequests()
	}
	if onItsWay || !left.goesOff() || now && d.canForce() {
		calls = append(calls, d.stopCalls(now)...)
	}
	if calls == nil {
		return plan{}
	}
	return plan{calls: calls, shown: func(m *machine) bool { return !m.hold.waiting() && m.goesOff() }}
}

// stopReplacesRequests reports whether the stop subresource puts its request in the place of pending ones
// (pkg/virt-api/rest/lifecycle.go: getChangeRequestJson).
func (d decision) stopReplacesRequests(now bool) bool {
	m := d.m
	if !d.may.stop || !m.live() {
		return false
	}
	return m.vm.strategy == manual || m.vm.strategy == rerunOnFailure || m.vm.strategy == halted && now && m.graceLeft()
}

// startsLater reports whether a start makes an instance of a machine that is stopped by a request, which needs one.
func (d decision) startsLater() bool {
	m := d.m
	return !m.live() && !m.startIgnored() && (m.vm.strategy == manual || m.vm.strategy == rerunOnFailure)
}

// stopCalls stop the instance, or keep one from being made.
func (d decision) stopCalls(now bool) []call {
	m := d.m
	switch {
	case !d.may.stop, m.vm.strategy == once:
		return d.halt(now) // the subresource makes a Once machine Halted too, and forgets what it was
	case d.startsLater():
		return d.halt(now) // the subresource needs an instance
	default:
		return []call{{do: stop, now: now && m.live()}}
	}
}

// halt stops by the run strategy, remembering the user's.
func (d decision) halt(now bool) []call {
	var calls []call
	switch d.m.vm.strategy {
	case halted:
	case always:
		calls = append(calls, call{do: setStrategy, to: halted})
	default:
		calls = append(calls, call{do: setStrategy, to: halted, keep: d.m.vm.strategy})
	}
	if now {
		calls = append(calls, d.force()...)
	}
	return calls
}

// canForce reports whether the end of the instance can still be hastened.
func (d decision) canForce() bool {
	return d.m.live() && d.m.graceLeft() && (d.may.stop || d.may.killPods)
}

// force ends an instance at once that is ending, or will be after the calls before.
func (d decision) force() []call {
	switch {
	case !d.canForce():
		return nil
	case d.may.stop:
		return []call{{do: stop, now: true}}
	default:
		return []call{{do: kill}}
	}
}

// again restarts: with a new instance, so that changes of the definition apply. A machine that is off is
// powered on.
func (d decision) again(now bool) plan {
	m := d.m
	switch {
	case !m.live(), m.ending() && !(now && m.graceLeft()):
		return d.on()
	case m.vm.strategy == once:
		return d.held(d.halt(now)...)
	case m.ending() && m.vm.strategy == always:
		return plan{calls: d.forceRestart(), held: m.hold.waiting(), shown: d.restarts()}
	case m.ending():
		return d.held(d.force()...)
	case !d.may.restart:
		return d.held(d.halt(now)...)
	default:
		return plan{calls: []call{{do: restart, now: now}}, shown: d.restarts()}
	}
}

// restarts is true of a machine that shows the restart of its instance. That the instance ends is not enough: a
// power-off that follows must see the request for the next one too, which comes by another watch.
func (d decision) restarts() func(*machine) bool {
	uid, requests := d.m.vmi.uid, d.may.restart
	return func(m *machine) bool { return !requests || m.requested(actionStart) || m.live() && m.vmi.uid != uid }
}

// forceRestart hastens the end of the instance of a machine that is always on, and so comes back.
func (d decision) forceRestart() []call {
	switch {
	case !d.may.restart && d.may.killPods:
		return []call{{do: kill}}
	case !d.may.restart:
		return nil
	case d.m.requested(actionStart): // KubeVirt takes one restart at a time
		return []call{{do: unrequest}, {do: restart, now: true}}
	default:
		return []call{{do: restart, now: true}}
	}
}

func (d decision) pause() plan {
	m := d.m
	switch {
	case m.paused() && !m.ending():
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
