package e2e

import (
	"net/http"
	"testing"

	"github.com/stmcginnis/gofish/schemas"
	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

// simulated starts a product on a simulated cluster with the default fleet.
func simulated(t testing.TB) (*Product, *sim.Server) {
	t.Helper()
	cluster, err := sim.Start(t.Context(), sim.Options{Fleet: sim.DefaultFleet()})
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return Start(t, Config{
		Cluster: cluster.RESTConfig(),
		Chassis: []auth.Chassis{{Name: "cp1", Namespace: "cp1"}},
		Users:   []auth.Account{User(t, Admin, auth.Administrator, auth.AllChassis)},
	}), cluster
}

// A client library that is widely used lists, reads and power-cycles a machine.
func TestGofishReadsAndPowerCycles(t *testing.T) {
	p, _ := simulated(t)
	gofishReadsAndPowerCycles(t, p, "cp1.node-1")
}

func gofishReadsAndPowerCycles(t *testing.T, p *Product, id string) {
	client := p.Gofish(t, Admin)
	systems, err := client.Service.Systems()
	require.NoError(t, err)
	var system *schemas.ComputerSystem
	for _, s := range systems {
		if s.ID == id {
			system = s
		}
	}
	require.NotNil(t, system, "the machine is listed")
	readEverything(t, system)
	require.NoError(t, reset(system, schemas.OnResetType))
	p.WaitPower(t, Admin, id, "On")
	require.NoError(t, reset(system, schemas.ForceRestartResetType))
	p.WaitPower(t, Admin, id, "On")
	require.NoError(t, reset(system, schemas.ForceOffResetType))
	p.WaitPower(t, Admin, id, "Off")
}

func reset(system *schemas.ComputerSystem, how schemas.ResetType) error {
	_, err := system.Reset(how)
	return err //nolint:wrapcheck // a test looks at it
}

// readEverything reads all that a system links to.
func readEverything(t *testing.T, system *schemas.ComputerSystem) {
	t.Helper()
	processors, err := system.Processors()
	require.NoError(t, err)
	require.NotEmpty(t, processors)
	memory, err := system.Memory()
	require.NoError(t, err)
	require.NotEmpty(t, memory)
	interfaces, err := system.EthernetInterfaces()
	require.NoError(t, err)
	require.NotEmpty(t, interfaces)
	storage, err := system.Storage()
	require.NoError(t, err)
	for _, s := range storage {
		drives, err := s.Drives()
		require.NoError(t, err)
		require.NotEmpty(t, drives)
		_, err = s.Volumes()
		require.NoError(t, err)
	}
	_, err = system.SimpleStorage()
	require.NoError(t, err)
	_, err = system.Bios()
	require.NoError(t, err)
	_, err = system.BootOptions()
	require.NoError(t, err)
	_, err = system.SecureBoot()
	require.NoError(t, err)
	_, err = system.VirtualMedia()
	require.NoError(t, err)
	managers, err := system.ManagedBy()
	require.NoError(t, err)
	require.Len(t, managers, 1)
	chassis, err := system.Chassis()
	require.NoError(t, err)
	require.NotEmpty(t, chassis)
}

// Reads cost the cluster nothing; a reset costs it one call, and none when the state is already reached.
func TestReadsMakeNoCallsAndAResetOne(t *testing.T) {
	p, _ := simulated(t)
	p.Quiet(t)
	const id = "cp1.node-1"
	calls := func(do func()) int64 {
		before := p.Calls.Load()
		do()
		return p.Calls.Load() - before
	}
	require.Zero(t, calls(func() {
		for _, path := range []string{"/redfish/v1", "/redfish/v1/Systems", "/redfish/v1/Systems/" + id, "/redfish/v1/Managers/" + id, "/redfish/v1/Chassis/" + id} {
			p.Get(t, Admin, path)
		}
	}))
	resets := func(how string, want int64) {
		t.Helper()
		require.Equal(t, want, calls(func() { require.Equal(t, http.StatusNoContent, p.Reset(t, Admin, id, how).Status) }), how)
	}
	resets("ForceOff", 0)
	resets("On", 1)
	p.WaitPower(t, Admin, id, "On")
	resets("On", 0)
	resets("ForceRestart", 1)
	p.WaitPower(t, Admin, id, "On")
	resets("GracefulShutdown", 1)
	p.WaitPower(t, Admin, id, "Off")
}
