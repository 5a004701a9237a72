package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
)

const (
	historyLimit  = 2048 // events kept per kind, at least
	snapshotLimit = 8    // list snapshots kept per kind for continued lists
)

// Store holds all objects. It is safe for concurrent use.
type Store struct {
	clock clock.PassiveClock

	mu       sync.RWMutex
	revision uint64
	kinds    map[*resource.Type]*kind
	owned    map[types.UID]map[ref]struct{} // by owner
}

type kind struct {
	objects   map[Key]*Object
	history   *history
	snapshots []Snapshot // oldest first
}

type ref struct {
	kind *resource.Type
	key  Key
}

// New returns an empty store for every kind of the resource table.
func New(c clock.PassiveClock) *Store {
	s := &Store{clock: c, revision: 1, kinds: map[*resource.Type]*kind{}, owned: map[types.UID]map[ref]struct{}{}}
	for _, t := range resource.All {
		s.kinds[t] = &kind{objects: map[Key]*Object{}, history: newHistory(historyLimit)}
	}
	return s
}

// Get returns an object or the API server's NotFound.
func (s *Store) Get(t *resource.Type, key Key) (*Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o := s.kinds[t].objects[key]
	if o == nil {
		return nil, apierrors.NewNotFound(t.GroupResource(), key.Name)
	}
	return o, nil
}

// Revision is the revision of the last write of anything.
func (s *Store) Revision() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.revision
}

// Snapshot is all objects of one kind at one revision, sorted by namespace and name.
type Snapshot struct {
	Revision uint64
	Objects  []*Object
}

// List returns the objects of a kind as they are now.
func (s *Store) List(t *resource.Type) Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot(t)
}

// ListAt returns the objects of a kind as a recent List saw them; false when that is no longer known.
func (s *Store) ListAt(t *resource.Type, revision uint64) (Snapshot, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, snap := range s.kinds[t].snapshots {
		if snap.Revision == revision {
			return snap, true
		}
	}
	return Snapshot{}, false
}

func (s *Store) snapshot(t *resource.Type) Snapshot {
	k := s.kinds[t]
	if n := len(k.snapshots); n > 0 {
		last := k.snapshots[n-1]
		if last.Revision == s.revision {
			return last
		}
		if events, ok := k.history.after(last.Revision); ok && len(events) == 0 {
			return s.remember(k, last.Objects)
		}
	}
	objects := make([]*Object, 0, len(k.objects))
	for _, o := range k.objects {
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b *Object) int { return compareKeys(a.Key(), b.Key()) })
	return s.remember(k, objects)
}

func (s *Store) remember(k *kind, objects []*Object) Snapshot {
	snap := Snapshot{Revision: s.revision, Objects: objects}
	if len(k.snapshots) >= snapshotLimit {
		k.snapshots = slices.Delete(k.snapshots, 0, 1)
	}
	k.snapshots = append(k.snapshots, snap)
	return snap
}

func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// Changes returns what happened to a kind after a revision, the revision up to which that is complete, and a
// channel that closes at the next change. A revision that is too old gives the API server's 410.
func (s *Store) Changes(t *resource.Type, after uint64) ([]Event, uint64, <-chan struct{}, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := s.kinds[t].history
	events, ok := h.after(after)
	if !ok {
		return nil, 0, nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", after, s.revision))
	}
	return events, s.revision, h.changed, nil
}

// Expire forgets the watch history and the list snapshots of a kind, as compaction does.
func (s *Store) Expire(t *resource.Type) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds[t].history.expire()
	s.kinds[t].snapshots = nil
}

// Now is the time by the simulated clock.
func (s *Store) Now() time.Time { return s.clock.Now() }
