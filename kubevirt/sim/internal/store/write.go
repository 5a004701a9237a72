package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
)

const conflictText = "the object has been modified; please apply your changes to the latest version and try again"

// Options of a write.
type Options struct {
	// DryRun answers as if the write had happened.
	DryRun bool
}

// Create stores a new object, naming it by generateName if needed. A UID that is set is kept, so that
// objects which refer to each other can be made in one write each.
func (s *Store) Create(t *resource.Type, d *Draft, opts Options) (*Object, error) {
	if d.Meta.Name == "" && d.Meta.GenerateName != "" {
		d.Meta.Name = d.Meta.GenerateName + rand.String(5)
	}
	if d.Meta.UID == "" {
		d.Meta.UID = uuid.NewUUID()
	}
	d.Meta.CreationTimestamp = s.now()
	d.Meta.DeletionTimestamp, d.Meta.DeletionGracePeriodSeconds = nil, nil
	d.Meta.Generation = 1
	key := Key{d.Meta.Namespace, d.Meta.Name}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds[t].objects[key] != nil {
		return nil, apierrors.NewAlreadyExists(t.GroupResource(), key.Name)
	}
	o, err := d.object(t, s.revision+1)
	if err != nil || opts.DryRun {
		return o, err
	}
	s.put(watch.Added, o, nil)
	return o, nil
}

// Update replaces base, which must still be the stored object, or it is a conflict. A draft that
// changes nothing is not a write. Removing the last finalizer of a deleted object removes the object.
func (s *Store) Update(base *Object, d *Draft, opts Options) (*Object, error) {
	s.mu.Lock()
	o, err := s.update(base, d, opts)
	s.mu.Unlock()
	if err == nil && !opts.DryRun && gone(o) {
		err = s.collect(o.Meta.UID)
	}
	return o, err
}

func (s *Store) update(base *Object, d *Draft, opts Options) (*Object, error) {
	t, key := base.Type, base.Key()
	if err := s.unchanged(base); err != nil {
		return nil, err
	}
	keepSystemFields(&d.Meta, base.Meta)
	same, err := d.sameSpec(base)
	if err != nil {
		return nil, err
	}
	if !same {
		d.Meta.Generation++
	}
	d.Meta.ResourceVersion = base.Meta.ResourceVersion
	if b, err := d.encode(t); err != nil || bytes.Equal(b, base.JSON) {
		return base, err
	}
	o, err := d.object(t, s.revision+1)
	if err != nil || opts.DryRun {
		return o, err
	}
	if gone(o) {
		s.drop(key, o)
		return o, nil
	}
	s.put(watch.Modified, o, base)
	return o, nil
}

func (s *Store) unchanged(base *Object) error {
	t, key := base.Type, base.Key()
	switch cur := s.kinds[t].objects[key]; {
	case cur == nil:
		return apierrors.NewNotFound(t.GroupResource(), key.Name)
	case cur != base:
		return apierrors.NewConflict(t.GroupResource(), key.Name, errors.New(conflictText))
	}
	return nil
}

// CheckVersion is the conflict that a write with an outdated resourceVersion gets.
func CheckVersion(o *Object, resourceVersion string) error {
	if resourceVersion == "" || resourceVersion == o.Meta.ResourceVersion {
		return nil
	}
	return apierrors.NewConflict(o.Type.GroupResource(), o.Meta.Name, errors.New(conflictText))
}

func gone(o *Object) bool {
	return o.Meta.DeletionTimestamp != nil && len(o.Meta.Finalizers) == 0 &&
		(o.Meta.DeletionGracePeriodSeconds == nil || *o.Meta.DeletionGracePeriodSeconds == 0)
}

func keepSystemFields(m, old *metav1.ObjectMeta) {
	m.Name, m.Namespace, m.UID = old.Name, old.Namespace, old.UID
	m.CreationTimestamp, m.Generation = old.CreationTimestamp, old.Generation
	if m.DeletionTimestamp == nil || old.DeletionTimestamp != nil {
		m.DeletionTimestamp, m.DeletionGracePeriodSeconds = old.DeletionTimestamp, old.DeletionGracePeriodSeconds
	}
}

// sameSpec compares everything but metadata and, where it is a subresource, status.
func (d *Draft) sameSpec(base *Object) (bool, error) {
	old, err := ParseDraft(base.JSON)
	if err != nil {
		return false, err
	}
	for _, fields := range []map[string]json.RawMessage{d.Fields, old.Fields} {
		for name := range fields {
			if name == "status" && base.Type.Status {
				continue
			}
			if same, err := sameJSON(d.Fields[name], old.Fields[name]); err != nil || !same {
				return false, err
			}
		}
	}
	return true, nil
}

func sameJSON(a, b json.RawMessage) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	if len(a) == 0 || len(b) == 0 {
		return false, nil
	}
	var va, vb any
	if err := json.Unmarshal(a, &va); err != nil {
		return false, fmt.Errorf("decode field: %w", err)
	}
	if err := json.Unmarshal(b, &vb); err != nil {
		return false, fmt.Errorf("decode field: %w", err)
	}
	return reflect.DeepEqual(va, vb), nil
}

// put stores an object at the next revision. The lock is held.
func (s *Store) put(how watch.EventType, o, previous *Object) {
	k := s.kinds[o.Type]
	s.revision = o.revision
	k.objects[o.Key()] = o
	if previous != nil {
		s.disown(previous)
	}
	for _, owner := range o.Meta.OwnerReferences {
		if s.owned[owner.UID] == nil {
			s.owned[owner.UID] = map[ref]struct{}{}
		}
		s.owned[owner.UID][ref{o.Type, o.Key()}] = struct{}{}
	}
	k.history.add(Event{Type: how, Object: o, Previous: previous, Revision: o.revision})
}

// drop removes an object; last is its final form at the next revision. The lock is held.
func (s *Store) drop(key Key, last *Object) {
	k := s.kinds[last.Type]
	previous := k.objects[key]
	s.revision = last.revision
	delete(k.objects, key)
	s.disown(previous)
	k.history.add(Event{Type: watch.Deleted, Object: last, Previous: previous, Revision: last.revision})
}

func (s *Store) disown(o *Object) {
	for _, owner := range o.Meta.OwnerReferences {
		delete(s.owned[owner.UID], ref{o.Type, o.Key()})
		if len(s.owned[owner.UID]) == 0 {
			delete(s.owned, owner.UID)
		}
	}
}

func (s *Store) now() metav1.Time { return metav1.NewTime(s.Now()).Rfc3339Copy() }

// FormatRevision writes a revision as a resourceVersion.
func FormatRevision(r uint64) string { return strconv.FormatUint(r, 10) }

func uidOf(p *metav1.Preconditions) types.UID {
	if p == nil || p.UID == nil {
		return ""
	}
	return *p.UID
}
