package kubevirt

import "time"

// machine is one VirtualMachine with its instance, in one state. It is immutable: the store replaces it on
// every change.
type machine struct {
	key
	vm  *vmRecord  // nil while only an instance of that name exists
	vmi *vmiRecord // nil while there is none
	// version grows with every change of this machine over all machines.
	version uint64
	// chassis are the indexes of the configured chassis that contain the machine, ascending.
	chassis []int
	hold    *powerOn // parsed annotation, nil without
	// stopping is the UID of an instance for which a stop was requested. It stays until that instance is gone,
	// since the request disappears from the VM, which another watch brings, before the instance does.
	stopping string
	// born tells an instance that the VM's watch has yet to explain.
	born birth
	// unseen says that a start is done, by what the VM says, whose instance the other watch has yet to bring.
	unseen bool
	// wasReady is the UID of the instance that has been seen Ready.
	wasReady string
	// expanded is the template with its instance type applied; nil when not known or not needed. expandedFor
	// is the expansion of the VM that it was made from.
	expanded    *hardware
	expandedFor expansion
}

// live reports whether there is an instance that has not ended.
func (m *machine) live() bool { return m.vmi != nil && !m.vmi.final() }

// requested reports whether the VM's status asks virt-controller for the action.
func (m *machine) requested(action string) bool {
	for _, r := range m.vm.requests {
		if r.action == action && (action == actionStart || m.vmi != nil && r.uid == m.vmi.uid) {
			return true
		}
	}
	return false
}

// Actions of a VM's stateChangeRequests.
const (
	actionStart = "Start"
	actionStop  = "Stop"
)

// ending reports whether a live instance is on its way down.
func (m *machine) ending() bool {
	return m.live() && (!m.vmi.deleted.IsZero() || m.vmi.uid == m.stopping || m.vm.strategy == halted && !m.ahead())
}

// birth is an instance and, if it was new when it was first seen and newer than the VM, the version of the VM that
// was known then.
type birth struct {
	uid string
	vm  uint64
}

// ahead reports whether the instance was made for a later state of the VM than is known: no Halted machine gets a
// new one, so the VM was started meanwhile, and its watch lags behind that of the instances.
func (m *machine) ahead() bool {
	return m.vmi != nil && m.born.vm != 0 && m.born == birth{m.vmi.uid, m.vm.version}
}

// wanted reports whether KubeVirt will make an instance when there is none or the present one has ended
// (pkg/virt-controller/watch/vm: syncRunStrategy).
func (m *machine) wanted() bool {
	if m.unseen || m.requested(actionStart) && !m.startIgnored() {
		return true
	}
	switch m.vm.strategy {
	case always:
		return true
	case once:
		return m.vmi == nil || !m.vmi.deleted.IsZero()
	case rerunOnFailure:
		if m.vmi != nil {
			return m.vmi.phase == phaseFailed && m.vmi.uid != m.stopping
		}
		return m.vm.statusStrategy != rerunOnFailure
	default:
		return false
	}
}

// comesBack reports whether the instance that is ending is followed by a new one without further doing. A
// stop request on a machine that is always on is a restart; a deleted instance is replaced there.
func (m *machine) comesBack() bool {
	return m.ending() && (m.requested(actionStart) || m.vm.strategy == always || m.vm.strategy == once)
}

// goesOff reports whether the machine is off, or will be, without further doing.
func (m *machine) goesOff() bool {
	if m.live() {
		return m.ending() && !m.comesBack()
	}
	return !m.wanted()
}

// graceLeft reports whether the live instance is given more time to end than KubeVirt's restart without grace
// gives, which is a second.
func (m *machine) graceLeft() bool {
	grace := m.vmi.hardware.grace
	return grace < 0 || grace > 1
}

// withoutRequests is the machine as it is when its VM's pending requests are withdrawn.
func (m *machine) withoutRequests() *machine {
	vm, left := *m.vm, *m
	vm.requests = nil
	left.vm, left.stopping = &vm, ""
	return &left
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

// blocked reports whether an ended instance has to go, which it does by itself, before a start can act:
// RerunOnFailure and Once leave off a machine whose instance has ended, and KubeVirt refuses a start on a
// failed one.
func (m *machine) blocked() bool {
	if m.vmi == nil || m.live() {
		return false
	}
	if m.vm.strategy == halted {
		to := m.startStrategy()
		return to == once || to == rerunOnFailure
	}
	return m.vm.strategy == rerunOnFailure && m.vmi.phase == phaseFailed
}

// startsByRequest reports whether a Halted machine that is given the strategy needs a start request too. A
// change to RerunOnFailure starts it only when virt-controller has seen it otherwise.
func (m *machine) startsByRequest(to strategy) bool {
	return to == manual || to == rerunOnFailure && m.vm.statusStrategy == rerunOnFailure
}

// startIgnored reports whether a start request stands that nobody serves: with Manual an ended instance stays
// until a stop is requested for it, and a guest that ends early leaves the request that started it behind.
func (m *machine) startIgnored() bool {
	return m.vm.strategy == manual && m.vmi != nil && m.vmi.final() && m.vmi.deleted.IsZero() && m.vmi.uid != m.stopping
}

// paused reports whether the running guest is paused.
func (m *machine) paused() bool {
	return m.live() && m.vmi.phase == phaseRunning && isTrue(m.vmi.conditions, "Paused")
}

// hardware is what the guest sees now, or would see after a start; nil when it is not known yet.
func (m *machine) hardware() *hardware {
	switch {
	case m.vmi != nil && !m.vmi.final():
		return &m.vmi.hardware
	case m.vm.instancetype == "" && m.vm.preference == "":
		return &m.vm.template
	case m.expanded == nil && m.vmi != nil:
		return &m.vmi.hardware // of the ended instance: as good as the VM's, until that is known
	default:
		return m.expanded
	}
}

// expansion is what the expansion of a VM's instance type depends on.
type expansion struct {
	uid        string
	generation int64
	revisions  string
}

func (r *vmRecord) expansion() expansion { return expansion{r.uid, r.generation, r.revisions} }

// needsExpansion reports whether the instance type has to be applied to know the hardware.
func (m *machine) needsExpansion() bool {
	return m.vm != nil && (m.vm.instancetype != "" || m.vm.preference != "") && !m.live() && m.expandedFor != m.vm.expansion()
}

// unschedulableSoon is how long a machine may wait for a host before that is critical.
const unschedulableSoon = 10 * time.Minute

// turns is the time at which the machine's status changes without an event; zero when it does not.
func (m *machine) turns() time.Time {
	if !m.live() || m.vmi.phase == phaseRunning {
		return time.Time{}
	}
	if since, _ := m.unschedulable(); !since.IsZero() {
		return since.Add(unschedulableSoon)
	}
	return time.Time{}
}

// unschedulable is since when no host takes the instance, and why; the zero time when one does.
func (m *machine) unschedulable() (since time.Time, reason string) {
	c := conditionOf(m.vmi.conditions, "PodScheduled")
	if c == nil || c.status != "False" {
		return time.Time{}, ""
	}
	if c.since.IsZero() {
		return m.vmi.created, c.message
	}
	return c.since, c.message
}
