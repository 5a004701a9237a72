package e2e

import (
	_ "embed"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

//go:embed fleets/odd.yaml
var odd string

// OddFleet is the default fleet in namespace cp1 and machines of every state and shape in namespace cp2.
func OddFleet(t testing.TB) sim.Fleet {
	t.Helper()
	text := strings.NewReplacer("START_FAIL", sim.StartFail, "IGNORE_ACPI", sim.IgnoreACPI).Replace(odd)
	fleet, err := sim.ParseFleet(strings.NewReader(text))
	require.NoError(t, err)
	return sim.DefaultFleet().Add(fleet)
}

// Chassis of the odd fleet: all of cp1, the labelled machines of cp2, and one machine of cp1 alone.
func Chassis() []auth.Chassis {
	return []auth.Chassis{
		{Name: "cp1", Namespace: "cp1", Description: "First control plane"},
		{Name: "cp2", Namespace: "cp2", Labels: map[string]string{"exposed": "yes"}},
		{Name: "single", Namespace: "cp1", Names: []string{"node-1"}},
	}
}

// Odd starts a product on a simulated cluster with the odd fleet. Operator sees the chassis single alone.
func Odd(t testing.TB, change ...func(*Config)) (*Product, *sim.Server) {
	t.Helper()
	cluster, err := sim.Start(t.Context(), sim.Options{Fleet: OddFleet(t)})
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	c := Config{Cluster: cluster.RESTConfig(), Chassis: Chassis(), Users: []auth.Account{
		User(t, Admin, auth.Administrator, auth.AllChassis),
		User(t, Operator, auth.Operator, "single"),
	}}
	for _, f := range change {
		f(&c)
	}
	return Start(t, c), cluster
}

// SettleOdd brings the machines of the odd fleet into the states that they are named after, in which they stay
// for several seconds.
func (p *Product) SettleOdd(t testing.TB) {
	t.Helper()
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.crashing", "On").Status)
	for id, state := range map[string]string{"cp1.node-0": "On", "cp2.typed-on": "On", "cp2.stubborn": "On", "cp2.once": "On"} {
		p.WaitPower(t, Admin, id, state)
	}
	p.waitPlatform(t, "cp2.homeless", "PrintableStatus", "ErrorUnschedulable")
	p.waitPlatform(t, "cp2.crashing", "PrintableStatus", "CrashLoopBackOff")
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.once", "Pause").Status)
	require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, "cp2.stubborn", "GracefulShutdown").Status)
	require.Equal(t, "Paused", p.Power(t, Admin, "cp2.once"))
	require.Equal(t, "PoweringOff", p.Power(t, Admin, "cp2.stubborn"))
	p.waitPlatform(t, "cp2.stubborn", "PrintableStatus", "Stopping")
	p.waitPlatform(t, "cp2.once", "PrintableStatus", "Paused")
}

// waitPlatform waits for the value of a member of Oem.KubeVirt.
func (p *Product) waitPlatform(t testing.TB, id, member, value string) {
	t.Helper()
	require.Eventually(t, func() bool {
		oem, _ := p.Get(t, Admin, "/redfish/v1/Systems/"+id)["Oem"].(map[string]any)
		platform, _ := oem["KubeVirt"].(map[string]any)
		return platform[member] == value
	}, time.Minute, 10*time.Millisecond, "%s of %s does not become %s", member, id, value)
}
