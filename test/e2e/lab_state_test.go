package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virtv1 "kubevirt.io/api/core/v1"
)

// status is PowerState, Status.State and Status.Health of a system, and the messages of its conditions.
func status(t *testing.T, p *Product, id string) (text, messages string) {
	t.Helper()
	body := p.Get(t, Admin, "/redfish/v1/Systems/"+id)
	state, _ := body["Status"].(map[string]any)
	text = strings.Join([]string{body["PowerState"].(string), state["State"].(string), state["Health"].(string)}, " ")
	conditions, _ := state["Conditions"].([]any)
	for _, c := range conditions {
		messages += c.(map[string]any)["Message"].(string) + "\n"
	}
	return text, messages
}

// shows waits until the product knows the machine and shows it so.
func (s *Space) shows(t *testing.T, p *Product, id, want string) (messages string) {
	t.Helper()
	eventually(t, id+" is there", func() bool {
		return p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/"+id, nil).Status == http.StatusOK
	})
	var text string
	defer func() {
		if t.Failed() {
			t.Logf("%s shows %s: %s", id, text, messages)
		}
	}()
	eventually(t, id+" shows "+want, func() bool {
		text, messages = status(t, p, id)
		return text == want
	})
	return messages
}

// stubborn is a guest that is killed after some seconds of shutting down.
func stubborn(strategy virtv1.VirtualMachineRunStrategy) machine {
	return machine{strategy: strategy, grace: 8, knobs: map[string]string{knobIgnoreACPI: "true"}}
}

// stateCase is a machine that a user or KubeVirt has brought into a state.
type stateCase struct {
	machine
	bring   func(t *testing.T, s *Space, p *Product, name string)
	want    string
	message string // part of the conditions' messages; empty: there are none
}

const (
	on      = virtv1.RunStrategyAlways
	byHand  = virtv1.RunStrategyManual
	justOne = virtv1.RunStrategyOnce
)

// stateCases are named by the rows of the precedence of states; row 5 has its own test.
var stateCases = map[string]stateCase{
	"row-1-deleted": {machine: stubborn(on), want: "PoweringOff Disabled OK", bring: func(t *testing.T, s *Space, p *Product, name string) {
		s.runs(t, name)
		require.NoError(t, s.virt.KubevirtV1().VirtualMachines(s.Name).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}},
	"row-2-held": {machine: stubborn(on), want: "PoweringOn Starting OK", bring: func(t *testing.T, s *Space, p *Product, name string) {
		s.runs(t, name)
		s.stop(t, name, nil)
		s.shows(t, p, s.Name+"."+name, "PoweringOff Enabled OK")
		require.Equal(t, http.StatusAccepted, s.reset(t, p, s.Name+"."+name, "On").Status)
	}},
	"row-3-instance-deleted": {machine: stubborn(on), want: "PoweringOff Enabled OK", bring: func(t *testing.T, s *Space, _ *Product, name string) {
		s.runs(t, name)
		require.NoError(t, s.virt.KubevirtV1().VirtualMachineInstances(s.Name).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}},
	"row-3-halted": {machine: stubborn(on), want: "PoweringOff Enabled OK", bring: func(t *testing.T, s *Space, _ *Product, name string) {
		s.runs(t, name)
		s.stop(t, name, nil)
	}},
	"row-3-stop-request": {machine: stubborn(virtv1.RunStrategyRerunOnFailure), want: "PoweringOff Enabled OK", bring: func(t *testing.T, s *Space, _ *Product, name string) {
		s.runs(t, name)
		s.stop(t, name, nil)
	}},
	"row-4-paused": {machine: machine{strategy: on}, want: "Paused Enabled OK", bring: func(t *testing.T, s *Space, _ *Product, name string) {
		s.runs(t, name)
		require.NoError(t, s.virt.KubevirtV1().VirtualMachineInstances(s.Name).Pause(t.Context(), name, &virtv1.PauseOptions{}))
	}},
	"row-6-probe-fails": {machine: machine{strategy: on, change: withProbe}, want: "On Enabled Warning", message: "no longer ready", bring: func(t *testing.T, s *Space, p *Product, name string) {
		eventually(t, "the guest is ready", func() bool { return s.vm(name).Status.Ready })
		s.shows(t, p, s.Name+"."+name, "On Enabled OK")
		s.guest(t, name, "hang")
		s.giveReason(t, name)
	}},
	"row-6-probe-has-not-passed-yet": {machine: machine{strategy: on, change: withProbe, knobs: map[string]string{knobAgent: "false"}}, want: "On Enabled OK", bring: nothing},
	"row-6-running":                  {machine: machine{strategy: on}, want: "On Enabled OK", bring: nothing},
	"row-7-no-host":                  {machine: machine{strategy: on, change: nowhere}, want: "PoweringOn Starting Warning", message: "The machine cannot be scheduled: 0/", bring: nothing},
	"row-7-no-claim":                 {machine: machine{strategy: on, change: fromMissingClaim}, want: "PoweringOn Starting Warning", message: "missing does not exist", bring: nothing},
	"row-8-crash-loop":               {machine: machine{strategy: on, knobs: map[string]string{knobStartFail: "true"}}, want: "PoweringOn Starting Warning", message: "The start failed", bring: nothing},
	"row-9-guest-powered-off": {machine: machine{strategy: justOne}, want: "Off Enabled OK", bring: func(t *testing.T, s *Space, _ *Product, name string) {
		s.runs(t, name)
		s.guest(t, name, "shutdown")
	}},
	"row-9-guest-crashed": {machine: machine{strategy: justOne}, want: "Off Enabled OK", bring: func(t *testing.T, s *Space, _ *Product, name string) {
		s.runs(t, name)
		s.guest(t, name, "crash")
	}},
	"row-10-halted": {machine: machine{}, want: "Off Enabled OK", bring: nothing},
	"row-10-manual": {machine: machine{strategy: byHand}, want: "Off Enabled OK", bring: nothing},
}

// giveReason adds to the condition of a pod that is not ready what the kubelet adds and the lab's stand-in does not:
// without it the pod is one whose host is lost.
func (s *Space) giveReason(t *testing.T, name string) {
	t.Helper()
	pods := s.kube.CoreV1().Pods(s.Name)
	eventually(t, "the pod is not ready", func() bool {
		list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: virtv1.CreatedByLabel + "=" + string(s.uid(name))})
		require.NoError(t, err)
		pod := &list.Items[0]
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse {
				c.Reason, c.Message = "ContainersNotReady", "containers with unready status: [compute]"
				_, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
				return err == nil
			}
		}
		return false
	})
}

