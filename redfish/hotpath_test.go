package redfish_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"log/slog"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// discard is a ResponseWriter that costs nothing: what a request allocates is the service's own.
type discard struct {
	header http.Header
	status int
	bytes  int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { d.bytes += len(b); return len(b), nil }

func BenchmarkSystem(b *testing.B) {
	opts := options(odd())
	opts.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil))
	opts.Metrics = prometheus.NewRegistry()
	s := redfish.New(opts)
	r := request(http.MethodGet, "/redfish/v1/Systems/cp1.node-0", "admin", "")
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(w, r)
	}
	require.Equal(b, http.StatusOK, w.status)
}
