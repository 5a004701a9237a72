package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

// A change that the cluster does not carry out is answered in time, as something that a retry may cure.
func TestFailingWritesAre503WithRetryAfter(t *testing.T) {
	cases := map[string]sim.Rule{
		"internal error":    {Group: "subresources.kubevirt.io", Status: http.StatusInternalServerError},
		"unavailable":       {Group: "subresources.kubevirt.io", Status: http.StatusServiceUnavailable},
		"cut connection":    {Group: "subresources.kubevirt.io", Drop: true},
		"never an answer":   {Group: "subresources.kubevirt.io", Latency: time.Minute},
		"too many requests": {Group: "subresources.kubevirt.io", Status: http.StatusTooManyRequests, RetryAfter: time.Second},
	}
	for name, rule := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, cluster := Odd(t)
			remove := cluster.Faults().Add(rule)
			began := time.Now()
			answer := p.Do(t, Admin, http.MethodPost, "/redfish/v1/Systems/cp1.node-1/Actions/ComputerSystem.Reset", map[string]string{"ResetType": "On"})
			require.Less(t, time.Since(began), 15*time.Second)
			require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Text)
			require.NotEmpty(t, answer.Header.Get("Retry-After"))
			require.Contains(t, answer.Text, "cluster")
			require.Equal(t, http.StatusOK, p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp1.node-1", nil).Status)
			remove()
			require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp1.node-1", "On").Status)
		})
	}
}

// While the cluster's API is away reads go on and say so; readiness stays; when it is back, everything catches up.
func TestReadsGoOnWhileTheClusterIsAway(t *testing.T) {
	p, cluster := Odd(t)
	p.WaitPower(t, Admin, "cp1.node-0", "On")
	remove := cluster.Faults().Add(sim.Rule{Drop: true})
	for _, resource := range []string{"virtualmachines", "virtualmachineinstances", "persistentvolumeclaims"} {
		cluster.Faults().DropWatches(resource)
	}
	health := func() any {
		return p.Get(t, Admin, "/redfish/v1/Systems/cp1.node-0")["Status"].(map[string]any)["Health"]
	}
	require.Eventually(t, func() bool { return health() == "Warning" }, 30*time.Second, 50*time.Millisecond)
	require.True(t, p.Backend.Ready())
	require.Len(t, members(t, p, Admin, "/redfish/v1/Systems"), 12)
	require.NotEmpty(t, p.Log.Records("the cluster's API does not answer; reads go on from memory"))
	const down = "# HELP kubevirt_redfish_api_up 1 while the cluster's API server answers the watches.\n# TYPE kubevirt_redfish_api_up gauge\nkubevirt_redfish_api_up 0\n"
	require.NoError(t, testutil.GatherAndCompare(p.Metrics, strings.NewReader(down), "kubevirt_redfish_api_up"))

	remove()
	client := virtOf(t, cluster)
	require.NoError(t, client.KubevirtV1().VirtualMachines("cp1").Delete(t.Context(), "node-2", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return health() == "OK" }, 30*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		return p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp1.node-2", nil).Status == http.StatusNotFound
	}, 10*time.Second, 50*time.Millisecond, "what happened meanwhile is seen")
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp1.node-1", "On").Status)
}

// What failed in a namespace that is no longer exposed says nothing about the others.
func TestANamespaceThatIsNoLongerExposedIsNotMissed(t *testing.T) {
	p, cluster := Odd(t)
	remove := cluster.Faults().Add(sim.Rule{Drop: true})
	for _, resource := range []string{"virtualmachines", "virtualmachineinstances", "persistentvolumeclaims"} {
		cluster.Faults().DropWatches(resource)
	}
	health := func() any {
		return p.Get(t, Admin, "/redfish/v1/Systems/cp1.node-1")["Status"].(map[string]any)["Health"]
	}
	require.Eventually(t, func() bool { return health() == "Warning" }, 30*time.Second, 50*time.Millisecond)
	p.Backend.Expose(auth.NewExposure(Chassis()[:1]))
	require.Eventually(t, func() bool {
		return p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp2.typed-off", nil).Status == http.StatusNotFound
	}, 10*time.Second, 50*time.Millisecond)
	remove()
	require.Eventually(t, func() bool { return health() == "OK" }, 20*time.Second, 50*time.Millisecond)

	p.Backend.Expose(auth.NewExposure(Chassis()))
	require.Eventually(t, func() bool {
		return p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems", nil).Body["Members@odata.count"] == 12.0
	}, 10*time.Second, 50*time.Millisecond, "it is read anew")
}

