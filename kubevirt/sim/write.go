package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

var noResource schema.GroupResource

func (a *api) create(w http.ResponseWriter, q *request) error {
	d, err := a.readDraft(w, q)
	if err != nil {
		return err
	}
	if err := a.prepareCreate(q, d); err != nil {
		return err
	}
	if err := a.virt.AdmitCreate(q.typ, d); err != nil {
		return err
	}
	o, err := a.store.Create(q.typ, d, store.Options{DryRun: q.dryRun()})
	if err != nil {
		return err
	}
	return a.writeObject(w, q, http.StatusCreated, o)
}

func (a *api) prepareCreate(q *request, d *store.Draft) error {
	t := q.typ
	if q.name != "" {
		return apierrors.NewMethodNotSupported(t.GroupResource(), "create")
	}
	if !t.ClusterScoped {
		d.Meta.Namespace = q.namespace
	}
	d.Meta.UID = ""
	if err := checkName(t, &d.Meta); err != nil {
		return err
	}
	if t.Status {
		delete(d.Fields, "status")
	}
	defaults(t, d)
	return a.checkNamespace(q, d)
}

func checkName(t *resource.Type, m *metav1.ObjectMeta) error {
	path := field.NewPath("metadata", "name")
	name := m.Name
	if name == "" {
		name = strings.TrimSuffix(m.GenerateName, "-")
	}
	if name == "" {
		return invalid(t, "", field.Required(path, "name or generateName is required"))
	}
	if msgs := validation.IsDNS1123Subdomain(name); len(msgs) > 0 {
		return invalid(t, name, field.Invalid(path, name, strings.Join(msgs, ",")))
	}
	return nil
}

func (a *api) checkNamespace(q *request, d *store.Draft) error {
	if q.typ.ClusterScoped {
		return nil
	}
	ns, err := a.store.Get(resource.Namespaces, store.Key{Name: q.namespace})
	if err != nil {
		return err
	}
	if ns.Meta.DeletionTimestamp == nil {
		return nil
	}
	return apierrors.NewForbidden(q.typ.GroupResource(), d.Meta.Name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", q.namespace))
}

// defaults fills what the API server fills in built-in kinds.
func defaults(t *resource.Type, d *store.Draft) {
	switch t {
	case resource.Namespaces:
		d.Fields["status"] = json.RawMessage(`{"phase":"Active"}`)
	case resource.Pods, resource.PersistentVolumeClaims:
		d.Fields["status"] = json.RawMessage(`{"phase":"Pending"}`)
	case resource.Secrets:
		if _, ok := d.Fields["type"]; !ok {
			d.Fields["type"] = json.RawMessage(`"Opaque"`)
		}
	}
}

// readDraft reads and checks the object in a request body.
func (a *api) readDraft(w http.ResponseWriter, q *request) (*store.Draft, error) {
	b, err := readJSON(q)
	if err != nil {
		return nil, err
	}
	return a.parseDraft(w, q, b)
}

func (a *api) parseDraft(w http.ResponseWriter, q *request, b []byte) (*store.Draft, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(b, &kind); err != nil {
		return nil, apierrors.NewBadRequest("couldn't get version/kind; json parse error: " + err.Error())
	}
	if (kind.APIVersion != "" && kind.APIVersion != q.typ.APIVersion()) || (kind.Kind != "" && kind.Kind != q.typ.Kind) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", kind.Kind, kind.APIVersion, q.typ.Kind))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	d, err := store.ParseDraft(compact.Bytes())
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if ns := d.Meta.Namespace; ns != "" && ns != q.namespace {
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if err := mergeStringData(q.typ, d); err != nil {
		return nil, err
	}
	unknown, err := prune(q.typ, d)
	if err != nil {
		return nil, err
	}
	return d, reportUnknown(w, q, unknown)
}

// mergeStringData moves the write-only field of Secrets into data.
func mergeStringData(t *resource.Type, d *store.Draft) error {
	raw, ok := d.Fields["stringData"]
	if t != resource.Secrets || !ok {
		return nil
	}
	text, data := map[string]string{}, map[string][]byte{}
	if err := json.Unmarshal(raw, &text); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if old, ok := d.Fields["data"]; ok {
		if err := json.Unmarshal(old, &data); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	for k, v := range text {
		data[k] = []byte(v)
	}
	b, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode data: %w", err)
	}
	d.Fields["data"] = b
	delete(d.Fields, "stringData")
	return nil
}

// reportUnknown does with unknown fields what the client's fieldValidation asks for.
func reportUnknown(w http.ResponseWriter, q *request, unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	texts := make([]string, len(unknown))
	for i, u := range unknown {
		texts[i] = fmt.Sprintf("unknown field %q", u)
	}
	switch q.query.Get("fieldValidation") {
	case metav1.FieldValidationStrict:
		return apierrors.NewBadRequest("strict decoding error: " + strings.Join(texts, ", "))
	case metav1.FieldValidationIgnore:
	default:
		for _, t := range texts {
			w.Header().Add("Warning", fmt.Sprintf(`299 - %q`, t))
		}
	}
	return nil
}

func (a *api) update(w http.ResponseWriter, q *request) error {
	if q.name == "" {
		return apierrors.NewMethodNotSupported(q.typ.GroupResource(), "update")
	}
	d, err := a.readDraft(w, q)
	if err != nil {
		return err
	}
	base, err := a.store.Get(q.typ, q.key())
	if err != nil {
		return err
	}
	if d.Meta.Name != q.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", d.Meta.Name, q.name))
	}
	if d.Meta.ResourceVersion == "" && !q.typ.Strategic {
		return invalid(q.typ, q.name, field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"))
	}
	o, err := a.replace(q, base, d)
	if err != nil {
		return err
	}
	return a.writeObject(w, q, http.StatusOK, o)
}

// replace writes a changed object over base, limited to what the addressed (sub)resource may change.
func (a *api) replace(q *request, base *store.Object, d *store.Draft) (*store.Object, error) {
	if err := store.CheckVersion(base, d.Meta.ResourceVersion); err != nil {
		return nil, err
	}
	if d.Meta.UID != "" && d.Meta.UID != base.Meta.UID {
		return nil, apierrors.NewConflict(q.typ.GroupResource(), q.name,
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", d.Meta.UID, base.Meta.UID)) //nolint:staticcheck // the API server's text
	}
	old, err := base.Draft()
	if err != nil {
		return nil, err
	}
	if q.subresource == "status" {
		d = statusOf(d, old)
	} else {
		if q.typ.Status {
			setField(d, "status", old.Fields["status"])
		}
		if err := a.virt.AdmitUpdate(q.typ, d, base); err != nil {
			return nil, err
		}
	}
	return a.store.Update(base, d, store.Options{DryRun: q.dryRun()})
}

func statusOf(d, old *store.Draft) *store.Draft {
	setField(old, "status", d.Fields["status"])
	return old
}

func setField(d *store.Draft, name string, v json.RawMessage) {
	if v == nil {
		delete(d.Fields, name)
		return
	}
	d.Fields[name] = v
}
