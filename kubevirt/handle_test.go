package kubevirt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// api stands in for the API server: it answers as scripted and notes what was asked.
type api struct {
	*httptest.Server
	mu      sync.Mutex
	asked   []string
	respond func(r *http.Request, body string) (int, any)
}

// newAPI serves respond and notes "METHOD path" of each request, with the path's common beginning left out.
func newAPI(t *testing.T, respond func(r *http.Request, body string) (int, any)) *api {
	t.Helper()
	a := &api{respond: respond}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		path := r.URL.Path[strings.LastIndex(r.URL.Path, "/cp1/")+len("/cp1/"):]
		a.mu.Lock()
		a.asked = append(a.asked, r.Method+" "+path)
		a.mu.Unlock()
		code, answer := a.respond(r, string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if answer != nil {
			_, _ = io.WriteString(w, answer.(string))
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// statusText is an error as the API server writes it.
func statusText(code int, reason metav1.StatusReason, message string) string {
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","code":` + strconv.Itoa(code) + `,"reason":"` + string(reason) + `","message":` + quote(message) + `}`
}

// backendOn is a backend that talks to the server, with the machine in its store and no watches.
func backendOn(t *testing.T, url string, m *machine) *Backend {
	t.Helper()
	b, err := New(Options{
		Config: &rest.Config{Host: url, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, Exposure: auth.NewExposure([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}}),
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), NewID: func() string { return "c0ffee" },
	})
	require.NoError(t, err)
	if m != nil {
		b.store.setVM(m.key, m.vm)
		b.store.setVMI(m.key, m.vmi)
	}
	return b
}

func (b *Backend) handleOf(t *testing.T) *handle {
	t.Helper()
	f := b.store.find(callerOf("cp1"), "cp1.node-0", Enhanced)
	require.NotNil(t, f.machine)
	return &handle{found: f, backend: b, now: b.Now()}
}

func TestFailedCallsMean(t *testing.T) {
	vms := schema.GroupResource{Group: "kubevirt.io", Resource: "virtualmachines"}
	conflict := func(text string) error { return apierrors.NewConflict(vms, "node-0", errors.New(text)) }
	rbac := apierrors.NewForbidden(vms, "node-0", errors.New(`User "system:serviceaccount:a:b" cannot update resource "virtualmachines/stop" in API group "subresources.kubevirt.io" in the namespace "cp1"`))
	testFailed := apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", "testing value /metadata/uid failed: test failed", 0, false)
	denied := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: 422, Reason: metav1.StatusReasonInvalid, Message: `admission webhook "virtualmachine-validator.kubevirt.io" denied the request: the VM cannot be so`,
	}}
	tests := map[string]struct {
		do    verb
		err   error
		run   strategy // default Always
		state string   // default running
		kind  error    // nil when the purpose is reached all the same
		again bool
		lacks right
	}{
		"right to stop":                 {do: stop, err: rbac, kind: redfish.ErrForbidden, again: true, lacks: rightStop},
		"right to start":                {do: start, err: rbac, kind: redfish.ErrForbidden, again: true, lacks: rightStart},
		"right to restart":              {do: restart, err: rbac, kind: redfish.ErrForbidden, again: true, lacks: rightRestart},
		"right to delete pods":          {do: kill, err: rbac, kind: redfish.ErrForbidden, again: true, lacks: rightKill},
		"right without a fallback":      {do: pause, err: rbac, kind: redfish.ErrForbidden},
		"right to patch":                {do: setStrategy, err: rbac, kind: redfish.ErrForbidden},
		"KubeVirt forbids":              {do: pause, err: apierrors.NewForbidden(vms, "node-0", errors.New("Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported")), kind: redfish.ErrConflict},
		"a webhook forbids":             {do: start, err: apierrors.NewForbidden(vms, "node-0", errors.New("this one cannot be started on Sundays")), kind: redfish.ErrConflict},
		"off already":                   {do: stop, run: manual, err: conflict("VM is not running")},
		"off, but may come back":        {do: stop, run: rerunOnFailure, err: conflict("VM is not running"), kind: redfish.ErrConflict, again: true},
		"off, but its start is asked":   {do: stop, run: manual, state: "restarting", err: conflict("VM is not running"), kind: redfish.ErrConflict, again: true},
		"going off at once already":     {do: stop, run: halted, err: conflict("Halted only supports manual stop requests with a shorter graceperiod")},
		"paused already":                {do: pause, err: conflict("VMI is already paused")},
		"running already":               {do: unpause, err: conflict("VMI is not paused")},
		"paused too late":               {do: pause, err: apierrors.NewNotFound(vms, "node-0"), kind: redfish.ErrConflict, again: true},
		"started by another":            {do: start, err: conflict("VM is already running"), kind: redfish.ErrConflict, again: true},
		"restart of what is off":        {do: restart, err: conflict("VM is not running: Halted"), kind: redfish.ErrConflict, again: true},
		"another request is served":     {do: restart, err: apierrors.NewInternalError(errors.New("unable to complete request: stop/start already underway")), kind: redfish.ErrConflict, again: true},
		"a test failed":                 {do: setStrategy, err: testFailed, kind: redfish.ErrConflict, again: true},
		"a test failed within virt-api": {do: stop, err: apierrors.NewInternalError(testFailed), kind: redfish.ErrConflict, again: true},
		"pod is another by now":         {do: kill, err: conflict("the UID in the precondition does not match"), kind: redfish.ErrConflict, again: true},
		"a webhook denies":              {do: setStrategy, err: denied, kind: redfish.ErrConflict},
		"KubeVirt does not like it":     {do: restart, err: apierrors.NewBadRequest("no"), kind: redfish.ErrConflict},
		"VM is gone":                    {do: start, err: apierrors.NewNotFound(vms, "node-0"), kind: redfish.ErrNotFound},
		"too many requests":             {do: start, err: apierrors.NewTooManyRequests("slow down", 1), kind: redfish.ErrUnavailable},
		"internal error":                {do: start, err: apierrors.NewInternalError(errors.New("x509: certificate signed by unknown authority")), kind: redfish.ErrUnavailable},
		"unavailable":                   {do: start, err: apierrors.NewServiceUnavailable("virt-api"), kind: redfish.ErrUnavailable},
		"gateway":                       {do: start, err: apierrors.NewGenericServerResponse(502, "put", vms, "node-0", "bad gateway", 0, true), kind: redfish.ErrUnavailable},
		"no connection":                 {do: start, err: errors.New("dial tcp 192.0.2.1:6443: connect: connection refused"), kind: redfish.ErrUnavailable},
		"no answer in time":             {do: start, err: context.DeadlineExceeded, kind: redfish.ErrUnavailable},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := backendOn(t, "http://localhost", nil)
			again, err := b.judge(machineIn(cmp.Or(tc.run, always), cmp.Or(tc.state, "running")), call{do: tc.do}, tc.err)
			require.Equal(t, tc.again, again)
			for _, r := range []right{rightStart, rightStop, rightRestart, rightKill} {
				require.Equal(t, r != tc.lacks, b.rights.has(r), string(r))
			}
			if tc.kind == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tc.kind)
			if refusal := (*redfish.Refusal)(nil); errors.As(err, &refusal) {
				require.ErrorIs(t, err, tc.err, "the cause is kept for the log")
				require.NotContains(t, refusal.Reason, "serviceaccount")
				require.NotContains(t, refusal.Reason, "192.0.2.1")
			}
		})
	}
}