func nothing(*testing.T, *Space, *Product, string) {}

func withProbe(vm *virtv1.VirtualMachine) {
	vm.Spec.Template.Spec.ReadinessProbe = &virtv1.Probe{Handler: virtv1.Handler{GuestAgentPing: &virtv1.GuestAgentPing{}}, PeriodSeconds: 1, FailureThreshold: 1}
}

func nowhere(vm *virtv1.VirtualMachine) {
	vm.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "nowhere"}
}

func fromMissingClaim(vm *virtv1.VirtualMachine) {
	claim := &virtv1.PersistentVolumeClaimVolumeSource{}
	claim.ClaimName = "missing"
	vm.Spec.Template.Spec.Volumes[0].VolumeSource = virtv1.VolumeSource{PersistentVolumeClaim: claim}
}

// Each state that real controllers bring a machine into is shown as it is meant to be.
func TestLabStatesAreShown(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, OurRights)
	p := s.Serve(t)
	for name, tc := range stateCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := s.create(t, name, tc.machine)
			tc.bring(t, s, p, name)
			messages := s.shows(t, p, id, tc.want)
			require.Contains(t, messages, tc.message)
			require.Equal(t, tc.message == "", messages == "", messages)
		})
	}
}

// A machine that is being deleted takes no reset, and is absent in the end.
func TestLabDeletedMachineTakesNoReset(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, OurRights)
	p := s.Serve(t)
	id := s.create(t, "node-0", stubborn(on))
	s.runs(t, "node-0")
	require.NoError(t, s.virt.KubevirtV1().VirtualMachines(s.Name).Delete(t.Context(), "node-0", metav1.DeleteOptions{}))
	s.shows(t, p, id, "PoweringOff Disabled OK")
	for _, how := range []string{"On", "ForceOff", "ForceRestart"} {
		require.Equal(t, http.StatusConflict, s.reset(t, p, id, how).Status, how)
	}
	eventually(t, "the machine is absent", func() bool {
		return p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/"+id, nil).Status == http.StatusNotFound
	})
	require.Equal(t, http.StatusNotFound, s.reset(t, p, id, "On").Status)
}

// A machine that no host takes is never shown as on, and can be switched off.
func TestLabUnschedulableMachineIsPoweringOnUntilForcedOff(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, OurRights)
	p := s.Serve(t)
	id := s.create(t, "node-0", machine{change: nowhere})
	s.shows(t, p, id, "Off Enabled OK")
	require.Equal(t, http.StatusNoContent, s.reset(t, p, id, "On").Status)
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(50 * time.Millisecond) {
		require.Equal(t, "PoweringOn", p.Power(t, Admin, id))
	}
	require.Contains(t, s.shows(t, p, id, "PoweringOn Starting Warning"), "node affinity")
	require.Equal(t, http.StatusNoContent, s.reset(t, p, id, "ForceOff").Status)
	s.shows(t, p, id, "Off Enabled OK")
	s.gone(t, "node-0")
}

// A machine whose host is lost runs, as far as anybody can tell; it is shown as out of reach, and a reset of it
// is carried out when the host is back.
func TestLabLostHostIsShown(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, OurRights)
	if _, err := s.kube.CoreV1().Nodes().Get(t.Context(), spareNode, metav1.GetOptions{}); err != nil {
		t.Skip("needs a lab with four nodes: lab up --nodes 4")
	}
	p := s.Serve(t)
	id := s.create(t, "node-0", machine{strategy: on, change: onSpare})
	s.runs(t, "node-0")
	s.shows(t, p, id, "On Enabled OK")
	require.NoError(t, s.patchNode(t.Context(), spareNode, `{"metadata": {"annotations": {"`+knobNodeDown+`": "true"}}}`))
	t.Cleanup(func() { s.restoreSpare(t) })
	require.Contains(t, s.shows(t, p, id, "On UnavailableOffline Critical"), spareNode)
	require.Equal(t, http.StatusNoContent, s.reset(t, p, id, "ForceOff").Status)
	s.shows(t, p, id, "PoweringOff Enabled OK")
	s.restoreSpare(t)
	s.shows(t, p, id, "Off Enabled OK")
}
