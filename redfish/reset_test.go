package redfish_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

func TestEveryListedResetTypeReachesTheMachine(t *testing.T) { // PWR-08
	f := odd()
	s := redfish.New(options(f))
	for _, how := range f.machines[0].Resets {
		resp := serve(s, request(http.MethodPost, node0+reset, "operator", `{"ResetType":"`+string(how)+`"}`))
		require.Equal(t, http.StatusNoContent, resp.Code)
		require.Empty(t, resp.Body.String())
	}
	require.Equal(t, f.machines[0].Resets, f.machines[0].resets)
}

func TestResetTypesAreThoseOfTheMachine(t *testing.T) {
	f := odd()
	f.machines[0].Resets = []redfish.ResetType{redfish.ResetOn}
	s := redfish.New(options(f))
	for how, want := range map[string]int{"On": http.StatusNoContent, "ForceOff": http.StatusBadRequest} {
		resp := serve(s, request(http.MethodPost, node0+reset, "admin", `{"ResetType":"`+how+`"}`))
		require.Equal(t, want, resp.Code, how)
	}
	require.Equal(t, []redfish.ResetType{redfish.ResetOn}, f.machines[0].resets)
}

func TestWhatClientsSendWithAReset(t *testing.T) {
	tests := map[string]func(r *http.Request){
		"no content type":  func(r *http.Request) { r.Header.Del("Content-Type") },
		"charset":          func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") },
		"a stale If-Match": func(r *http.Request) { r.Header.Set("If-Match", `"stale"`) },
		"an odata annotation": func(r *http.Request) {
			*r = *request(http.MethodPost, r.URL.Path, "admin", `{"@odata.type":"x","ResetType":"On"}`)
		},
		"a slash at the end":     func(r *http.Request) { r.URL.Path += "/" },
		"the chassis-scoped URI": func(r *http.Request) { r.URL.Path = "/redfish/v1/Chassis/cp1/Systems/node-0" + reset },
		"the chassis-scoped URI with a slash": func(r *http.Request) {
			r.URL.Path = "/redfish/v1/Chassis/cp1/Systems/node-0" + reset + "/"
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f := odd()
			r := request(http.MethodPost, node0+reset, "admin", on)
			change(r)
			resp := serve(redfish.New(options(f)), r)
			require.Equal(t, http.StatusNoContent, resp.Code)
			require.Equal(t, []redfish.ResetType{redfish.ResetOn}, f.machines[0].resets)
		})
	}
}

func TestAHeldResetIsATaskUntilItsEnd(t *testing.T) {
	f := odd()
	held := f.machines[3]
	held.reset = func(context.Context, redfish.ResetType) (redfish.TaskID, error) { return "cp1.held.a1", nil }
	s := redfish.New(options(f))
	const monitor = "/redfish/v1/TaskService/TaskMonitors/cp1.held.a1"
	task := serve(s, request(http.MethodGet, "/redfish/v1/TaskService/Tasks/cp1.held.a1", "operator", "")).Body.String()

	for name, r := range map[string]*http.Request{
		"the action":  request(http.MethodPost, "/redfish/v1/Systems/cp1.held"+reset, "operator", on),
		"its monitor": request(http.MethodGet, monitor, "operator", ""),
	} {
		resp := serve(s, r)
		require.Equal(t, http.StatusAccepted, resp.Code, name)
		require.Equal(t, monitor, resp.Header().Get("Location"), name)
		require.JSONEq(t, withoutETag(t, task), resp.Body.String(), name)
	}

	outcomes := map[redfish.TaskState]int{
		redfish.TaskRunning: http.StatusAccepted, redfish.TaskCompleted: http.StatusNoContent,
		redfish.TaskCancelled: http.StatusConflict, redfish.TaskException: http.StatusConflict,
	}
	for state, want := range outcomes {
		f.tasks[0].State, f.tasks[0].Failed, f.tasks[0].Ended = state, state == redfish.TaskException, time.Time{}
		if want != http.StatusAccepted {
			f.tasks[0].Ended = then
		}
		resp := serve(s, request(http.MethodGet, monitor, "operator", ""))
		require.Equal(t, want, resp.Code, state)
		if want == http.StatusConflict {
			require.Equal(t, [][]string{{"GeneralError"}, {"GeneralError"}}, failureOf(t, resp).messages)
		}
	}
}

func TestAnAcceptedResetIsNeverAFailure(t *testing.T) {
	f := odd()
	f.machines[0].reset = func(context.Context, redfish.ResetType) (redfish.TaskID, error) { return "cp1.node-0.gone", nil }
	resp := serve(redfish.New(options(f)), request(http.MethodPost, node0+reset, "operator", on))
	require.Equal(t, http.StatusAccepted, resp.Code)
	require.Equal(t, "/redfish/v1/TaskService/TaskMonitors/cp1.node-0.gone", resp.Header().Get("Location"))
}

func TestAChangeOutlivesItsClient(t *testing.T) {
	f := odd()
	f.machines[0].reset = func(ctx context.Context, _ redfish.ResetType) (redfish.TaskID, error) {
		_, bounded := ctx.Deadline()
		require.True(t, bounded)
		return "", ctx.Err()
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	resp := serve(redfish.New(options(f)), request(http.MethodPost, node0+reset, "operator", on).WithContext(gone))
	require.Equal(t, http.StatusNoContent, resp.Code)
}
