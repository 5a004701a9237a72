package kubevirt

import (
	"fmt"
	"strconv"
	"strings"
	"unique"
)

// wire is an API object as it is read, and makes the record that is kept of it.
type wire[W any, R record] interface {
	*W
	record() (R, error)
}

func (w *wireVM) record() (*vmRecord, error) {
	id, err := w.Metadata.identity()
	if err != nil {
		return nil, err
	}
	r := &vmRecord{
		identity: id, generation: w.Metadata.Generation, labels: intern(w.Metadata.Labels),
		strategy: w.Spec.RunStrategy, statusStrategy: w.Status.RunStrategy,
		template: w.Spec.Template.Spec.hardware(), printable: shared(w.Status.PrintableStatus), hasInstance: w.Status.Created, conditions: records(w.Status.Conditions),
	}
	if a := w.Metadata.Annotations; a != nil {
		r.annotations, r.annotated = *a, true
	}
	if w.Spec.RunStrategy == "" {
		r.legacyRunning = true
		r.strategy = halted
		if w.Spec.Running != nil && *w.Spec.Running {
			r.strategy = always
		}
	}
	r.instancetype, r.preference = w.Spec.Instancetype.String(), w.Spec.Preference.String()
	r.revisions = w.revisions()
	for _, q := range w.Status.Requests {
		r.requests = append(r.requests, changeRequest{shared(q.Action), q.UID})
	}
	if f := w.Status.StartFailure; f != nil {
		r.startFailures, r.retryAfter = f.Count, f.RetryAfter
	}
	r.template.sizesFrom(w.Spec.DataVolumeTemplates)
	return r, nil
}

func (w *wireVMI) record() (*vmiRecord, error) {
	id, err := w.Metadata.identity()
	if err != nil {
		return nil, err
	}
	s := &w.Status
	r := &vmiRecord{
		identity: id, hardware: w.Spec.hardware(), phase: shared(s.Phase), node: shared(s.NodeName), conditions: records(s.Conditions),
		topology: topology{s.Topology.Sockets, s.Topology.Cores, s.Topology.Threads}, memory: value(s.Memory.GuestCurrent), guestOS: shared(s.GuestOS.PrettyName),
	}
	for _, t := range s.Transitions {
		if t.Phase == phaseRunning {
			r.running = t.At
		}
	}
	for _, n := range s.Interfaces {
		r.nics = append(r.nics, nicState{name: shared(n.Name), mac: n.MAC, down: n.LinkState == "down", addresses: n.Addresses})
	}
	for _, v := range s.Volumes {
		size := v.Size
		if v.Claim != nil {
			size = max(size, value(v.Claim.Capacity.Storage), value(v.Claim.Requests.Storage))
		}
		r.volumes = append(r.volumes, volumeState{shared(v.Name), size})
	}
	return r, nil
}

func (w *wirePVC) record() (*claimRecord, error) {
	id, err := w.Metadata.identity()
	if err != nil {
		return nil, err
	}
	size := value(w.Status.Capacity.Storage)
	if size == 0 {
		size = value(w.Spec.Resources.Requests.Storage)
	}
	return &claimRecord{identity: id, bytes: size}, nil
}

func (m *wireMeta) identity() (identity, error) {
	version, err := strconv.ParseUint(m.ResourceVersion, 10, 64)
	if err != nil {
		return identity{}, fmt.Errorf("resourceVersion of %s/%s: %w", m.Namespace, m.Name, err)
	}
	return identity{
		key: key{shared(m.Namespace), m.Name}, uid: m.UID, version: version,
		created: m.CreationTimestamp, deleted: m.DeletionTimestamp,
	}, nil
}

// String is "Kind/name", with KubeVirt's default kind; empty when there is none.
func (m *wireMatcher) String() string {
	if m == nil || m.Name == "" {
		return ""
	}
	if m.Kind == "" {
		return m.Name
	}
	return m.Kind + "/" + m.Name
}

// revisions names what an expanded instance type depends on besides the VM itself.
func (w *wireVM) revisions() string {
	var names []string
	for _, m := range []*wireMatcher{w.Spec.Instancetype, w.Spec.Preference} {
		if m != nil {
			names = append(names, m.RevisionName)
		}
	}
	for _, ref := range []*wireRef{w.Status.InstancetypeRef, w.Status.PreferenceRef} {
		if ref != nil && ref.Revision != nil {
			names = append(names, ref.Revision.Name)
		}
	}
	return strings.Join(names, "/")
}

func records(wire []wireCondition) []condition {
	kept := make([]condition, 0, len(wire))
	for _, c := range wire {
		kept = append(kept, condition{shared(c.Type), shared(c.Status), shared(c.Reason), shared(c.Message), c.LastTransitionTime})
	}
	return kept
}

// shared returns one copy of equal strings. Most strings of a fleet are the same few.
func shared(s string) string {
	if s == "" {
		return ""
	}
	return unique.Make(s).Value()
}

func intern(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	kept := make(map[string]string, len(labels))
	for k, v := range labels {
		kept[shared(k)] = shared(v)
	}
	return kept
}
