package redfish

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	running  prometheus.Gauge
	panics   prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kubevirt_redfish_http_requests_total", Help: "Requests by route, method and status.",
		}, []string{"route", "method", "status"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kubevirt_redfish_http_request_duration_seconds", Help: "Time from the request's header to its answer, by route and method.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kubevirt_redfish_http_requests_running", Help: "Requests that are being answered.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kubevirt_redfish_panics_total", Help: "Panics of handlers, each answered with a 500.",
		}),
	}
	registry.MustRegister(m.requests, m.latency, m.running, m.panics)
	return m
}

// observe counts a request. Unknown URIs share one label and unknown methods another, so that clients cannot
// make series.
func (m *metrics) observe(r *route, method string, status int, took time.Duration) {
	path := "none"
	if r != nil {
		path = r.path
	}
	if !knownMethods[method] {
		method = "other"
	}
	m.running.Dec()
	m.requests.WithLabelValues(path, method, statusText(status)).Inc()
	m.latency.WithLabelValues(path, method).Observe(took.Seconds())
}

func statusText(status int) string {
	switch status { // the frequent ones without an allocation
	case 200:
		return "200"
	case 204:
		return "204"
	case 304:
		return "304"
	default:
		return strconv.Itoa(status)
	}
}
