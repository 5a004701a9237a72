//go:build !race

// Costs are those of the service alone: the race detector allocates itself.

package redfish_test

import (
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// discard is a ResponseWriter that costs nothing: what a request allocates is the service's own.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

// always is an authenticator that costs nothing.
type always auth.Principal

func (a always) Authenticate(*http.Request) (auth.Principal, error) { return auth.Principal(a), nil }

// hot is a service as it runs: with a log and with its own request ids.
func hot() *redfish.Service {
	opts := options(odd())
	opts.Authenticator = always(callers["admin"])
	opts.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil))
	opts.NewRequestID = nil
	return redfish.New(opts)
}

// TestAllocationsOfARead: one each for the call, the request id, the closure that could build the page, and
// the log; a not modified answer costs the same.
func TestAllocationsOfARead(t *testing.T) {
	tests := map[string]struct {
		uri         string
		ifNoneMatch string
		want        int
		allocations float64
	}{
		"system":              {node0, "", http.StatusOK, 4},
		"system not modified": {node0, "*", http.StatusNotModified, 4},
		"virtual media":       {node0 + "/VirtualMedia/Cd", "", http.StatusOK, 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, w := hot(), &discard{header: http.Header{}}
			r := request(http.MethodGet, test.uri, "", "")
			if test.ifNoneMatch != "" {
				r.Header.Set("If-None-Match", test.ifNoneMatch)
			}
			got := testing.AllocsPerRun(200, func() { s.ServeHTTP(w, r) })
			require.Equal(t, test.want, w.status)
			require.InDelta(t, test.allocations, got, 0)
		})
	}
}

func BenchmarkSystem(b *testing.B) {
	s, w := hot(), &discard{header: http.Header{}}
	r := request(http.MethodGet, node0, "", "")
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(w, r)
	}
	require.Equal(b, http.StatusOK, w.status)
}
