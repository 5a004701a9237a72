package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

func members(t testing.TB, p *Product, user auth.UserName, path string) []string {
	t.Helper()
	body := p.Get(t, user, path)
	list, ok := body["Members"].([]any)
	require.True(t, ok, "Members is an array")
	require.EqualValues(t, len(list), body["Members@odata.count"])
	ids := make([]string, len(list))
	for i, m := range list {
		require.Len(t, m, 1)
		uri := m.(map[string]any)["@odata.id"].(string)
		ids[i] = uri[strings.LastIndexByte(uri, '/')+1:]
	}
	return ids
}

// UUID and serial number are what the guest sees, the same while off, and every machine has them.
func TestIdentityIsTheGuestsAndStable(t *testing.T) {
	p, cluster := Odd(t)
	client := virtOf(t, cluster)
	seen := map[string]string{}
	for _, id := range members(t, p, Admin, "/redfish/v1/Systems") {
		system := p.Get(t, Admin, "/redfish/v1/Systems/"+id)
		uuid := system["UUID"].(string)
		require.NotContains(t, seen, uuid, "of %s", id)
		seen[uuid] = id
		require.NotEmpty(t, system["SerialNumber"], id)
	}
	rich := p.Get(t, Admin, "/redfish/v1/Systems/cp2.rich.node.example")
	require.Equal(t, "5d307ca9-b3ef-428c-8861-06e72d69f223", rich["UUID"])
	require.Equal(t, "SN-0001", rich["SerialNumber"])
	require.Equal(t, "RACK-7", rich["AssetTag"])

	off := p.Get(t, Admin, "/redfish/v1/Systems/cp1.node-1")["UUID"]
	p.Reset(t, Admin, "cp1.node-1", "On")
	p.WaitPower(t, Admin, "cp1.node-1", "On")
	vmi, err := client.KubevirtV1().VirtualMachineInstances("cp1").Get(t.Context(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, vmi.Spec.Domain.Firmware.UUID, off)
	require.Equal(t, off, p.Get(t, Admin, "/redfish/v1/Systems/cp1.node-1")["UUID"])
}

// The NICs of a machine stand in the order of its definition, with the same ids and MACs on and off.
func TestInterfacesAreTheSameOnAndOff(t *testing.T) {
	p, _ := Odd(t)
	const path = "/redfish/v1/Systems/cp2.rich.node.example/EthernetInterfaces"
	look := func() (macs []string) {
		ids := members(t, p, Admin, path)
		require.Equal(t, []string{"bridge0", "fast0", "default"}, ids)
		for _, id := range ids {
			nic := p.Get(t, Admin, path+"/"+id)
			require.Equal(t, id, nic["Id"])
			require.Equal(t, nic["MACAddress"], nic["PermanentMACAddress"])
			require.Regexp(t, `^([0-9A-F]{2}:){5}[0-9A-F]{2}$`, nic["MACAddress"])
			status := nic["Status"].(map[string]any)
			require.Equal(t, []any{"Enabled", "OK"}, []any{status["State"], status["Health"]})
			macs = append(macs, nic["MACAddress"].(string))
		}
		return macs
	}
	off := look()
	require.Equal(t, []string{"02:00:00:AA:BB:01", "02:00:00:AA:BB:02", "02:00:00:AA:BB:03"}, off)
	p.Reset(t, Admin, "cp2.rich.node.example", "On")
	p.WaitPower(t, Admin, "cp2.rich.node.example", "On")
	require.Equal(t, off, look())
}

// What is not known is null, and what there is none of is an empty collection.
func TestTheUnknownIsNullAndNothingIsEmpty(t *testing.T) {
	p, _ := Odd(t)
	nic := p.Get(t, Admin, "/redfish/v1/Systems/cp2.node-0/EthernetInterfaces/default")
	require.Contains(t, nic, "MACAddress")
	require.Nil(t, nic["MACAddress"])
	require.Empty(t, members(t, p, Admin, "/redfish/v1/Systems/cp2.bare/EthernetInterfaces"))
	require.Empty(t, members(t, p, Admin, "/redfish/v1/Systems/cp2.bare/Storage"))
}

// A system, its one manager and its chassis point at each other.
func TestLinksAreConsistent(t *testing.T) {
	p, _ := Odd(t)
	for _, id := range members(t, p, Admin, "/redfish/v1/Systems") {
		links := p.Get(t, Admin, "/redfish/v1/Systems/"+id)["Links"].(map[string]any)
		require.Equal(t, []any{map[string]any{"@odata.id": "/redfish/v1/Managers/" + id}}, links["ManagedBy"])
		require.Equal(t, []any{map[string]any{"@odata.id": "/redfish/v1/Chassis/" + id}}, links["Chassis"])
		manager := p.Get(t, Admin, "/redfish/v1/Managers/"+id)["Links"].(map[string]any)
		require.Equal(t, []any{map[string]any{"@odata.id": "/redfish/v1/Systems/" + id}}, manager["ManagerForServers"])
		p.Get(t, Admin, "/redfish/v1/Chassis/"+id)
	}
}

// All exposed machines are listed whatever their state, a new one within seconds, and a listed one can be read.
func TestListedMeansReadableAndExposedMeansListed(t *testing.T) {
	p, cluster := Odd(t)
	p.SettleOdd(t)
	client := virtOf(t, cluster).KubevirtV1().VirtualMachines("cp2")
	listed := members(t, p, Admin, "/redfish/v1/Systems")
	require.Equal(t, []string{
		"cp1.node-0", "cp1.node-1", "cp1.node-2", "cp2.bare", "cp2.crashing", "cp2.homeless", "cp2.node-0", "cp2.once",
		"cp2.rich.node.example", "cp2.stubborn", "cp2.typed-off", "cp2.typed-on",
	}, listed)
	for _, id := range listed {
		p.Get(t, Admin, "/redfish/v1/Systems/"+id)
	}
	require.Equal(t, http.StatusNotFound, p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp2.private", nil).Status)

	fresh := vmOf(t, virtOf(t, cluster), "cp2", "bare").DeepCopy()
	fresh.ObjectMeta = metav1.ObjectMeta{Name: "fresh", Labels: fresh.Labels}
	fresh.Status = virtv1.VirtualMachineStatus{}
	_, err := client.Create(t.Context(), fresh, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp2.fresh", nil).Status == http.StatusOK
	}, 5*time.Second, 5*time.Millisecond)
	require.Contains(t, members(t, p, Admin, "/redfish/v1/Systems"), "cp2.fresh")

	require.NoError(t, client.Delete(t.Context(), "stubborn", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		answer := p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp2.stubborn", nil)
		return answer.Status == http.StatusNotFound ||
			answer.Body["Status"].(map[string]any)["State"] == "Disabled" && answer.Body["PowerState"] == "PoweringOff"
	}, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, http.StatusConflict, p.Reset(t, Admin, "cp2.stubborn", "On").Status)

	_, err = client.Patch(t.Context(), "typed-off", types.MergePatchType, []byte(`{"metadata":{"labels":{"exposed":null}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/cp2.typed-off", nil).Status == http.StatusNotFound
	}, 5*time.Second, 5*time.Millisecond)
}

// An instance type shows in the sizes of a machine that is on, and of one that is off.
func TestInstanceTypesShowInTheSizes(t *testing.T) {
	p, _ := Odd(t)
	for _, id := range []string{"cp2.typed-off", "cp2.typed-on"} {
		require.Eventually(t, func() bool {
			system := p.Get(t, Admin, "/redfish/v1/Systems/"+id)
			return system["MemorySummary"].(map[string]any)["TotalSystemMemoryGiB"] == 32.0 &&
				system["ProcessorSummary"].(map[string]any)["LogicalProcessorCount"] == 8.0
		}, 5*time.Second, 10*time.Millisecond, id)
	}
	off := p.Get(t, Admin, "/redfish/v1/Systems/cp2.typed-off")
	require.Equal(t, "UEFI", off["Boot"].(map[string]any)["BootSourceOverrideMode"], "the preference asks for it")
	require.InDelta(t, 1, off["ProcessorSummary"].(map[string]any)["Count"], 0, "the preference asks for cores")
}

// Drives have the sizes that the cluster's objects say, and none is shown before its size is known.
func TestDrivesHaveTheirSizes(t *testing.T) {
	p, _ := Odd(t)
	const gib = 1 << 30
	sizes := map[string]float64{}
	for _, storage := range members(t, p, Admin, "/redfish/v1/Systems/cp2.rich.node.example/Storage") {
		path := "/redfish/v1/Systems/cp2.rich.node.example/Storage/" + storage
		drives := p.Get(t, Admin, path)["Drives"].([]any)
		require.NotEmpty(t, drives)
		for _, d := range drives {
			drive := p.Get(t, Admin, d.(map[string]any)["@odata.id"].(string))
			sizes[drive["Id"].(string)] = drive["CapacityBytes"].(float64)
		}
	}
	require.Equal(t, map[string]float64{"root": 120 * gib, "lun": 20 * gib, "data": 10 * gib}, sizes)
}

// A caller sees the machines of the granted chassis and nothing else, by no URI and no method.
func TestACallerSeesOnlyTheGrantedMachines(t *testing.T) {
	p, _ := Odd(t)
	require.Equal(t, []string{"cp1.node-1"}, members(t, p, Operator, "/redfish/v1/Systems"))
	require.Equal(t, []string{"cp1.node-1"}, members(t, p, Operator, "/redfish/v1/Managers"))
	require.ElementsMatch(t, []string{"cp1.node-1", "single"}, members(t, p, Operator, "/redfish/v1/Chassis"))
	for _, path := range []string{
		"/redfish/v1/Systems/cp1.node-0", "/redfish/v1/Systems/node-0", "/redfish/v1/Managers/cp1.node-0", "/redfish/v1/Chassis/cp1.node-0",
		"/redfish/v1/Chassis/cp1", "/redfish/v1/Chassis/cp1/Systems/node-1", "/redfish/v1/Systems/cp2.private",
	} {
		hidden, absent := p.Do(t, Operator, http.MethodGet, path, nil), p.Do(t, Operator, http.MethodGet, path+"-absent", nil)
		require.Equal(t, http.StatusNotFound, hidden.Status, path)
		require.Equal(t, absent.Status, hidden.Status, "hidden is absent")
	}
	require.Equal(t, http.StatusNotFound, p.Reset(t, Operator, "cp1.node-0", "ForceOff").Status)
	require.Equal(t, "On", p.Power(t, Admin, "cp1.node-0"))
	require.Equal(t, http.StatusOK, p.Do(t, Operator, http.MethodGet, "/redfish/v1/Chassis/single/Systems/node-1", nil).Status)
}

// Several machines of one host are driven at the same time without touching each other.
func TestMachinesDrivenInParallelDoNotMix(t *testing.T) {
	p, _ := Odd(t)
	var group sync.WaitGroup
	for i, user := range []auth.UserName{Admin, Operator, Admin} {
		id := []string{"cp1.node-0", "cp1.node-1", "cp1.node-2"}[i]
		group.Go(func() {
			for _, how := range []string{"ForceOff", "On"} {
				if answer := p.Reset(t, user, id, how); answer.Status >= http.StatusMultipleChoices {
					t.Errorf("%s of %s: %s", how, id, answer.Text)
				}
				want := map[string]string{"ForceOff": "Off", "On": "On"}[how]
				p.WaitPower(t, user, id, want)
			}
		})
	}
	group.Wait()
	for _, id := range []string{"cp1.node-0", "cp1.node-1", "cp1.node-2"} {
		require.Equal(t, "On", p.Power(t, Admin, id))
	}
}

// Many machines and many clients: answers come from memory, and the cluster is not asked.
func TestFiveHundredMachinesAreServedFromMemory(t *testing.T) {
	fleet, err := sim.Generate(500)
	require.NoError(t, err)
	cluster, err := sim.Start(t.Context(), sim.Options{Fleet: fleet})
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	var chassis []auth.Chassis
	for _, ns := range []string{"fleet-0", "fleet-1", "fleet-2", "fleet-3"} {
		chassis = append(chassis, auth.Chassis{Name: auth.ChassisName(ns), Namespace: ns})
	}
	p := Start(t, Config{Cluster: cluster.RESTConfig(), Chassis: chassis, Users: []auth.Account{User(t, Admin, auth.Administrator, auth.AllChassis)}})
	ids := members(t, p, Admin, "/redfish/v1/Systems")
	require.Len(t, ids, 500)
	p.Quiet(t)
	before := p.Calls.Load()
	var group sync.WaitGroup
	for worker := range 20 {
		group.Go(func() {
			for i := range 25 {
				if p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/"+ids[worker*25+i], nil).Status != http.StatusOK {
					t.Error("a listed machine cannot be read")
				}
				p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems", nil)
			}
		})
	}
	group.Wait()
	require.Equal(t, before, p.Calls.Load())
}
