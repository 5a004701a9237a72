package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
)

const (
	systemsURI  = "/redfish/v1/Systems"
	systemURI   = "/redfish/v1/Systems/vm1"
	sessionsURI = "/redfish/v1/SessionService/Sessions"
	sessionURI  = "/redfish/v1/SessionService/Sessions/1"
)

// item is one resource of the service that the tests crawl.
type item struct {
	allow string
	body  map[string]any
	tag   string // the ETag, when it is not to be made from the body
	raw   string // a member that is put in front of Name as it stands
}

// service is a small correct Redfish service: a root, two collections, a member in each.
type service struct {
	items map[string]*item
	// fault may answer instead of the service; it is false when it leaves the request alone.
	fault func(w http.ResponseWriter, r *http.Request) bool
	// header is called last before the headers of an answer go out.
	header func(r *http.Request, h http.Header)
}

func ref(uri string) map[string]any { return map[string]any{"@odata.id": uri} }

func newItem(allow, uri, odataType string, more map[string]any) *item {
	body := map[string]any{"@odata.id": uri, "@odata.type": odataType, "Name": path.Base(uri)}
	maps.Copy(body, more)
	return &item{allow: allow, body: body}
}

func newService() *service {
	return &service{items: map[string]*item{
		root: newItem("GET, HEAD", root, "#ServiceRoot.v1_20_0.ServiceRoot", map[string]any{
			"Id": "RootService", "Systems": ref(systemsURI),
			"Links": map[string]any{"Sessions": ref(sessionsURI)},
		}),
		systemsURI: newItem("GET, HEAD", systemsURI, "#ComputerSystemCollection.ComputerSystemCollection", map[string]any{
			"Members": []any{ref(systemURI)}, "Members@odata.count": 1,
		}),
		systemURI: newItem("GET, HEAD, PATCH", systemURI, "#ComputerSystem.v1_27_0.ComputerSystem", map[string]any{
			"Id": "vm1", "PowerState": "On", "SerialNumber": "1",
			"Status": map[string]any{"State": "Enabled", "Health": "OK"},
			"Actions": map[string]any{"#ComputerSystem.Reset": map[string]any{
				"target": systemURI + "/Actions/ComputerSystem.Reset", "title": "Reset",
				"ResetType@Redfish.AllowableValues": []any{"On", "ForceOff"},
			}},
		}),
		sessionsURI: newItem("GET, HEAD, POST", sessionsURI, "#SessionCollection.SessionCollection", map[string]any{
			"Members": []any{ref(sessionURI)}, "Members@odata.count": 1,
		}),
		sessionURI: newItem("GET, HEAD, DELETE", sessionURI, "#Session.v1_8_0.Session", map[string]any{
			"Id": "1", "UserName": "admin", "Password": nil,
		}),
	}}
}

// RoundTrip answers without a network, so that a test also sees what net/http would hide, such as a
// body in an answer to HEAD.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.fault != nil && s.fault(w, r) {
		return
	}
	h := w.Header()
	h.Set("OData-Version", "4.0")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", "application/json; charset=utf-8")
	it := s.items[canonical(r.URL.RequestURI())]
	switch {
	case it == nil:
		s.refuse(w, r, http.StatusNotFound, "ResourceMissingAtURI", r.URL.Path)
	case !slices.Contains(strings.Split(it.allow, ", "), r.Method):
		h.Set("Allow", it.allow)
		s.refuse(w, r, http.StatusMethodNotAllowed, "OperationNotAllowed")
	default:
		s.read(w, r, it)
	}
}

func (s *service) read(w http.ResponseWriter, r *http.Request, it *item) {
	body, tag := it.encode()
	h := w.Header()
	h.Set("Allow", it.allow)
	h.Set("ETag", tag)
	typ, _ := parseType(it.body["@odata.type"].(string))
	h.Set("Link", "<"+schemaBase+typ.file()+">; rel=describedby")
	status := http.StatusOK
	if r.Header.Get("If-None-Match") == tag {
		status, body = http.StatusNotModified, nil
	}
	if r.Method == http.MethodHead {
		body = nil
	}
	s.send(w, r, status, body)
}

func (s *service) refuse(w http.ResponseWriter, r *http.Request, status int, key string, args ...any) {
	body, _ := json.Marshal(errorBody(key, append([]any{}, args...)))
	s.send(w, r, status, body)
}

func (s *service) send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if s.header != nil {
		s.header(r, w.Header())
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// encode returns the body with its ETag in it, and the ETag.
func (i *item) encode() ([]byte, string) {
	plain, _ := json.Marshal(i.body)
	hash := fnv.New64a()
	_, _ = hash.Write(plain)
	tag := cmp.Or(i.tag, fmt.Sprintf(`"%x"`, hash.Sum64()))
	body := map[string]any{"@odata.etag": tag}
	maps.Copy(body, i.body)
	full, _ := json.Marshal(body)
	if i.raw != "" {
		full = bytes.Replace(full, []byte(`"Name"`), []byte(i.raw+`,"Name"`), 1)
	}
	return full, tag
}

// errorBody is a correct Redfish error with one message.
func errorBody(key string, args []any) map[string]any {
	id := "Base.1.22." + key
	return map[string]any{"error": map[string]any{
		"code": id, "message": "It did not work.",
		"@Message.ExtendedInfo": []any{map[string]any{
			"@odata.type": "#Message.v1_3_0.Message",
			"MessageId":   id, "Message": "It did not work.", "MessageArgs": args,
			"MessageSeverity": "Critical", "Severity": "Critical", "Resolution": "Do something else.",
		}},
	}}
}
