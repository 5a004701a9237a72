package sim

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// request is an API request taken apart as Kubernetes does it.
type request struct {
	http  *http.Request
	query url.Values
	user  string

	verb           string // get, list, watch, create, update, patch, delete, deletecollection
	group, version string
	resource       string // plural
	namespace      string
	name           string
	subresource    string

	// typ is nil for what is not stored: reviews and KubeVirt's subresources.
	typ *resource.Type
}

// parse takes the URL apart; false when it is no resource URL.
func parse(r *http.Request) (*request, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	q := &request{http: r, query: r.URL.Query()}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		q.version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		q.group, q.version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 && (q.group != "" || resource.Lookup("", q.version, parts[2]) != nil) {
		q.namespace, parts = parts[1], parts[2:]
	}
	q.resource = parts[0]
	if len(parts) > 1 {
		q.name = parts[1]
	}
	if len(parts) > 2 {
		q.subresource = strings.Join(parts[2:], "/")
	}
	if q.group == "" && q.resource == "namespaces" {
		q.namespace = ""
	}
	q.typ = resource.Lookup(q.group, q.version, q.resource)
	q.verb = verb(q)
	return q, true
}

func verb(q *request) string {
	switch q.http.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case q.query.Get("watch") == "true" || q.query.Get("watch") == "1":
			return "watch"
		case q.name == "":
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if q.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return strings.ToLower(q.http.Method)
}

func (q *request) key() store.Key { return store.Key{Namespace: q.namespace, Name: q.name} }

// target is the resource as rights and faults name it: with its subresource.
func (q *request) target() string {
	if q.subresource == "" {
		return q.resource
	}
	return q.resource + "/" + q.subresource
}

func (q *request) dryRun() bool { return len(q.query["dryRun"]) > 0 }