func TestResetIsOneCall(t *testing.T) {
	again := func(m *machine) { m.vmi, m.vm.requests = nil, []changeRequest{{action: actionStart}} }
	tests := map[string]struct {
		run    strategy
		state  string
		how    redfish.ResetType
		want   []string
		shown  func(m *machine) // what the watches bring then
		answer string
	}{
		"start":    {halted, "ended", redfish.ResetOn, []string{"PUT virtualmachines/node-0/start"}, func(m *machine) { m.vm.strategy = always }, ""},
		"stop":     {always, "running", redfish.ResetForceOff, []string{"PUT virtualmachines/node-0/stop"}, func(m *machine) { m.vm.strategy = halted }, `{"gracePeriod":0}`},
		"restart":  {manual, "running", redfish.ResetForceRestart, []string{"PUT virtualmachines/node-0/restart"}, again, `{"gracePeriodSeconds":0}`},
		"graceful": {manual, "running", redfish.ResetGracefulRestart, []string{"PUT virtualmachines/node-0/restart"}, again, `{}`},
		"pause":    {always, "running", redfish.ResetPause, []string{"PUT virtualmachineinstances/node-0/pause"}, func(m *machine) { m.vmi.conditions = []condition{{kind: "Paused", status: "True"}} }, `{}`},
		"nothing":  {always, "running", redfish.ResetOn, nil, nil, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := machineIn(tc.run, tc.state)
			var b *Backend
			server := newAPI(t, func(_ *http.Request, body string) (int, any) {
				if tc.answer != "" {
					require.JSONEq(t, tc.answer, body)
				}
				vm, vmi := *m.vm, m.vmi
				vm.version += 100
				if vmi != nil {
					copied := *vmi
					vmi = &copied
				}
				fresh := &machine{vm: &vm, vmi: vmi}
				tc.shown(fresh)
				time.AfterFunc(20*time.Millisecond, func() { // the watches lag
					b.store.setVM(m.key, fresh.vm)
					b.store.setVMI(m.key, fresh.vmi)
				})
				return http.StatusAccepted, nil
			})
			b = backendOn(t, server.URL, m)
			before := b.store.get(m.key)
			task, err := b.handleOf(t).Reset(t.Context(), tc.how)
			require.NoError(t, err)
			require.Empty(t, task)
			require.Equal(t, tc.want, server.requests())
			if tc.want != nil {
				p := decide(before, tc.how, moment{may: allRights})
				require.True(t, p.shown(b.store.get(m.key)), "reads show it when the answer is sent")
			}
		})
	}
}

