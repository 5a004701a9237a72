package redfish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// recorded serves r and returns what was logged, one record per line, and the size of the answer.
func recorded(t *testing.T, f *fleet, r *http.Request) (records []map[string]any, size int) {
	t.Helper()
	var text bytes.Buffer
	opts := options(f)
	opts.Logger = slog.New(slog.NewJSONHandler(&text, nil))
	now := then
	opts.Now = func() time.Time { now = now.Add(time.Millisecond); return now }
	body := serve(redfish.New(opts), r).Body.String()
	for line := range strings.Lines(text.String()) {
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		delete(record, "time")
		delete(record, "stack")
		records = append(records, record)
	}
	return records, len(body)
}

type record = map[string]any

func access(method, path, system, user string, status int) record {
	return record{
		"level": "INFO", "msg": "request", "request": "0123456789abcdef", "method": method, "path": path, "system": system,
		"user": user, "from": "192.0.2.1", "status": float64(status), "micros": 1e3,
	}
}

func audit(system, user string, status int, more record) record {
	r := record{
		"level": "INFO", "msg": "audit", "request": "0123456789abcdef", "system": system, "user": user, "from": "192.0.2.1",
		"status": float64(status), "action": "POST /redfish/v1/Systems/{SystemId}/Actions/ComputerSystem.Reset",
	}
	maps.Copy(r, more)
	return r
}

type recordCase struct {
	request *http.Request
	setup   func(*fleet)
	want    []record
}

func readRecords() map[string]recordCase {
	return map[string]recordCase{
		"a read": {
			request(http.MethodHead, node0+"/?token=hunter2", "reader", ""), nil,
			[]record{access("HEAD", node0, "", "reader", 404)},
		},
		"a stranger with a long request": {
			request(strings.Repeat("M", 9999), "/"+strings.Repeat("x", 9999), "", ""), nil,
			[]record{access(strings.Repeat("M", 64)+"…", "/"+strings.Repeat("x", 1023)+"…", "", "", 401)},
		},
		"a read of a visible machine": {
			request(http.MethodHead, node0, "operator", ""), nil,
			[]record{access("HEAD", node0, "cp1.node-0", "operator", 200)},
		},
		"a stranger": {
			request(http.MethodHead, node0, "hunter2", ""), nil,
			[]record{access("HEAD", node0, "", "", 401)},
		},
		"an invented method": {
			request("BREW", "/redfish/v1/Systems", "operator", ""), nil,
			[]record{access("BREW", "/redfish/v1/Systems", "", "operator", 501)},
		},
	}
}

func changeRecords() map[string]recordCase {
	failing := func(f *fleet) {
		f.machines[0].reset = func(context.Context, redfish.ResetType) (redfish.TaskID, error) { return "", redfish.ErrUnavailable }
	}
	return map[string]recordCase{
		"a change through an alias": {
			request(http.MethodPost, "/redfish/v1/Chassis/cp1/Systems/node-0"+reset+"?hunter2", "operator", on), nil,
			[]record{
				access("POST", node0+reset, "cp1.node-0", "operator", 204),
				audit("cp1.node-0", "operator", 204, record{"reset": "On"}),
			},
		},
		"a change without privilege": {
			request(http.MethodPost, "/redfish/v1/Systems/cp2.node-0"+reset, "reader", `{"ResetType":"hunter2"}`), nil,
			[]record{
				access("POST", "/redfish/v1/Systems/cp2.node-0"+reset, "cp2.node-0", "reader", 403),
				audit("cp2.node-0", "reader", 403, record{"err": "403 InsufficientPrivilege"}),
			},
		},
		"a change that cannot be understood": {
			request(http.MethodPost, node0+reset, "operator", `{"ResetType":["hunter2"]}`), nil,
			[]record{
				access("POST", node0+reset, "cp1.node-0", "operator", 400),
				audit("cp1.node-0", "operator", 400, record{"err": "400 ActionParameterValueTypeError: json: cannot unmarshal array into Go value of type string"}),
			},
		},
		"a change that fails": {
			request(http.MethodPost, node0+reset, "operator", on), failing,
			[]record{
				{"level": "ERROR", "msg": "request failed", "request": "0123456789abcdef", "path": node0 + reset, "user": "operator", "err": "platform unavailable"},
				access("POST", node0+reset, "cp1.node-0", "operator", 503),
				audit("cp1.node-0", "operator", 503, record{"reset": "On", "err": "platform unavailable"}),
			},
		},
		"a panic": {
			request(http.MethodPost, node0+reset, "operator", on),
			func(f *fleet) {
				f.machines[0].reset = func(context.Context, redfish.ResetType) (redfish.TaskID, error) { panic("defect") }
			},
			[]record{
				{"level": "ERROR", "msg": "panic", "request": "0123456789abcdef", "path": node0 + reset, "err": "defect"},
				access("POST", node0+reset, "cp1.node-0", "operator", 500),
				audit("cp1.node-0", "operator", 500, record{"reset": "On", "err": "500 InternalError"}),
			},
		},
	}
}

