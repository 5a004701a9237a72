package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	virtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/markers"
)

// accepted posts a reset that has to be done or held.
func (s *Space) accepted(t *testing.T, p *Product, id, how string) {
	t.Helper()
	answer := s.reset(t, p, id, how)
	require.Contains(t, []int{http.StatusNoContent, http.StatusAccepted}, answer.Status, "%s: %s", how, answer.Text)
}

// Machines of both forms can be reset in all ways, and no object ever carries both fields.
func TestLabSpecRunningAndRunStrategyAreNeverMixed(t *testing.T) {
	bothRights(t, func(t *testing.T, s *Space) {
		t.Cleanup(s.neverBoth(t))
		p := s.Serve(t)
		for name, m := range map[string]machine{"old": {running: new(true)}, "new": {strategy: on}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				id := s.create(t, name, m)
				s.runs(t, name)
				s.shows(t, p, id, "On Enabled OK")
				s.accepted(t, p, id, "ForceOff")
				s.shows(t, p, id, "Off Enabled OK")
				s.accepted(t, p, id, "On")
				s.shows(t, p, id, "On Enabled OK")
				for _, how := range []string{"ForceRestart", "GracefulRestart"} {
					before := s.uid(name)
					s.accepted(t, p, id, how)
					eventually(t, how+" makes a new instance", func() bool { return s.uid(name) != before && s.uid(name) != "" })
					s.runs(t, name)
					s.shows(t, p, id, "On Enabled OK")
				}
				require.Equal(t, m.running != nil, s.vm(name).Spec.Running != nil, "the form stays")
			})
		}
	})
}

// neverBoth watches all VMs of the namespace; the function that it returns fails if one had both fields.
func (s *Space) neverBoth(t *testing.T) func() {
	t.Helper()
	events, err := s.virt.KubevirtV1().VirtualMachines(s.Name).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	seen := make(chan [2]int, 1)
	go func() {
		var count [2]int
		for e := range events.ResultChan() {
			if vm, is := e.Object.(*virtv1.VirtualMachine); is && e.Type != watch.Deleted {
				count[0]++
				if vm.Spec.Running != nil && vm.Spec.RunStrategy != nil {
					count[1]++
				}
			}
		}
		seen <- count
	}()
	return func() {
		events.Stop()
		count := <-seen
		require.Positive(t, count[0])
		require.Zero(t, count[1], "states with both fields")
	}
}

// A forced power-off or restart takes seconds whatever patience the definition asks for, and leaves that alone.
func TestLabForcedResetsDoNotWaitForTheGracePeriod(t *testing.T) {
	bothRights(t, func(t *testing.T, s *Space) {
		p := s.Serve(t)
		for _, strategy := range []virtv1.VirtualMachineRunStrategy{on, byHand, virtv1.RunStrategyRerunOnFailure, justOne} {
			name := map[virtv1.VirtualMachineRunStrategy]string{on: "always", byHand: "manual", justOne: "once"}[strategy]
			if name == "" {
				name = "rerun"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				id := s.create(t, name, machine{strategy: strategy, grace: 180, knobs: map[string]string{knobIgnoreACPI: "true"}})
				if strategy == byHand {
					require.NoError(t, s.virt.KubevirtV1().VirtualMachines(s.Name).Start(t.Context(), name, &virtv1.StartOptions{}))
				}
				s.runs(t, name)
				s.shows(t, p, id, "On Enabled OK")
				before := s.uid(name)
				s.within(t, 40*time.Second, func() {
					s.accepted(t, p, id, "ForceRestart")
					eventually(t, "another instance runs", func() bool {
						vmi := s.vmi(name)
						return vmi != nil && vmi.UID != before && vmi.Status.Phase == virtv1.Running
					})
				})
				s.runs(t, name)
				s.shows(t, p, id, "On Enabled OK")
				s.within(t, 20*time.Second, func() {
					s.accepted(t, p, id, "ForceOff")
					s.shows(t, p, id, "Off Enabled OK")
				})
				require.EqualValues(t, 180, *s.vm(name).Spec.Template.Spec.TerminationGracePeriodSeconds)
			})
		}
	})
}

func (s *Space) within(t *testing.T, limit time.Duration, do func()) {
	t.Helper()
	began := time.Now()
	do()
	require.Less(t, time.Since(began), limit)
}