func TestConflictsAreDecidedAnewAFewTimes(t *testing.T) {
	m := machineIn(halted, "ended")
	server := newAPI(t, func(*http.Request, string) (int, any) {
		return http.StatusConflict, statusText(409, metav1.StatusReasonConflict, "the object has been modified")
	})
	b := backendOn(t, server.URL, m)
	stop := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() { // somebody changes the VM all the time
		for i := m.vm.version; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				b.store.setVM(m.key, vmNamed("cp1", "node-0", i))
			}
		}
	})
	b.store.setVM(m.key, vmNamed("cp1", "node-0", 1))
	_, err := b.handleOf(t).Reset(t.Context(), redfish.ResetOn)
	close(stop)
	changing.Wait()
	require.ErrorIs(t, err, redfish.ErrConflict)
	require.Len(t, server.requests(), attempts)
}

func TestConflictIsOverWhenSomebodyElseDidTheSame(t *testing.T) {
	m := machineIn(halted, "ended")
	var b *Backend
	server := newAPI(t, func(*http.Request, string) (int, any) {
		started := *m.vm
		started.version, started.strategy = 11, always
		b.store.setVM(m.key, &started)
		return http.StatusConflict, statusText(409, metav1.StatusReasonConflict, "VM is already running")
	})
	b = backendOn(t, server.URL, m)
	_, err := b.handleOf(t).Reset(t.Context(), redfish.ResetOn)
	require.NoError(t, err)
	require.Len(t, server.requests(), 1)
}

func TestResetOfAVMThatWasMadeAnewTouchesNothing(t *testing.T) {
	m := machineIn(halted, "ended")
	var b *Backend
	server := newAPI(t, func(*http.Request, string) (int, any) {
		b.store.setVM(m.key, nil)
		b.store.setVM(m.key, vmNamed("cp1", "node-0", 99))
		return http.StatusConflict, statusText(409, metav1.StatusReasonConflict, "conflict")
	})
	b = backendOn(t, server.URL, m)
	_, err := b.handleOf(t).Reset(t.Context(), redfish.ResetOn)
	require.ErrorIs(t, err, redfish.ErrNotFound)
	require.Len(t, server.requests(), 1)
}

