package sim

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

func (a *api) get(w http.ResponseWriter, q *request) error {
	o, err := a.store.Get(q.typ, q.key())
	if err != nil {
		return err
	}
	return a.writeObject(w, q, http.StatusOK, o)
}

func (a *api) writeObject(w http.ResponseWriter, q *request, code int, o *store.Object) error {
	b, err := formOf(q, a.store).object(o)
	if err != nil {
		return err
	}
	a.writeBytes(w, code, b)
	return nil
}

// selection is the filter of a list, watch or deletecollection.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
	content   bool // fields names more than metadata
}

func selectionOf(q *request) (selection, error) {
	s := selection{namespace: q.namespace}
	var err error
	if s.labels, err = labels.Parse(q.query.Get("labelSelector")); err != nil {
		return s, apierrors.NewBadRequest(fmt.Sprintf("unable to parse requirement: %v", err))
	}
	if s.fields, err = fields.ParseSelector(q.query.Get("fieldSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	for _, r := range s.fields.Requirements() {
		if r.Field == "metadata.name" || r.Field == "metadata.namespace" {
			continue
		}
		if !slices.Contains(q.typ.Selectable, r.Field) {
			return s, apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
		s.content = true
	}
	if q.name != "" {
		s.fields = fields.AndSelectors(s.fields, fields.OneTermEqualSelector("metadata.name", q.name))
	}
	return s, nil
}

func (s selection) matches(o *store.Object) bool {
	return (s.namespace == "" || s.namespace == o.Meta.Namespace) &&
		s.labels.Matches(labels.Set(o.Meta.Labels)) &&
		(s.fields.Empty() || s.fields.Matches(s.fieldsOf(o)))
}

func (s selection) fieldsOf(o *store.Object) fields.Set {
	set := fields.Set{"metadata.name": o.Meta.Name, "metadata.namespace": o.Meta.Namespace}
	var content map[string]any
	if !s.content || o.Into(&content) != nil {
		return set
	}
	for _, path := range o.Type.Selectable {
		if v, _, err := unstructured.NestedString(content, strings.Split(path, ".")...); err == nil {
			set[path] = v
		}
	}
	return set
}

// position is where a continued list goes on: after a key, in the snapshot of a revision.
type position struct {
	Revision  uint64 `json:"rv"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"name"`
}

func (p position) token() string {
	b, _ := json.Marshal(p) // a number and strings always encode
	return base64.RawURLEncoding.EncodeToString(b)
}

func parsePosition(token string) (position, error) {
	var p position
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, apierrors.NewBadRequest(fmt.Sprintf("continue key is not valid: %v", err))
	}
	return p, nil
}

func (p position) before(o *store.Object) bool {
	k := o.Key()
	return k.Namespace > p.Namespace || (k.Namespace == p.Namespace && k.Name > p.Name)
}

func (a *api) list(w http.ResponseWriter, q *request) error {
	page, err := a.page(q)
	if err != nil {
		return err
	}
	b, err := formOf(q, a.store).list(page)
	if err != nil {
		return err
	}
	a.writeBytes(w, http.StatusOK, b)
	return nil
}

// page is what one list request returns.
type page struct {
	meta    metav1.ListMeta
	objects []*store.Object
}

func (a *api) page(q *request) (page, error) {
	sel, err := selectionOf(q)
	if err != nil {
		return page{}, err
	}
	limit, err := intParam(q, "limit")
	if err != nil {
		return page{}, err
	}
	snap, after, err := a.snapshotOf(q)
	if err != nil {
		return page{}, err
	}
	p := page{meta: metav1.ListMeta{ResourceVersion: store.FormatRevision(snap.Revision)}}
	remaining := int64(0)
	for _, o := range snap.Objects {
		switch {
		case (after.Name != "" && !after.before(o)) || !sel.matches(o):
		case limit > 0 && int64(len(p.objects)) == limit:
			remaining++
		default:
			p.objects = append(p.objects, o)
		}
	}
	if remaining > 0 {
		last := p.objects[len(p.objects)-1].Key()
		p.meta.Continue = position{snap.Revision, last.Namespace, last.Name}.token()
		if sel.labels.Empty() && sel.fields.Empty() {
			p.meta.RemainingItemCount = &remaining
		}
	}
	return p, nil
}

func (a *api) snapshotOf(q *request) (store.Snapshot, position, error) {
	token := q.query.Get("continue")
	if token == "" {
		return a.store.List(q.typ), position{}, a.checkRevision(q)
	}
	p, err := parsePosition(token)
	if err != nil {
		return store.Snapshot{}, p, err
	}
	snap, ok := a.store.ListAt(q.typ, p.Revision)
	if !ok {
		return snap, p, apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
			"You can start a new list without the continue parameter.")
	}
	return snap, p, nil
}

// checkRevision refuses a list at a revision that does not exist yet. Exact old revisions are not kept.
func (a *api) checkRevision(q *request) error {
	rv := q.query.Get("resourceVersion")
	if rv == "" {
		return nil
	}
	want, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return apierrors.NewBadRequest("invalid resource version: " + rv)
	}
	switch have := a.store.Revision(); {
	case want > have:
		return apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", want, have), 1)
	case q.query.Get("resourceVersionMatch") == string(metav1.ResourceVersionMatchExact) && want != have:
		return apierrors.NewResourceExpired("The provided resource version is too old.")
	}
	return nil
}

func intParam(q *request, name string) (int64, error) {
	v := q.query.Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid %s: %q", name, v))
	}
	return n, nil
}

// joinItems writes a list from encoded items.
func joinItems(apiVersion, kind string, meta metav1.ListMeta, items [][]byte) ([]byte, error) {
	m, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("encode list metadata: %w", err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"apiVersion":%q,"kind":%q,"metadata":%s,"items":[`, apiVersion, kind, m)
	b.Write(bytes.Join(items, []byte{','}))
	b.WriteString("]}")
	return b.Bytes(), nil
}
