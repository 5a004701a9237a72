package kubevirt

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// store holds the present machine of every key. Readers take immutable values out of it; only its own maps
// are under the lock.
type store struct {
	mu       sync.RWMutex
	machines map[key]*machine
	claims   map[key]int64 // bytes of each PersistentVolumeClaim
	exposure *auth.Exposure
	members  []members       // of each chassis of the exposure
	known    map[string]bool // namespaces whose machines have been read, both their parts
	waiters  map[key][]chan struct{}
	version  uint64
	// epoch counts changes that concern many machines: of the exposure, of claims, of the connection.
	epoch uint64
	// exposed counts the exposures, so that lists made under different ones differ.
	exposed uint64
	// lost is since when the API server does not answer; zero while it does.
	lost time.Time
	// changed is told of every machine that changed; it must not block or call back.
	changed func(k key, m *machine)
}

func newStore(exposure *auth.Exposure) *store {
	s := &store{
		machines: map[key]*machine{}, claims: map[key]int64{}, known: map[string]bool{}, waiters: map[key][]chan struct{}{},
		changed: func(key, *machine) {},
	}
	s.expose(exposure)
	return s
}

// expose replaces the exposure and with it what each caller sees.
func (s *store) expose(exposure *auth.Exposure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exposure = exposure
	s.members = make([]members, len(exposure.Chassis()))
	s.epoch++
	s.exposed++
	for k, old := range s.machines {
		fresh := *old
		fresh.chassis = nil
		s.place(&fresh, nil)
		s.machines[k] = &fresh
	}
}

// get is the present machine; nil when there is none.
func (s *store) get(k key) *machine {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.machines[k]
}

// setVM takes over a VirtualMachine; nil when it is gone.
func (s *store) setVM(k key, vm *vmRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.machines[k]; vm != nil && old != nil && old.vm != nil && old.vm.uid == vm.uid && vm.version < old.vm.version {
		return // the answer of a write was here before the watch
	}
	s.update(k, func(m *machine) { m.take(vm) })
}

// answered takes over a VirtualMachine from the answer of a write, so that reads need not wait for the watch.
// It never brings back one that the watch has seen go.
func (s *store) answered(vm *vmRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.machines[vm.key]
	if old == nil || old.vm == nil || old.vm.uid != vm.uid || vm.version <= old.vm.version {
		return
	}
	s.update(vm.key, func(m *machine) { m.take(vm) })
}

// take makes vm the machine's.
func (m *machine) take(vm *vmRecord) {
	starting := m.vm != nil && vm != nil && m.vm.uid == vm.uid && m.vmi == nil && m.wanted()
	m.vm, m.hold = vm, nil
	m.unseen = starting && vm.hasInstance && vm.strategy != halted
	if vm != nil {
		m.hold = parsePowerOn(vm.annotations.PowerOn)
	}
}

// setVMI takes over a VirtualMachineInstance; nil when it is gone.
func (s *store) setVMI(k key, vmi *vmiRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.update(k, func(m *machine) {
		if vmi == nil && m.vmi != nil && m.expanded == nil {
			m.expanded = &m.vmi.hardware // as good as the VM's, until that is known
		}
		m.vmi = vmi
	})
}

// setExpanded takes over what the VM's instance type makes of it, unless the VM has changed since.
func (s *store) setExpanded(vm *vmRecord, h *hardware) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.machines[vm.key]; m != nil && m.vm != nil && m.vm.expansion() == vm.expansion() {
		s.update(vm.key, func(m *machine) { m.expanded, m.expandedFor = h, vm.expansion() })
	}
}

// claim is the size of a claim in bytes; 0 when it is not known.
func (s *store) claim(k key) int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.claims[k]
}

// update replaces the machine by a changed copy. The caller holds the lock.
func (s *store) update(k key, change func(*machine)) {
	old := s.machines[k]
	fresh := machine{key: k}
	if old != nil {
		fresh = *old
	}
	change(&fresh)
	s.version++
	fresh.version = s.version
	fresh.remember()
	if fresh.vm == nil && fresh.vmi == nil {
		delete(s.machines, k)
	} else {
		s.machines[k] = &fresh
	}
	s.place(&fresh, old)
	s.wake(k)
	s.changed(k, &fresh)
}

