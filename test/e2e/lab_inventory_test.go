package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virtv1 "kubevirt.io/api/core/v1"
	instancetypev1beta1 "kubevirt.io/api/instancetype/v1beta1"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

const instancetypeName = "three-and-five"

// createInstancetype makes one with 3 CPUs and 5 GiB.
func (s *Space) createInstancetype(t *testing.T) {
	t.Helper()
	_, err := s.virt.InstancetypeV1beta1().VirtualMachineInstancetypes(s.Name).Create(t.Context(), &instancetypev1beta1.VirtualMachineInstancetype{
		ObjectMeta: metav1.ObjectMeta{Name: instancetypeName},
		Spec: instancetypev1beta1.VirtualMachineInstancetypeSpec{
			CPU:    instancetypev1beta1.CPUInstancetype{Guest: 3},
			Memory: instancetypev1beta1.MemoryInstancetype{Guest: resource.MustParse("5Gi")},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func ofInstancetype(vm *virtv1.VirtualMachine) {
	vm.Spec.Instancetype = &virtv1.InstancetypeMatcher{Kind: "VirtualMachineInstancetype", Name: instancetypeName}
	vm.Spec.Template.Spec.Domain.Memory = nil
}

// sizes are the CPUs and the memory that a system shows.
func sizes(t *testing.T, p *Product, id string) (cpus, memory any) {
	t.Helper()
	body := p.Get(t, Admin, "/redfish/v1/Systems/"+id)
	return body["ProcessorSummary"].(map[string]any)["CoreCount"], body["MemorySummary"].(map[string]any)["TotalSystemMemoryGiB"]
}

// The sizes of an instance type show while the machine is off: at once where KubeVirt may be asked, else from the
// first start on.
func TestLabInstanceTypesShowWhileOff(t *testing.T) {
	bothRights(t, func(t *testing.T, s *Space) {
		p := s.Serve(t)
		s.createInstancetype(t)
		id := s.create(t, "node-0", machine{change: ofInstancetype})
		s.shows(t, p, id, "Off Enabled OK")
		if s.rights == OurRights {
			eventually(t, "the sizes are known", func() bool { cpus, _ := sizes(t, p, id); return cpus != nil })
		} else {
			eventually(t, "KubeVirt has refused", func() bool { return len(p.Log.Records(lacksARight)) > 0 })
			cpus, memory := sizes(t, p, id)
			require.Nil(t, cpus)
			require.Nil(t, memory)
			s.accepted(t, p, id, "On")
			s.shows(t, p, id, "On Enabled OK")
			s.accepted(t, p, id, "ForceOff")
			s.shows(t, p, id, "Off Enabled OK")
		}
		cpus, memory := sizes(t, p, id)
		require.EqualValues(t, 3, cpus)
		require.EqualValues(t, 5, memory)
	})
}

// Two machines of one name have identities of their own: those that their guests see, the same on and off.
func TestLabIdentityIsTheGuests(t *testing.T) {
	t.Parallel()
	s, other := NewSpace(t, OurRights), NewSpace(t, OurRights)
	require.NoError(t, s.apply(t.Context(), s.bindingIn(other.Name)))
	s.awaitRights(t, ofMachines(other.Name))
	p := Start(t, Config{
		Cluster: s.Account,
		Chassis: []auth.Chassis{{Name: "one", Namespace: s.Name}, {Name: "two", Namespace: other.Name}},
		Users:   []auth.Account{User(t, Admin, auth.Administrator, auth.AllChassis)},
	})
	const given = "5d307ca9-b3ef-428c-8861-06e72d69f223"
	id := s.create(t, "node-0", machine{strategy: byHand})
	named := other.create(t, "node-0", machine{change: func(vm *virtv1.VirtualMachine) {
		vm.Spec.Template.Spec.Domain.Firmware = &virtv1.Firmware{UUID: given, Serial: "SN-1"}
	}})
	s.shows(t, p, id, "Off Enabled OK")
	s.shows(t, p, named, "Off Enabled OK")
	body := p.Get(t, Admin, "/redfish/v1/Systems/"+named)
	require.Equal(t, given, body["UUID"])
	require.Equal(t, "SN-1", body["SerialNumber"])

	off := p.Get(t, Admin, "/redfish/v1/Systems/"+id)
	require.NotEmpty(t, off["SerialNumber"])
	require.NotEqual(t, given, off["UUID"])
	for range 2 {
		s.accepted(t, p, id, "On")
		s.shows(t, p, id, "On Enabled OK")
		require.EqualValues(t, s.runs(t, "node-0").Spec.Domain.Firmware.UUID, off["UUID"], "what the guest sees")
		require.Equal(t, off["UUID"], p.Get(t, Admin, "/redfish/v1/Systems/"+id)["UUID"])
		s.accepted(t, p, id, "ForceOff")
		s.shows(t, p, id, "Off Enabled OK")
	}
}

// NICs stand in the order of the definition, the same on and off; one without a MAC gets it from KubeVirt, and a
// machine without any has none.
func TestLabInterfacesAreTheSameOnAndOff(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, OurRights)
	p := s.Serve(t)
	id := s.create(t, "node-0", machine{strategy: byHand, change: threeNICs})
	bare := s.create(t, "bare", machine{change: func(vm *virtv1.VirtualMachine) {
		spec := &vm.Spec.Template.Spec
		spec.Networks, spec.Domain.Devices.Interfaces, spec.Domain.Devices.AutoattachPodInterface = nil, nil, new(bool)
	}})
	s.shows(t, p, id, "Off Enabled OK")
	s.shows(t, p, bare, "Off Enabled OK")
	require.Empty(t, members(t, p, Admin, "/redfish/v1/Systems/"+bare+"/EthernetInterfaces"))
	list := "/redfish/v1/Systems/" + id + "/EthernetInterfaces"
	macs := func() (all []any) {
		for _, nic := range members(t, p, Admin, list) {
			body := p.Get(t, Admin, list+"/"+nic)
			require.Equal(t, nic, body["Id"])
			require.Equal(t, body["MACAddress"], body["PermanentMACAddress"])
			all = append(all, body["MACAddress"])
		}
		return all
	}
	require.Equal(t, []string{"second", "first", "third"}, members(t, p, Admin, list))
	require.Equal(t, []any{"02:00:00:AA:BB:02", "02:00:00:AA:BB:01", nil}, macs())
	s.accepted(t, p, id, "On")
	s.shows(t, p, id, "On Enabled OK")
	require.Equal(t, []string{"second", "first", "third"}, members(t, p, Admin, list))
	eventually(t, "KubeVirt has told the third MAC", func() bool { return macs()[2] != nil })
	require.Equal(t, []any{"02:00:00:AA:BB:02", "02:00:00:AA:BB:01"}, macs()[:2])
}

// threeNICs gives a machine two NICs with MACs and one without, which is first in no order of names.
func threeNICs(vm *virtv1.VirtualMachine) {
	spec := &vm.Spec.Template.Spec
	bridge := virtv1.InterfaceBindingMethod{Bridge: &virtv1.InterfaceBridge{}}
	masquerade := virtv1.InterfaceBindingMethod{Masquerade: &virtv1.InterfaceMasquerade{}}
	spec.Domain.Devices.Interfaces = []virtv1.Interface{
		{Name: "second", MacAddress: "02:00:00:AA:BB:02", InterfaceBindingMethod: bridge},
		{Name: "first", MacAddress: "02:00:00:aa:bb:01", InterfaceBindingMethod: bridge},
		{Name: "third", InterfaceBindingMethod: masquerade},
	}
	multus := func(name string) virtv1.Network {
		return virtv1.Network{Name: name, NetworkSource: virtv1.NetworkSource{Multus: &virtv1.MultusNetwork{NetworkName: name}}}
	}
	spec.Networks = []virtv1.Network{multus("second"), multus("first"), {Name: "third", NetworkSource: virtv1.NetworkSource{Pod: &virtv1.PodNetwork{}}}}
}

// Machines appear and disappear within seconds, and what is listed can be read.
func TestLabMachinesComeAndGo(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, OurRights)
	p := s.Serve(t)
	require.Empty(t, members(t, p, Admin, "/redfish/v1/Systems"))
	id := s.create(t, "node-0", machine{})
	eventually(t, "it is listed", func() bool { return len(members(t, p, Admin, "/redfish/v1/Systems")) == 1 })
	p.Get(t, Admin, "/redfish/v1/Systems/"+id)
	require.NoError(t, s.virt.KubevirtV1().VirtualMachines(s.Name).Delete(t.Context(), "node-0", metav1.DeleteOptions{}))
	eventually(t, "it is listed no more", func() bool { return len(members(t, p, Admin, "/redfish/v1/Systems")) == 0 })
}
