package kubevirt

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	calls *prometheus.CounterVec
	lag   prometheus.Histogram
	up    prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubevirt_redfish_api_requests_total", Help: "Requests to the cluster's API server by method and status code; 0 when there was no answer.",
		}, []string{"method", "code"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kubevirt_redfish_watch_lag_seconds", Help: "Time from the API server's answer to a change until the watches showed its effect.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2},
		}),
		up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kubevirt_redfish_api_up", Help: "1 while the cluster's API server answers the watches.",
		}),
	}
	registry.MustRegister(m.calls, m.lag, m.up)
	return m
}

// countCalls wraps the transport to the API server.
func (m *metrics) countCalls(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		code := 0
		if response != nil {
			code = response.StatusCode
		}
		m.calls.WithLabelValues(r.Method, strconv.Itoa(code)).Inc()
		return response, err //nolint:wrapcheck // a transport passes errors on as they are
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
