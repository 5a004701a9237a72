package sim

import (
	"errors"
	"mime"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// patchAttempts is how often a patch without a resourceVersion is retried against concurrent writers.
const patchAttempts = 5

func (a *api) patch(w http.ResponseWriter, q *request) error {
	body, err := readJSON(q)
	if err != nil {
		return err
	}
	kind, _, err := mime.ParseMediaType(q.http.Header.Get("Content-Type"))
	if err != nil {
		return unsupportedMedia(q.http.Header.Get("Content-Type"))
	}
	var o *store.Object
	for range patchAttempts {
		o, err = a.patchOnce(w, q, types.PatchType(kind), body)
		if !isWriteRace(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	return a.writeObject(w, q, http.StatusOK, o)
}

// errRace marks a conflict that is not the client's: it named no resourceVersion.
type errRace struct{ error }

func (e errRace) Unwrap() error { return e.error }

func isWriteRace(err error) bool {
	var race errRace
	return errors.As(err, &race)
}

func (a *api) patchOnce(w http.ResponseWriter, q *request, kind types.PatchType, body []byte) (*store.Object, error) {
	base, err := a.store.Get(q.typ, q.key())
	if err != nil {
		return nil, err
	}
	b, err := applyPatch(q.typ, kind, base.JSON, body)
	if err != nil {
		return nil, err
	}
	d, err := a.parseDraft(w, q, b)
	if err != nil {
		return nil, err
	}
	versioned := d.Meta.ResourceVersion != base.Meta.ResourceVersion
	o, err := a.replace(q, base, d)
	if apierrors.IsConflict(err) && !versioned {
		return nil, errRace{err}
	}
	return o, err
}

// applyPatch answers a JSON patch that does not apply, a failed test included, as the API server does: 422
// with a text that names neither the operation nor the reason.
func applyPatch(t *resource.Type, kind types.PatchType, doc, body []byte) ([]byte, error) {
	switch {
	case kind == types.JSONPatchType:
		p, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		b, err := p.Apply(doc)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", noResource, "", err.Error(), 0, false)
		}
		return b, nil
	case kind == types.MergePatchType:
		b, err := jsonpatch.MergePatch(doc, body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return b, nil
	case kind == types.StrategicMergePatchType && t.Strategic:
		typed, err := scheme.Scheme.New(t.GVK())
		if err != nil {
			return nil, err
		}
		b, err := strategicpatch.StrategicMergePatch(doc, body, typed)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return b, nil
	}
	return nil, unsupportedMedia(string(kind))
}