// A power-on that comes while the machine goes down is never lost, however often it is repeated.
func TestLabPowerOnDuringShutdownIsDone(t *testing.T) {
	bothRights(t, func(t *testing.T, s *Space) {
		p := s.Serve(t)
		for _, how := range []string{"ForceOff", "GracefulShutdown"} {
			name := map[string]string{"ForceOff": "forced", "GracefulShutdown": "graceful"}[how]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				id := s.create(t, name, stubborn(on))
				s.runs(t, name)
				s.shows(t, p, id, "On Enabled OK")
				before := s.uid(name)
				s.accepted(t, p, id, how)
				for range 4 {
					s.accepted(t, p, id, "On")
					require.Contains(t, []string{"PoweringOn", "On"}, p.Power(t, Admin, id))
					time.Sleep(2 * time.Second)
				}
				eventually(t, "another instance runs", func() bool { return s.uid(name) != "" && s.uid(name) != before })
				s.runs(t, name)
				s.shows(t, p, id, "On Enabled OK")
			})
		}
	})
}

// What is so already is answered as done, costs the cluster no call and changes nothing. Reads cost no call
// either, and a reset costs one.
func TestLabCallsToTheCluster(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, OurRights)
	p := s.Serve(t)
	id := s.create(t, "node-0", machine{})
	s.shows(t, p, id, "Off Enabled OK")
	calls := func(want int64, what string, do func()) {
		t.Helper()
		before := p.Calls.Load()
		do()
		require.Equal(t, want, p.Calls.Load()-before, what)
	}
	resets := func(want int64, hows ...string) {
		t.Helper()
		for _, how := range hows {
			calls(want, how, func() { require.Equal(t, http.StatusNoContent, s.reset(t, p, id, how).Status) })
		}
	}
	eventually(t, "virt-controller has completed the definition", func() bool {
		return s.vm("node-0").Spec.Template.Spec.Domain.Firmware != nil
	})
	unchanged := func(hows ...string) {
		t.Helper()
		vm, uid := s.vm("node-0"), s.uid("node-0")
		resets(0, hows...)
		time.Sleep(time.Second) // for what would be done late
		now := s.vm("node-0")
		require.Equal(t, vm.Spec, now.Spec)
		require.Equal(t, vm.Annotations[markers.PowerOn], now.Annotations[markers.PowerOn])
		require.Equal(t, uid, s.uid("node-0"))
	}
	unchanged("ForceOff", "GracefulShutdown")
	calls(0, "reads", func() {
		for _, path := range []string{"/redfish/v1", "/redfish/v1/Systems", "/redfish/v1/Systems/" + id, "/redfish/v1/Systems/" + id + "/Storage", "/redfish/v1/Managers/" + id, "/redfish/v1/Chassis/" + id} {
			p.Get(t, Admin, path)
		}
	})
	resets(1, "On")
	s.runs(t, "node-0")
	s.shows(t, p, id, "On Enabled OK")
	unchanged("On", "ForceOn", "Resume")
	for _, how := range []string{"Pause", "Resume", "ForceRestart", "GracefulRestart"} {
		resets(1, how)
		if how != "Pause" {
			s.shows(t, p, id, "On Enabled OK")
			s.runs(t, "node-0")
		}
	}
	resets(1, "ForceOff")
	s.shows(t, p, id, "Off Enabled OK")
}

// A user's wish for the run strategy that a start gives is followed.
func TestLabStartGivesTheWishedStrategy(t *testing.T) {
	bothRights(t, func(t *testing.T, s *Space) {
		p := s.Serve(t)
		for name, wish := range map[string]virtv1.VirtualMachineRunStrategy{"manual": byHand, "rerun": virtv1.RunStrategyRerunOnFailure} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				id := s.create(t, name, machine{change: func(vm *virtv1.VirtualMachine) {
					vm.Annotations = map[string]string{markers.RunStrategy: string(wish)}
				}})
				s.shows(t, p, id, "Off Enabled OK")
				for range 2 { // the second time the strategy is what it is to be
					s.accepted(t, p, id, "On")
					s.runs(t, name)
					s.shows(t, p, id, "On Enabled OK")
					require.Equal(t, wish, *s.vm(name).Spec.RunStrategy)
					s.guest(t, name, "shutdown") // stays off, which is what the wish is for
					s.shows(t, p, id, "Off Enabled OK")
				}
			})
		}
	})
}
