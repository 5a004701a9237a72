package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/virt"
)

// api answers Kubernetes API requests from the store. Its timers are wall time, since they belong to
// connections; the simulated clock drives only the objects.
type api struct {
	store  *store.Store
	virt   *virt.Virt
	users  *users
	faults *Faults
	wall   clock.WithTicker
	log    *slog.Logger
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.serve(w, r); err != nil {
		a.writeError(w, err)
	}
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) error {
	user, err := a.users.authenticate(r)
	if err != nil {
		return err
	}
	q, ok := parse(r)
	if !ok {
		return a.discover(w, r)
	}
	q.user = user
	w, err = a.faults.apply(w, q, a.wall)
	if err != nil {
		return err
	}
	if err := a.users.authorize(q); err != nil {
		return err
	}
	return a.dispatch(w, q)
}

func (a *api) dispatch(w http.ResponseWriter, q *request) error {
	switch {
	case q.group == virt.SubresourceGroup:
		return a.subresource(w, q)
	case reviews[q.resource] != nil && q.verb == "create":
		return a.review(w, q)
	case q.typ == nil:
		return notServed()
	case q.subresource != "" && (q.subresource != "status" || !q.typ.Status):
		return notServed()
	}
	handlers := map[string]func(http.ResponseWriter, *request) error{
		"get": a.get, "list": a.list, "watch": a.watch, "create": a.create, "update": a.update,
		"patch": a.patch, "delete": a.delete, "deletecollection": a.deleteCollection,
	}
	h := handlers[q.verb]
	if h == nil {
		return apierrors.NewMethodNotSupported(q.typ.GroupResource(), q.verb)
	}
	return h(w, q)
}

func notServed() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
	}}
}

// writeError is the one place that turns an error into an answer.
func (a *api) writeError(w http.ResponseWriter, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		a.log.Error("request failed", "err", err)
		status = apierrors.NewInternalError(err)
	}
	s := status.Status()
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	if d := s.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	a.writeJSON(w, int(s.Code), &s)
}

func (a *api) writeJSON(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		a.writeError(w, fmt.Errorf("encode answer: %w", err))
		return
	}
	a.writeBytes(w, code, b)
}

func (a *api) writeBytes(w http.ResponseWriter, code int, b []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(code)
	if _, err := w.Write(b); err != nil { //nolint:gosec // JSON, of objects that the client itself stored
		a.log.Debug("client went away", "err", err)
	}
}
