package sim

import (
	"net/http"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/virt"
)

// subresource passes a request on to what virt-api serves. Its actions answer without a body.
func (a *api) subresource(w http.ResponseWriter, q *request) error {
	body, err := readJSON(q)
	if err != nil {
		return err
	}
	code, answer, err := a.virt.Call(q.http.Method, q.resource, q.subresource, q.key(), body)
	if err != nil {
		return err
	}
	if answer == nil {
		w.WriteHeader(code)
		return nil
	}
	a.writeJSON(w, code, answer)
	return nil
}

// isVersion is the one request of the group that needs no right.
func (q *request) isVersion() bool {
	return q.group == virt.SubresourceGroup && q.resource == "version"
}