func TestUnansweredResetEndsInTime(t *testing.T) {
	release := make(chan struct{})
	server := newAPI(t, func(*http.Request, string) (int, any) { <-release; return http.StatusAccepted, nil })
	defer close(release)
	b := backendOn(t, server.URL, machineIn(halted, "ended"))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := b.handleOf(t).Reset(ctx, redfish.ResetOn)
	require.ErrorIs(t, err, redfish.ErrUnavailable)
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestMissingRightIsFallenBackFromAndNoted(t *testing.T) {
	m := machineIn(always, "running")
	var patches []string
	server := newAPI(t, func(r *http.Request, body string) (int, any) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/stop"):
			return http.StatusForbidden, statusText(403, metav1.StatusReasonForbidden, `virtualmachines.subresources.kubevirt.io "node-0" is forbidden: User "a" cannot update resource`)
		case strings.HasSuffix(r.URL.Path, "/pods"):
			return http.StatusOK, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"virt-launcher-1","namespace":"cp1","uid":"pod-1"}}]}`
		case r.Method == http.MethodDelete:
			require.JSONEq(t, `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":1,"preconditions":{"uid":"pod-1"}}`, body, "never without grace")
			return http.StatusOK, `{"kind":"Pod","apiVersion":"v1"}`
		}
		patches = append(patches, body)
		return http.StatusOK, `{"metadata":{"name":"node-0","namespace":"cp1","uid":"vm-1","resourceVersion":"11"},"spec":{"runStrategy":"Halted"}}`
	})
	b := backendOn(t, server.URL, m)
	_, err := b.handleOf(t).Reset(t.Context(), redfish.ResetForceOff)
	require.NoError(t, err)
	require.Equal(t, []string{"PUT virtualmachines/node-0/stop", "PATCH virtualmachines/node-0", "GET pods", "DELETE pods/virt-launcher-1"}, server.requests())
	require.Len(t, patches, 1)
	require.JSONEq(t, `[
		{"op":"test","path":"/metadata/uid","value":"vm-1"},
		{"op":"test","path":"/spec/runStrategy","value":"Always"},
		{"op":"replace","path":"/spec/runStrategy","value":"Halted"}]`, patches[0])
	require.Equal(t, redfish.PowerPoweringOff, b.handleOf(t).Describe().Power)
	require.InDelta(t, 1, testutil.ToFloat64(b.rights.gauge.WithLabelValues(string(rightStop), "cp1")), 0)
}

