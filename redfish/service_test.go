package redfish_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// callers are who the tests log in as: the name is the user, without a password.
var callers = map[string]auth.Principal{
	"admin":    {User: "admin", Role: auth.Administrator, Grants: auth.NewGrants(auth.AllChassis)},
	"operator": {User: "operator", Role: auth.Operator, Grants: auth.NewGrants("cp1")},
	"reader":   {User: "reader", Role: auth.ReadOnly, Grants: auth.NewGrants("cp2")},
	"norole":   {User: "norole", Grants: auth.NewGrants(auth.AllChassis)},
	"nobody":   {User: "nobody", Role: auth.Operator},
}

// byName is the authenticator of the tests.
type byName struct{}

func (byName) Authenticate(r *http.Request) (auth.Principal, error) {
	name, _, _ := r.BasicAuth()
	who, ok := callers[name]
	if !ok {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return who, nil
}

func options(backend redfish.Backend) redfish.Options {
	return redfish.Options{
		Backend: backend, Authenticator: byName{}, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		UUID: "92384634-2938-2342-8820-489239905423", Version: "1.2.3",
		Host:         redfish.Host{Name: "bmc.example.test", Addresses: []string{"192.0.2.10", "2001:db8::10"}, Port: 8443, TLS: true},
		Now:          func() time.Time { return then },
		NewRequestID: func() string { return "0123456789abcdef" },
	}
}

// request makes a request; as is a name in callers, or empty.
func request(method, uri, as, body string) *http.Request {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, uri, content)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if as != "" {
		r.SetBasicAuth(as, "")
	}
	return r
}

func serve(s http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}
