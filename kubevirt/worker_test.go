package kubevirt

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// patches notes the patches that went through.
type patches struct {
	next http.RoundTripper
	mu   *sync.Mutex
	done *[]string
}

func (p patches) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Method == http.MethodPatch {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	response, err := p.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK && body != nil {
		p.mu.Lock()
		*p.done = append(*p.done, string(body))
		p.mu.Unlock()
	}
	return response, err
}

// replicas are servers on one simulated cluster.
type replicas struct {
	*sim.Server
	mu   sync.Mutex
	done []string
}

func simulated(t *testing.T) *replicas {
	t.Helper()
	s, err := sim.Start(t.Context(), sim.Options{Fleet: sim.DefaultFleet()})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return &replicas{Server: s}
}

// run starts a replica; stop ends it and waits for it.
func (s *replicas) run(t *testing.T) (b *Backend, stop func()) {
	t.Helper()
	config := s.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return patches{next, &s.mu, &s.done} })
	b, err := New(Options{
		Config: config, Exposure: auth.NewExposure([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}}),
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	require.Eventually(t, b.Ready, 30*time.Second, time.Millisecond)
	return b, stop
}

// starts is how often a patch made the machine Always.
func (s *replicas) starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(strings.Join(s.done, ""), `{"op":"replace","path":"/spec/runStrategy","value":"Always"}`)
}

var node0 = key{"cp1", "node-0"}

// becomes waits until node-0 is as asked.
func (b *Backend) becomes(t *testing.T, as func(m *machine) bool) *machine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	reached := b.store.await(ctx, node0, func(m *machine) bool { return m != nil && m.vm != nil && as(m) })
	m := b.store.get(node0)
	require.True(t, reached, "left as %+v, its VM %+v, its instance %+v", m, m.vm, m.vmi)
	return m
}

func (b *Backend) reset(t *testing.T, how redfish.ResetType) redfish.TaskID {
	t.Helper()
	m, err := b.Machine(callerOf("cp1"), "cp1.node-0")
	require.NoError(t, err)
	task, err := m.Reset(t.Context(), how)
	require.NoError(t, err)
	return task
}

func (b *Backend) taskState(t *testing.T, id redfish.TaskID) redfish.TaskState {
	t.Helper()
	tasks, err := b.Tasks(callerOf("cp1"))
	require.NoError(t, err)
	for _, task := range tasks {
		if task.ID == id {
			return task.State
		}
	}
	return ""
}

func isOn(m *machine) bool {
	power, _ := powerOf(m, noon)
	return power == redfish.PowerOn
}

func isOff(m *machine) bool {
	power, _ := powerOf(m, noon)
	return power == redfish.PowerOff
}

func TestHeldPowerOnIsDoneOnceByTwoReplicas(t *testing.T) {
	s := simulated(t)
	one, _ := s.run(t)
	two, _ := s.run(t)
	first := one.becomes(t, isOn).vmi.uid
	one.reset(t, redfish.ResetGracefulShutdown)
	require.Equal(t, redfish.PowerPoweringOff, one.handleOf(t).Describe().Power)
	task := one.reset(t, redfish.ResetOn)
	require.NotEmpty(t, task, "it is held while the guest shuts down")
	require.Equal(t, redfish.PowerPoweringOn, one.handleOf(t).Describe().Power)
	two.becomes(t, func(m *machine) bool { return m.hold != nil && m.hold.State == holdDone })
	again := two.becomes(t, func(m *machine) bool { return isOn(m) && m.vmi.uid != first })
	require.Equal(t, always, again.vm.strategy)
	one.becomes(t, func(m *machine) bool { return isOn(m) && m.vmi.uid == again.vmi.uid })
	require.Equal(t, redfish.TaskCompleted, one.taskState(t, task))
	require.Equal(t, 1, s.starts())
}

func TestHeldPowerOnIsCancelledByAnOff(t *testing.T) {
	s := simulated(t)
	b, _ := s.run(t)
	b.becomes(t, isOn)
	b.reset(t, redfish.ResetGracefulShutdown)
	task := b.reset(t, redfish.ResetOn)
	require.Equal(t, redfish.TaskRunning, b.taskState(t, task))
	b.reset(t, redfish.ResetForceOff)
	require.Equal(t, redfish.TaskCancelled, b.taskState(t, task))
	b.becomes(t, isOff)
	require.Zero(t, s.starts())
	require.Equal(t, redfish.PowerOff, b.handleOf(t).Describe().Power)
}