// remember keeps what later states no longer tell.
func (m *machine) remember() {
	if m.vmi == nil {
		m.stopping, m.wasReady, m.born = "", "", birth{}
		return
	}
	m.unseen = false
	if m.vmi.uid != m.born.uid {
		m.born = birth{uid: m.vmi.uid}
		if fresh := m.vmi.phase == "" || m.vmi.phase == phasePending; fresh && m.vm != nil && m.vmi.version > m.vm.version {
			m.born.vm = m.vm.version
		}
	}
	switch {
	case m.vm == nil:
	case m.requested(actionStop):
		m.stopping = m.vmi.uid
	case m.vmi.deleted.IsZero() && m.vmi.version > m.vm.version:
		m.stopping = "" // the request was withdrawn: had it been done, this later state would be deleted
	}
	if isTrue(m.vmi.conditions, "Ready") {
		m.wasReady = m.vmi.uid
	}
}

// place works out the chassis of a machine and keeps their lists of members. The caller holds the lock.
func (s *store) place(fresh, old *machine) {
	var was []int
	if old != nil {
		was = old.chassis
	}
	fresh.chassis = nil
	if fresh.vm != nil {
		fresh.chassis = s.exposure.Of(nil, fresh.namespace, fresh.name, fresh.vm.labels)
	}
	if old != nil && old.vm != nil && fresh.vm != nil && slices.Equal(was, fresh.chassis) {
		fresh.chassis = was
		return
	}
	for _, i := range was {
		s.members[i].remove(fresh.key)
	}
	for _, i := range fresh.chassis {
		s.members[i].add(fresh.key)
	}
}

// setClaim takes over a claim; nil when it is gone.
func (s *store) setClaim(k key, claim *claimRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bytes int64
	if claim != nil {
		bytes = claim.bytes
	}
	if s.claims[k] == bytes {
		return
	}
	if bytes == 0 {
		delete(s.claims, k)
	} else {
		s.claims[k] = bytes
	}
	s.epoch++
}

// setKnown says whether the machines of a namespace have been read.
func (s *store) setKnown(namespace string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[namespace] = known
}

// knows reports whether the machines of a namespace have been read. Before that a machine may lack its instance,
// and nobody may conclude that it is off.
func (s *store) knows(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[namespace]
}

// claimsOf are the claims of a namespace.
func (s *store) claimsOf(namespace string) []key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []key
	for k := range s.claims {
		if k.namespace == namespace {
			found = append(found, k)
		}
	}
	return found
}

// lostSince is since when the API server does not answer; zero while it does.
func (s *store) lostSince() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lost
}

// setLost says since when the API server does not answer; zero when it does again.
func (s *store) setLost(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = since
	s.epoch++
}

// wake tells everybody who waits for the machine. The caller holds the lock.
func (s *store) wake(k key) {
	for _, waiter := range s.waiters[k] {
		select {
		case waiter <- struct{}{}:
		default: // told already
		}
	}
}

// await returns true once the machine (nil when there is none) is as asked, false when ctx ends before.
func (s *store) await(ctx context.Context, k key, as func(*machine) bool) bool {
	told := make(chan struct{}, 1)
	s.mu.Lock()
	s.waiters[k] = append(s.waiters[k], told)
	s.mu.Unlock()
	defer s.forget(k, told)
	for {
		if as(s.get(k)) {
			return true
		}
		select {
		case <-told:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *store) forget(k key, told chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(s.waiters[k], func(c chan struct{}) bool { return c == told })
	if len(left) == 0 {
		delete(s.waiters, k)
	} else {
		s.waiters[k] = left
	}
}

// keys are the machines of a namespace of which has is true.
func (s *store) keys(namespace string, has func(*machine) bool) []key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []key
	for k, m := range s.machines {
		if k.namespace == namespace && has(m) {
			found = append(found, k)
		}
	}
	return found
}

// members is the set of machines of one chassis, with its sorted list made when it is asked for.
type members struct {
	set    map[key]struct{}
	sorted []key
	// version counts the changes of the set.
	version uint64
}

func (m *members) add(k key) {
	if m.set == nil {
		m.set = map[key]struct{}{}
	}
	m.set[k] = struct{}{}
	m.sorted = nil
	m.version++
}

func (m *members) remove(k key) {
	delete(m.set, k)
	m.sorted = nil
	m.version++
}

// list is the sorted list. It is never changed once handed out.
func (m *members) list() []key {
	if m.sorted == nil && len(m.set) > 0 {
		m.sorted = make([]key, 0, len(m.set))
		for k := range m.set {
			m.sorted = append(m.sorted, k)
		}
		slices.SortFunc(m.sorted, key.compare)
	}
	return m.sorted
}