func TestEverythingIsAskedForAsJSON(t *testing.T) {
	accepted := make(chan string, 1)
	server := newAPI(t, func(r *http.Request, _ string) (int, any) {
		accepted <- r.Header.Get("Accept")
		return http.StatusOK, `{"metadata":{"resourceVersion":"1"},"items":[]}`
	})
	b := backendOn(t, server.URL, nil)
	from := &source[wirePVC, *claimRecord, *wirePVC]{
		client: b.actor.kube.CoreV1().RESTClient(), path: "/api/v1/namespaces/cp1/persistentvolumeclaims", pages: make(chan struct{}, 1), contact: func(error) {},
	}
	_, err := from.list(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.NotContains(t, <-accepted, "protobuf", "claims are decoded from JSON")
}

func TestPatchesOfTheVM(t *testing.T) {
	legacy := func(run strategy) *machine {
		m := machineIn(run, "ended")
		m.vm.legacyRunning = true
		return m
	}
	annotated := func() *machine {
		m := machineIn(halted, "ended")
		m.vm.annotated, m.vm.annotations.StoppedRunStrategy, m.vm.annotations.PowerOn = true, once, "old"
		return m
	}
	hold := waiting("c0ffee")
	tests := map[string]struct {
		m    *machine
		call call
		want string
	}{
		"run strategy":                         {machineIn(halted, "ended"), call{do: setStrategy, to: always}, `{"op":"test","path":"/spec/runStrategy","value":"Halted"},{"op":"replace","path":"/spec/runStrategy","value":"Always"}`},
		"running, off":                         {legacy(always), call{do: setStrategy, to: halted}, `{"op":"test","path":"/spec/running","value":true},{"op":"replace","path":"/spec/running","value":false}`},
		"running, on":                          {legacy(halted), call{do: setStrategy, to: always}, `{"op":"test","path":"/spec/running","value":false},{"op":"replace","path":"/spec/running","value":true}`},
		"running, what it cannot say":          {legacy(halted), call{do: setStrategy, to: manual}, `{"op":"test","path":"/spec/running","value":false},{"op":"remove","path":"/spec/running"},{"op":"add","path":"/spec/runStrategy","value":"Manual"}`},
		"a start gives back what was kept":     {annotated(), call{do: setStrategy, to: once}, `{"op":"test","path":"/spec/runStrategy","value":"Halted"},{"op":"replace","path":"/spec/runStrategy","value":"Once"},{"op":"test","path":"/metadata/annotations/kubevirt-redfish.io~1stopped-run-strategy","value":"Once"},{"op":"remove","path":"/metadata/annotations/kubevirt-redfish.io~1stopped-run-strategy"}`},
		"hold, no annotations yet":             {machineIn(halted, "ended"), call{do: annotate, hold: hold}, `{"op":"test","path":"/metadata/annotations","value":null},{"op":"add","path":"/metadata/annotations","value":{}},{"op":"test","path":"/metadata/annotations/kubevirt-redfish.io~1power-on","value":null},{"op":"add","path":"/metadata/annotations/kubevirt-redfish.io~1power-on","value":` + quote(hold.String()) + `}`},
		"hold, over an old one":                {annotated(), call{do: annotate, hold: hold}, `{"op":"test","path":"/metadata/annotations/kubevirt-redfish.io~1power-on","value":"old"},{"op":"add","path":"/metadata/annotations/kubevirt-redfish.io~1power-on","value":` + quote(hold.String()) + `}`},
		"what it was is kept":                  {with(once, "ended", func(m *machine) { m.vm.annotated = true }), call{do: setStrategy, to: halted, keep: once}, `{"op":"test","path":"/spec/runStrategy","value":"Once"},{"op":"replace","path":"/spec/runStrategy","value":"Halted"},{"op":"test","path":"/metadata/annotations/kubevirt-redfish.io~1stopped-run-strategy","value":null},{"op":"add","path":"/metadata/annotations/kubevirt-redfish.io~1stopped-run-strategy","value":"Once"}`},
		"requests are withdrawn":               {machineIn(always, "restarting"), call{do: unrequest}, `{"op":"test","path":"/metadata/resourceVersion","value":"10"},{"op":"remove","path":"/status/stateChangeRequests"}`},
		"a start is requested":                 {machineIn(manual, "ended"), call{do: request}, `{"op":"test","path":"/metadata/resourceVersion","value":"10"},{"op":"add","path":"/status/stateChangeRequests","value":[{"action":"Start"}]}`},
		"a start over what ended is requested": {machineIn(manual, "succeeded"), call{do: request}, `{"op":"test","path":"/metadata/resourceVersion","value":"10"},{"op":"add","path":"/status/stateChangeRequests","value":[{"action":"Stop","uid":"vmi-1"},{"action":"Start"}]}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var sent string
			server := newAPI(t, func(r *http.Request, body string) (int, any) {
				require.Equal(t, "application/json-patch+json", r.Header.Get("Content-Type"))
				sent = body
				return http.StatusOK, `{"metadata":{"name":"node-0","namespace":"cp1","uid":"vm-1","resourceVersion":"11"},"spec":{"runStrategy":"Manual"}}`
			})
			b := backendOn(t, server.URL, tc.m)
			require.NoError(t, b.actor.act(t.Context(), tc.m, tc.call))
			require.JSONEq(t, `[{"op":"test","path":"/metadata/uid","value":"vm-1"},`+tc.want+`]`, sent)
			require.EqualValues(t, 11, b.store.get(tc.m.key).vm.version, "the answer is shown at once")
		})
	}
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // never fails for text
	}
	return string(quoted)
}