func TestHeldPowerOnOutlivesTheProcess(t *testing.T) {
	s := simulated(t)
	b, stop := s.run(t)
	first := b.becomes(t, isOn).vmi.uid
	b.reset(t, redfish.ResetGracefulShutdown)
	task := b.reset(t, redfish.ResetOn)
	stop()
	b, _ = s.run(t)
	again := b.becomes(t, func(m *machine) bool { return isOn(m) && m.vmi.uid != first })
	require.False(t, again.hold.waiting())
	require.Equal(t, redfish.TaskCompleted, b.taskState(t, task))
}

func TestHeldPowerOnThatIsDeniedFails(t *testing.T) {
	m := with(halted, "hold")
	patched := func(state string) string {
		return `{"metadata":{"name":"node-0","namespace":"cp1","uid":"vm-1","resourceVersion":"12","annotations":{"kubevirt-redfish.io/power-on":` +
			quote(state) + `}},"spec":{"runStrategy":"Halted"}}`
	}
	server := newAPI(t, func(_ *http.Request, body string) (int, any) {
		if strings.Contains(body, "/spec/runStrategy") {
			return http.StatusUnprocessableEntity, statusText(422, metav1.StatusReasonInvalid, "admission webhook denied the request: exceeded quota")
		}
		require.Contains(t, body, `\"state\":\"failed\"`)
		return http.StatusOK, patched(waiting("old").ended(holdFailed, "exceeded quota", noon).String())
	})
	b := backendOn(t, server.URL, m)
	require.NoError(t, b.finish(t.Context(), b.store.get(m.key)))
	require.Len(t, server.requests(), 2)
	system := b.handleOf(t).Describe()
	require.Equal(t, redfish.PowerOff, system.Power)
	require.Equal(t, redfish.HealthWarning, system.Status.Health)
	require.Contains(t, system.Status.Conditions[0].Message, "exceeded quota")
	require.NoError(t, b.finish(t.Context(), b.store.get(m.key)))
	require.Len(t, server.requests(), 2, "it is over")
}

func TestHeldPowerOnIsTriedAgainAfterAnOutage(t *testing.T) {
	m := with(halted, "hold")
	down := true
	server := newAPI(t, func(*http.Request, string) (int, any) {
		if down {
			return http.StatusInternalServerError, statusText(500, metav1.StatusReasonInternalError, "etcd is away")
		}
		return http.StatusOK, `{"metadata":{"name":"node-0","namespace":"cp1","uid":"vm-1","resourceVersion":"12"},"spec":{"runStrategy":"Always"}}`
	})
	b := backendOn(t, server.URL, m)
	require.Error(t, b.finish(t.Context(), b.store.get(m.key)))
	require.True(t, b.store.get(m.key).hold.waiting())
	down = false
	require.NoError(t, b.finish(t.Context(), b.store.get(m.key)))
	require.Equal(t, always, b.store.get(m.key).vm.strategy)
}

func TestEachStepOfAPowerOnTestsThatItIsStillHeld(t *testing.T) {
	held := waiting("old")
	test := `{"op":"test","path":"/metadata/annotations/kubevirt-redfish.io~1power-on","value":` + quote(held.String()) + `}`
	version := `{"op":"test","path":"/metadata/resourceVersion","value":"10"}`
	for _, run := range strategies {
		for state := range states {
			for _, to := range []strategy{always, rerunOnFailure, manual, once} {
				m := with(run, state, func(m *machine) {
					m.hold, m.vm.annotated, m.vm.annotations.PowerOn, m.vm.annotations.RunStrategy = held, true, held.String(), to
				})
				if _, ok := holdStep(m, noon); !ok || !m.vm.deleted.IsZero() {
					continue
				}
				var sent string
				server := newAPI(t, func(_ *http.Request, body string) (int, any) {
					sent = body
					return http.StatusConflict, statusText(409, metav1.StatusReasonConflict, "no")
				})
				b := backendOn(t, server.URL, nil)
				require.NoError(t, b.finish(t.Context(), m))
				require.True(t, strings.Contains(sent, test) || strings.Contains(sent, version), "%s %s to %s: %s", run, state, to, sent)
				if strings.Contains(sent, "done") && !strings.Contains(sent, "runStrategy") {
					require.Contains(t, sent, version, "%s %s to %s: it is on only as long as its requests stand", run, state, to)
				}
				server.Close()
			}
		}
	}
}

func TestPowerOnOfANewerFormatIsLeftAlone(t *testing.T) {
	m := with(halted, "hold")
	m.hold.Version = powerOnVersion + 1
	b := backendOn(t, "http://localhost:1", nil)
	require.NoError(t, b.finish(t.Context(), m))
	require.Equal(t, "~", brief(decide(m, redfish.ResetOn, moment{may: allRights, now: noon})), "it is known to be held all the same")
}
