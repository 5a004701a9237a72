package sim

import (
	"encoding/json"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

func (a *api) delete(w http.ResponseWriter, q *request) error {
	opts, err := deleteOptions(q)
	if err != nil {
		return err
	}
	o, gone, err := a.store.Delete(q.typ, q.key(), opts)
	if err != nil {
		return err
	}
	if !gone {
		return a.writeObject(w, q, http.StatusOK, o)
	}
	a.writeJSON(w, http.StatusOK, deleted(q, o.Meta.UID))
	return nil
}

func deleted(q *request, uid types.UID) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: q.name, Group: q.group, Kind: q.resource, UID: uid},
	}
}

// deleteCollection deletes what the selection matches and answers with the list of it.
func (a *api) deleteCollection(w http.ResponseWriter, q *request) error {
	opts, err := deleteOptions(q)
	if err != nil {
		return err
	}
	p, err := a.page(q)
	if err != nil {
		return err
	}
	for _, o := range p.objects {
		if _, _, err := a.store.Delete(q.typ, store.Key{Namespace: o.Meta.Namespace, Name: o.Meta.Name}, opts); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	b, err := formOf(q, a.store).list(p)
	if err != nil {
		return err
	}
	a.writeBytes(w, http.StatusOK, b)
	return nil
}

// deleteOptions come in the body, or as parameters.
func deleteOptions(q *request) (metav1.DeleteOptions, error) {
	var opts metav1.DeleteOptions
	b, err := readJSON(q)
	if err != nil {
		return opts, err
	}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &opts); err != nil {
			return opts, apierrors.NewBadRequest(err.Error())
		}
	}
	if q.dryRun() {
		opts.DryRun = q.query["dryRun"]
	}
	if p := metav1.DeletionPropagation(q.query.Get("propagationPolicy")); p != "" {
		opts.PropagationPolicy = &p
	}
	if q.query.Get("gracePeriodSeconds") != "" {
		seconds, err := intParam(q, "gracePeriodSeconds")
		if err != nil {
			return opts, err
		}
		opts.GracePeriodSeconds = &seconds
	}
	return opts, nil
}
