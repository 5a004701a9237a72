package kubevirt

import (
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

// of is the list of the machines in the given chassis (indexes of the exposure) as the caller sees them.
func (l *listings) of(s *store, who auth.Principal, name string, chassis []int, convention Convention) *redfish.Listing {
	version := s.listVersion(chassis)
	l.mu.Lock()
	defer l.mu.Unlock()
	if kept := l.kept[name]; kept != nil && kept.Version == version {
		return kept
	}
	keys, version := s.list(chassis)
	made := &redfish.Listing{Version: version, IDs: s.canonicals(who, keys, convention)}
	if l.kept == nil || len(l.kept) >= maxListings {
		l.kept = map[string]*redfish.Listing{}
	}
	l.kept[name] = made
	return made
}

// listVersion changes whenever list would answer differently.
func (s *store) listVersion(chassis []int) redfish.Version {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.versionOf(chassis)
}

func (s *store) versionOf(chassis []int) redfish.Version {
	v := redfish.Version{Service: s.exposed}
	for _, i := range chassis {
		v.Object += s.members[i].version // each only grows, and so does the sum
	}
	return v
}

// list are the members of the chassis without repetition, sorted.
func (s *store) list(chassis []int) ([]key, redfish.Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.versionOf(chassis)
	if len(chassis) == 1 {
		return s.members[chassis[0]].list(), version
	}
	var all []key
	for _, i := range chassis {
		all = append(all, s.members[i].list()...)
	}
	slices.SortFunc(all, key.compare)
	return slices.Compact(all), version
}
