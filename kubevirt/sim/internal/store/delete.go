package store

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
)

const defaultPodGrace = 30 // seconds

// Delete removes an object, or marks it as deleted while finalizers or a grace period hold it. It
// returns the last form and whether the object is gone.
func (s *Store) Delete(t *resource.Type, key Key, opts metav1.DeleteOptions) (*Object, bool, error) {
	s.mu.Lock()
	o, err := s.delete(t, key, opts)
	s.mu.Unlock()
	if err != nil {
		return nil, false, err
	}
	if gone(o) && len(opts.DryRun) == 0 {
		err = s.collect(o.Meta.UID)
	}
	return o, gone(o), err
}

func (s *Store) delete(t *resource.Type, key Key, opts metav1.DeleteOptions) (*Object, error) {
	cur := s.kinds[t].objects[key]
	if cur == nil {
		return nil, apierrors.NewNotFound(t.GroupResource(), key.Name)
	}
	if err := checkPreconditions(cur, opts.Preconditions); err != nil {
		return nil, err
	}
	d, err := cur.Draft()
	if err != nil {
		return nil, err
	}
	if !s.markDeleted(t, &d.Meta, opts.GracePeriodSeconds) {
		return cur, nil
	}
	last, err := d.object(t, s.revision+1)
	if err != nil || len(opts.DryRun) > 0 {
		return last, err
	}
	if opts.PropagationPolicy != nil && *opts.PropagationPolicy == metav1.DeletePropagationOrphan {
		if err := s.orphan(cur.Meta.UID); err != nil {
			return nil, err
		}
		last, err = d.object(t, s.revision+1)
		if err != nil {
			return nil, err
		}
	}
	if gone(last) {
		s.drop(key, last)
	} else {
		s.put(watch.Modified, last, cur)
	}
	return last, nil
}

// markDeleted sets the deletion fields and tells whether anything changed. A second deletion may only
// shorten the grace period.
func (s *Store) markDeleted(t *resource.Type, m *metav1.ObjectMeta, grace *int64) bool {
	seconds := int64(0)
	if t.GracefulDelete {
		seconds = defaultPodGrace
		if grace != nil {
			seconds = max(*grace, 0)
		}
	}
	if m.DeletionTimestamp != nil && m.DeletionGracePeriodSeconds != nil && *m.DeletionGracePeriodSeconds <= seconds {
		return false
	}
	end := metav1.NewTime(s.clock.Now().Add(time.Duration(seconds) * time.Second)).Rfc3339Copy()
	m.DeletionTimestamp, m.DeletionGracePeriodSeconds = &end, &seconds
	m.Generation++
	return true
}

func checkPreconditions(o *Object, p *metav1.Preconditions) error {
	if uid := uidOf(p); uid != "" && uid != o.Meta.UID {
		return apierrors.NewConflict(o.Type.GroupResource(), o.Meta.Name,
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, o.Meta.UID)) //nolint:staticcheck // the API server's text
	}
	if p != nil && p.ResourceVersion != nil && *p.ResourceVersion != o.Meta.ResourceVersion {
		return apierrors.NewConflict(o.Type.GroupResource(), o.Meta.Name,
			fmt.Errorf("Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", *p.ResourceVersion, o.Meta.ResourceVersion)) //nolint:staticcheck // the API server's text
	}
	return nil
}

// collect deletes what was owned by an object that is gone.
func (s *Store) collect(owner types.UID) error {
	s.mu.RLock()
	var refs []ref
	for r := range s.owned[owner] {
		if o := s.kinds[r.kind].objects[r.key]; o != nil && s.onlyOwner(o, owner) {
			refs = append(refs, r)
		}
	}
	s.mu.RUnlock()
	for _, r := range refs {
		if _, _, err := s.Delete(r.kind, r.key, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("collect what %s owned: %w", owner, err)
		}
	}
	return nil
}

// onlyOwner tells whether no other owner of the object still exists. The lock is held.
func (s *Store) onlyOwner(o *Object, owner types.UID) bool {
	return !slices.ContainsFunc(o.Meta.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.UID != owner && s.exists(r, o.Meta.Namespace)
	})
}

func (s *Store) exists(r metav1.OwnerReference, namespace string) bool {
	t := resource.LookupKind(r.APIVersion, r.Kind)
	if t == nil {
		return false
	}
	key := Key{namespace, r.Name}
	if t.ClusterScoped {
		key.Namespace = ""
	}
	o := s.kinds[t].objects[key]
	return o != nil && o.Meta.UID == r.UID
}

// orphan removes an owner from what it owns. The lock is held.
func (s *Store) orphan(owner types.UID) error {
	for r := range s.owned[owner] {
		base := s.kinds[r.kind].objects[r.key]
		d, err := base.Draft()
		if err != nil {
			return err
		}
		d.Meta.OwnerReferences = slices.DeleteFunc(d.Meta.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner })
		if _, err := s.update(base, d, Options{}); err != nil {
			return err
		}
	}
	return nil
}
