package kubevirt

import (
	"iter"
	"slices"
	"sync"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// listings keeps the lists of machines per set of grants, so that a list is only made again when it changed.
type listings struct {
	mu   sync.Mutex
	kept map[string]*redfish.Listing
}

// maxListings bounds the kept lists; there are as many as differently granted users.
const maxListings = 1024

// of is the list of the machines in a chassis, or in all that the caller is granted, as the caller sees them.
func (l *listings) of(s *store, who auth.Principal, in auth.ChassisName, convention Convention) *redfish.Listing {
	name := who.Grants.Key() + "\x00" + string(in)
	version := s.listVersion(who, in, convention)
	l.mu.Lock()
	defer l.mu.Unlock()
	if kept := l.kept[name]; kept != nil && kept.Version == version {
		return kept
	}
	made := s.list(who, in, convention)
	if l.kept == nil || len(l.kept) >= maxListings {
		l.kept = map[string]*redfish.Listing{}
	}
	l.kept[name] = made
	return made
}

// selected are the indexes of the chassis with that name that the caller is granted, or of all of them. They
// mean something under the present exposure only: the caller holds the lock.
func (s *store) selected(who auth.Principal, in auth.ChassisName) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, c := range s.exposure.Chassis() {
			if (in == auth.AllChassis || in == c.Name) && who.Grants.Has(c.Name) && !yield(i) {
				return
			}
		}
	}
}

// listVersion changes whenever list would answer differently.
func (s *store) listVersion(who auth.Principal, in auth.ChassisName, convention Convention) redfish.Version {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.versionOf(who, in, convention)
}

// versionOf sums the changes of the chassis: each only grows, and so does the sum. Legacy ids depend on the
// names in the caller's other chassis too.
func (s *store) versionOf(who auth.Principal, in auth.ChassisName, convention Convention) redfish.Version {
	if convention == Legacy {
		in = auth.AllChassis
	}
	v := redfish.Version{Service: s.exposed}
	for i := range s.selected(who, in) {
		v.Object += s.members[i].version
	}
	return v
}

// list are the machines of the chassis without repetition, sorted.
func (s *store) list(who auth.Principal, in auth.ChassisName, convention Convention) *redfish.Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []key
	chassis := 0
	for i := range s.selected(who, in) {
		keys = append(keys, s.members[i].list()...)
		chassis++
	}
	if chassis > 1 {
		slices.SortFunc(keys, key.compare)
		keys = slices.Compact(keys)
	}
	made := &redfish.Listing{Version: s.versionOf(who, in, convention), IDs: make([]redfish.SystemID, len(keys))}
	for i, k := range keys {
		made.IDs[i] = s.canonical(who, k, convention)
	}
	return made
}
