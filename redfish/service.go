package redfish

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// Authenticator turns the credentials of a request into its caller. It returns [auth.ErrUnauthenticated]
// when there are none or they are wrong, and may block while it verifies them.
type Authenticator interface {
	Authenticate(r *http.Request) (auth.Principal, error)
}

// Options configures a [Service].
type Options struct {
	Backend       Backend
	Authenticator Authenticator
	// Logger gets one record per request and one per change. Required.
	Logger *slog.Logger
	// Metrics is where the request metrics are registered. Required.
	Metrics prometheus.Registerer
	// UUID identifies the service over restarts and replicas: ServiceRoot.UUID.
	UUID string
	// Version of the product: Manager.FirmwareVersion.
	Version string
	// Host says under which name, addresses and port managers are reached.
	Host Host
	// Now is the clock; default time.Now.
	Now func() time.Time
	// NewRequestID makes the id of requests that bring none; default: 16 random hexadecimal digits.
	NewRequestID func() string
}

// Host is where the service listens, as managers show it.
type Host struct {
	Name      string
	Addresses []string
	Port      int
	TLS       bool
}

// Service is the Redfish service, an http.Handler for everything below /redfish.
type Service struct {
	Options
	uris    *uris
	pages   *pages
	metrics *metrics
}

// New makes a service.
func New(opts Options) *Service {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.NewRequestID == nil {
		opts.NewRequestID = newRequestID
	}
	return &Service{Options: opts, uris: newURIs(routes()), pages: newPages(), metrics: newMetrics(opts.Metrics)}
}

// ServeHTTP answers one request: it gives it an id, survives its panics, and leaves one record of it.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{service: s, ResponseWriter: w, r: r, began: s.Now(), id: [1]string{s.requestID(r)}}
	header := w.Header()
	header["Odata-Version"] = headerODataVersion
	header["Cache-Control"] = headerNoStore
	header["X-Request-Id"] = c.id[:]
	s.metrics.running.Inc()
	defer c.record()
	defer c.recover()
	if err := c.serve(); err != nil {
		c.fail(err)
	}
}

// Header values that never change; shared, so that they cost no allocation.
var (
	headerODataVersion = []string{"4.0"}
	headerNoStore      = []string{"no-store"}
	headerJSON         = []string{"application/json"}
	headerXML          = []string{"application/xml"}
	headerBasic        = []string{`Basic realm="KubeVirt Redfish", charset="UTF-8"`}
)
