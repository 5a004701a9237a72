package kubevirt

import (
	"slices"
	"strings"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// Convention is how a machine's canonical id is made.
type Convention string

const (
	// Enhanced ids are "<namespace>.<name>".
	Enhanced Convention = "enhanced"
	// Legacy ids are the bare name of the VM. One whose name an earlier of the caller's chassis has too, or
	// that looks like the enhanced id of another, keeps its enhanced id.
	Legacy Convention = "legacy"
)

// enhanced is the id that names the machine whatever the convention is.
func (k key) enhanced() string { return k.namespace + "." + k.name }

// found is a machine as the store had it at one moment.
type found struct {
	*machine
	epoch uint64
	lost  time.Time
	// id is the machine's canonical id for the caller.
	id redfish.SystemID
	// known is false while its instance may not have been read.
	known bool
}

// find is the machine that the id means to the caller; its machine is nil when there is none that the caller
// may see. Both forms of an id are accepted. The enhanced one comes first: a name can look like it.
func (s *store) find(who auth.Principal, id string, convention Convention) found {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := found{epoch: s.epoch, lost: s.lost, id: redfish.SystemID(id)}
	if f.machine = s.byKey(who, id); f.machine != nil && convention == Enhanced {
		f.known = s.known[f.namespace]
		return f
	}
	if f.machine == nil {
		f.machine = s.byName(who, id)
	}
	if f.machine != nil {
		f.id, f.known = s.canonical(who, f.key, convention), s.known[f.namespace]
	}
	return f
}

func (s *store) byKey(who auth.Principal, id string) *machine {
	namespace, name, ok := strings.Cut(id, ".") // a namespace has no dots, a name may
	if !ok {
		return nil
	}
	m := s.machines[key{namespace, name}]
	if m == nil || !s.visible(who, m) {
		return nil
	}
	return m
}

// byName is the machine of that name in the first of the caller's chassis that has one.
func (s *store) byName(who auth.Principal, name string) *machine {
	for i := range s.exposure.Chassis() {
		if m := s.inChassis(who, i, name); m != nil {
			return m
		}
	}
	return nil
}

// inChassis is the machine of that name in the chassis, if the caller may see it.
func (s *store) inChassis(who auth.Principal, i int, name string) *machine {
	chassis := &s.exposure.Chassis()[i]
	if !who.Grants.Has(chassis.Name) {
		return nil
	}
	k := key{chassis.Namespace, name}
	if _, member := s.members[i].set[k]; !member {
		return nil
	}
	return s.machines[k]
}

// visible reports whether a chassis of the caller contains the machine.
func (s *store) visible(who auth.Principal, m *machine) bool {
	for _, i := range m.chassis {
		if who.Grants.Has(s.exposure.Chassis()[i].Name) {
			return true
		}
	}
	return false
}

// canonical is the machine's canonical id for the caller. The caller holds the lock.
func (s *store) canonical(who auth.Principal, k key, convention Convention) redfish.SystemID {
	if convention == Legacy {
		if first := s.byName(who, k.name); first != nil && first.key == k && s.byKey(who, k.name) == nil {
			return redfish.SystemID(k.name)
		}
	}
	return redfish.SystemID(k.enhanced())
}

// resolve is the canonical id of the machine with that name in the named chassis; empty when the caller may
// see none.
func (s *store) resolve(who auth.Principal, in auth.ChassisName, name string, convention Convention) redfish.SystemID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, c := range s.exposure.Chassis() {
		if c.Name == in {
			if m := s.inChassis(who, i, name); m != nil {
				return s.canonical(who, m.key, convention)
			}
		}
	}
	return ""
}

// tasks are the tasks of the machines that the caller may see.
func (s *store) tasks(who auth.Principal, now time.Time, convention Convention) []redfish.Task {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []redfish.Task
	for _, m := range s.machines {
		if t := taskOf(m, now); t != nil && s.visible(who, m) {
			t.System = s.canonical(who, m.key, convention)
			all = append(all, *t)
		}
	}
	slices.SortFunc(all, func(a, b redfish.Task) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return all
}

// knowsAll reports whether the machines of all the caller's chassis have been read.
func (s *store) knowsAll(who auth.Principal) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range s.selected(who, auth.AllChassis) {
		if !s.known[s.exposure.Chassis()[i].Namespace] {
			return false
		}
	}
	return true
}

// granted are the chassis that the caller is granted, in configured order.
func (s *store) granted(who auth.Principal) []*auth.Chassis {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var chassis []*auth.Chassis
	for i := range s.selected(who, auth.AllChassis) {
		chassis = append(chassis, &s.exposure.Chassis()[i])
	}
	return chassis
}
