package redfish_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// hiddenMark is in the description of every machine that the caller "reader" may not see.
const hiddenMark = "hidden-from-you"

func marked() *fleet {
	f := odd()
	for _, m := range f.machines {
		if m.KubeVirt.Namespace != "cp2" {
			m.SerialNumber, m.HostName, m.KubeVirt.Node = hiddenMark, hiddenMark, hiddenMark
		}
	}
	return f
}

// FuzzPath: whatever the method and the path, a caller gets a whole answer of an expected kind, and nothing of
// machines of others.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"/redfish", "/redfish/v1/", "/redfish/v1/$metadata", "/redfish/v1/Systems/cp1.node-0", "/redfish/v1/Systems/cp2.node-0/",
		"/redfish/v1/Systems//", "/redfish/v1/Chassis/cp1/Systems/node-0", "/redfish/v1/Chassis/cp2/Systems/node-0/Bios",
		"/redfish/v1/Chassis/cp2/Systems/../Systems/cp1.node-0", "/redfish/v1/Systems/cp2.node-0/Processors/CPU0%00",
		"/redfish/v1/Systems/cp2.node-0/Storage/virtio/Drives/root", "/redfish/v1/Systems/%2e%2e/Chassis/cp1",
		"/redfish/v1/TaskService/TaskMonitors/cp2.node-0.b1", "/redfish/v1/Systems/cp2.node-0/Actions/ComputerSystem.Reset",
		"/redfish/v1/Systems?$filter=x", "//", "/", "*", "/redfish/v1/Systems/cp1%2enode-0", "/redfish/v1/Chassis/cp2%2fSystems%2fnode-0",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, "X"} {
			f.Add(method, path)
		}
	}
	s := redfish.New(options(marked()))
	expected := []int{200, 202, 400, 403, 404, 405, 409, 501}
	f.Fuzz(func(t *testing.T, method, path string) {
		target, err := url.ParseRequestURI(path)
		if err != nil || !validMethod(t, method) {
			t.Skip("no request")
		}
		r, before := request(method, "/", "reader", ""), *target
		r.URL = target
		resp := serve(s, r)
		body := resp.Body.String()
		require.Contains(t, expected, resp.Code)
		require.NotContains(t, body, hiddenMark)
		require.Equal(t, before, *target, "the request is the caller's")
		switch {
		case method == http.MethodHead:
			require.Empty(t, body)
		case resp.Header().Get("Content-Type") == "application/xml":
			require.NoError(t, xml.Unmarshal([]byte(body), new(struct{})))
		default:
			require.True(t, json.Valid([]byte(body)), body)
		}
	})
}

func validMethod(t *testing.T, method string) bool {
	_, err := http.NewRequestWithContext(t.Context(), method, "/", nil)
	return err == nil && method != ""
}

// FuzzResetBody: a body makes a machine do only what it says and what is allowable, and never a failure of
// the service.
func FuzzResetBody(f *testing.F) {
	for _, body := range []string{
		on, `{"ResetType":"ForceOff","@odata.id":"x"}`, `{"ResetType":"on"}`, `{"ResetType":7}`, `{"ResetType":null}`, `{}`, ``, `[]`, `null`,
		`{"ResetType":"On"}{}`, `{"ResetType":"On","ResetType":"ForceOff"}`, `{"ResetType":{"a":[1e999]}}`, "\xff", `{"":1}`, `{"resettype":"On"}`,
	} {
		f.Add("application/json", body)
	}
	f.Add("text/plain", on)
	f.Add("application/json; charset=\"", on)
	f.Fuzz(func(t *testing.T, kind, body string) {
		fleet := odd()
		r := httptest.NewRequest(http.MethodPost, node0+reset, strings.NewReader(body))
		r.SetBasicAuth("operator", "")
		r.Header.Set("Content-Type", kind)
		resp := serve(redfish.New(options(fleet)), r)
		done := fleet.machines[0].resets
		if resp.Code == http.StatusNoContent {
			require.Len(t, done, 1)
			require.Contains(t, fleet.machines[0].Resets, done[0])
			return
		}
		require.Empty(t, done)
		require.Contains(t, []int{400, 413, 415}, resp.Code)
		failureOf(t, resp)
	})
}