// A power-off that overtakes a held power-on holds, also when that is carried out at the very moment.
func TestAPowerOffIsNotUndoneByTheHeldPowerOnBefore(t *testing.T) {
	p, cluster := Odd(t)
	machines, grace := virtOf(t, cluster).KubevirtV1().VirtualMachines("cp1"), int64(0)
	_, err := machines.Patch(t.Context(), "node-0", types.MergePatchType, []byte(`{"spec":{"runStrategy":"Manual"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	p.WaitPower(t, Admin, "cp1.node-0", "On")
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp1.node-0", "GracefulShutdown").Status)
	require.Equal(t, http.StatusAccepted, p.Reset(t, Admin, "cp1.node-0", "On").Status)
	// While the second shutdown is on its way to the cluster, the guest ends and its start is requested.
	cluster.Faults().Add(sim.Rule{Verb: "patch", Resource: "virtualmachines", Latency: 1500 * time.Millisecond})
	require.NoError(t, machines.Stop(t.Context(), "node-0", &virtv1.StopOptions{GracePeriod: &grace}))
	off := p.Do(t, Admin, http.MethodPost, "/redfish/v1/Systems/cp1.node-0/Actions/ComputerSystem.Reset", map[string]string{"ResetType": "GracefulShutdown"})
	require.Equal(t, http.StatusNoContent, off.Status, off.Text)
	require.Contains(t, []string{"PoweringOff", "Off"}, p.Power(t, Admin, "cp1.node-0"))
	p.WaitPower(t, Admin, "cp1.node-0", "Off")
}

// A watch that the server has forgotten is begun anew, and nothing is missed.
func TestExpiredWatchesAreBegunAnew(t *testing.T) {
	p, cluster := Odd(t)
	p.Quiet(t)
	client := virtOf(t, cluster)
	cluster.Faults().Expire("virtualmachines")
	cluster.Faults().DropWatches("virtualmachines")
	require.NoError(t, client.KubevirtV1().VirtualMachines("cp1").Delete(t.Context(), "node-2", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		return p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp1.node-2", nil).Status == http.StatusNotFound
	}, 20*time.Second, 20*time.Millisecond)
}

// Until the machines have been read, nothing is said to be absent.
func TestBeforeItIsReadyNothingIsAbsent(t *testing.T) {
	p, _ := Odd(t, func(c *Config) {
		c.Unready = true
		c.Cluster.Host = "https://127.0.0.1:1"
	})
	for _, path := range []string{"/redfish/v1/Systems", "/redfish/v1/Systems/cp1.node-0", "/redfish/v1/Chassis", "/redfish/v1/Managers"} {
		answer := p.Do(t, Admin, http.MethodGet, path, nil)
		require.Equal(t, http.StatusServiceUnavailable, answer.Status, path)
		require.NotEmpty(t, answer.Header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusOK, p.Do(t, Admin, http.MethodGet, "/redfish/v1/", nil).Status, "the root is a probe")
	require.False(t, p.Backend.Ready())
}

// A machine is neither shown nor worked on before its instance has been read too: it would look as if it were off.
func TestAMachineIsKnownOnlyWithItsInstance(t *testing.T) {
	p, cluster := Odd(t)
	client := virtOf(t, cluster)
	p.WaitPower(t, Admin, "cp2.stubborn", "On")
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.stubborn", "GracefulShutdown").Status)
	require.Equal(t, http.StatusAccepted, p.Reset(t, Admin, "cp2.stubborn", "On").Status)
	p.Stop()
	before := vmOf(t, client, "cp2", "stubborn")

	for name, rule := range map[string]sim.Rule{
		"the instances come late":         {Verb: "list", Resource: "virtualmachineinstances", Latency: time.Second},
		"the instances may not be listed": {Verb: "list", Resource: "virtualmachineinstances", Deny: true},
	} {
		t.Run(name, func(t *testing.T) {
			remove := cluster.Faults().Add(rule)
			defer remove()
			second := Start(t, Config{Cluster: cluster.RESTConfig(), Chassis: Chassis(), Unready: true, Users: p.users})
			second.Quiet(t)
			require.Equal(t, http.StatusServiceUnavailable, second.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp2.stubborn", nil).Status)
			require.Equal(t, before.Spec.RunStrategy, vmOf(t, client, "cp2", "stubborn").Spec.RunStrategy)
			remove()
			require.Eventually(t, func() bool {
				answer := second.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp2.stubborn", nil)
				return answer.Status == http.StatusOK && answer.Body["PowerState"] == "PoweringOn"
			}, 20*time.Second, 20*time.Millisecond)
			require.Equal(t, before.Spec.RunStrategy, vmOf(t, client, "cp2", "stubborn").Spec.RunStrategy)
		})
	}
}
