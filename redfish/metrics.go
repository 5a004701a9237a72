package redfish

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	running  prometheus.Gauge
	panics   prometheus.Counter

	mu    sync.RWMutex
	kinds map[kind]series // so that the labels of a request are looked up without being hashed
}

// kind is what requests are counted by. There are as many as routes, known methods and statuses.
type kind struct {
	route, method string
	status        int
}

// series are the metrics of one kind of request.
type series struct {
	requests prometheus.Counter
	latency  prometheus.Observer
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		kinds: map[kind]series{},
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
	counted := m.seriesOf(kind{path, method, status})
	counted.requests.Inc()
	counted.latency.Observe(took.Seconds())
}

func (m *metrics) seriesOf(k kind) series {
	m.mu.RLock()
	found, ok := m.kinds[k]
	m.mu.RUnlock()
	if ok {
		return found
	}
	made := series{m.requests.WithLabelValues(k.route, k.method, strconv.Itoa(k.status)), m.latency.WithLabelValues(k.route, k.method)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kinds[k] = made
	return made
}