func TestRecordsOfARequest(t *testing.T) {
	tests := readRecords()
	maps.Copy(tests, changeRecords())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := odd()
			if test.setup != nil {
				test.setup(f)
			}
			got, size := recorded(t, f, test.request)
			for _, want := range test.want {
				if want["msg"] == "request" {
					want["bytes"] = float64(size)
				}
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestMetricsOfRequests(t *testing.T) {
	f := odd()
	f.machines[1].reset = func(context.Context, redfish.ResetType) (redfish.TaskID, error) { panic("defect") }
	opts := options(f)
	registry := prometheus.NewPedanticRegistry()
	opts.Metrics = registry
	s := redfish.New(opts)
	for _, r := range []*http.Request{
		request(http.MethodGet, node0, "admin", ""), request(http.MethodGet, "/redfish/v1/Systems/cp1.off", "admin", ""),
		request(http.MethodGet, "/redfish/v1/Systems/none", "admin", ""), request(http.MethodGet, "/redfish/v1/Systems", "", ""),
		request(http.MethodGet, "/a", "admin", ""), request(http.MethodGet, "/b", "admin", ""),
		request("BREW", "/redfish", "admin", ""), request("STEW", "/redfish", "admin", ""),
		request(http.MethodPost, node0+reset, "admin", on), request(http.MethodPost, "/redfish/v1/Systems/cp1.off"+reset, "admin", on),
	} {
		serve(s, r)
	}
	require.Equal(t, map[string]float64{
		"kubevirt_redfish_http_requests_total GET /redfish/v1/Systems/{SystemId} 200":                               2,
		"kubevirt_redfish_http_requests_total GET /redfish/v1/Systems/{SystemId} 404":                               1,
		"kubevirt_redfish_http_requests_total GET none 401":                                                         1,
		"kubevirt_redfish_http_requests_total GET none 404":                                                         2,
		"kubevirt_redfish_http_requests_total POST /redfish/v1/Systems/{SystemId}/Actions/ComputerSystem.Reset 204": 1,
		"kubevirt_redfish_http_requests_total POST /redfish/v1/Systems/{SystemId}/Actions/ComputerSystem.Reset 500": 1,
		"kubevirt_redfish_http_requests_total other /redfish 501":                                                   2,
		"kubevirt_redfish_panics_total":                                                                             1,
		"kubevirt_redfish_http_requests_running":                                                                    0,

		"kubevirt_redfish_http_request_duration_seconds GET /redfish/v1/Systems/{SystemId}":                               3,
		"kubevirt_redfish_http_request_duration_seconds GET none":                                                         3,
		"kubevirt_redfish_http_request_duration_seconds POST /redfish/v1/Systems/{SystemId}/Actions/ComputerSystem.Reset": 2,
		"kubevirt_redfish_http_request_duration_seconds other /redfish":                                                   2,
	}, gathered(t, registry))
}

// gathered is the value of each counter and gauge, and the count of each histogram, by name and label values.
func gathered(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}
