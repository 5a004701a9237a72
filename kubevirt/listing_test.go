package kubevirt

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

func TestListingStaysTheSameWhileNothingChanges(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "one", Namespace: "cp1"}, {Name: "two", Namespace: "cp2"}}, vmNamed("cp1", "a", 1), vmNamed("cp2", "a", 1))
	var lists listings
	who := callerOf("one")
	of := func() *redfish.Listing { return lists.of(s, who, auth.AllChassis, Enhanced) }
	first := of()
	require.Same(t, first, of())
	require.Same(t, first, lists.of(s, callerOf("one"), auth.AllChassis, Enhanced), "another user with the same grants")
	require.NotSame(t, first, lists.of(s, callerOf("one", "two"), auth.AllChassis, Enhanced))
	require.NotSame(t, first, lists.of(s, who, "one", Enhanced))

	s.setVM(key{"cp1", "a"}, vmNamed("cp1", "a", 2))
	s.setVMI(key{"cp1", "a"}, instance(phaseRunning))
	s.setClaim(key{"cp1", "a"}, &claimRecord{bytes: 1})
	s.setVM(key{"cp2", "b"}, vmNamed("cp2", "b", 3))
	require.Same(t, first, of(), "a machine changed, or one that is not in it came")

	s.setVM(key{"cp1", "b"}, vmNamed("cp1", "b", 4))
	second := of()
	require.Equal(t, []redfish.SystemID{"cp1.a", "cp1.b"}, second.IDs)
	require.NotEqual(t, first.Version, second.Version)
	require.Equal(t, []redfish.SystemID{"cp1.a"}, first.IDs, "what was handed out does not change")
	s.setVM(key{"cp1", "b"}, nil)
	require.Equal(t, first.IDs, of().IDs)
	require.NotEqual(t, first.Version, of().Version)
}

func TestListedNamesFollowTheOtherChassis(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "one", Namespace: "cp1"}, {Name: "two", Namespace: "cp2"}}, vmNamed("cp2", "a", 1))
	var lists listings
	of := func() []redfish.SystemID { return lists.of(s, callerOf("one", "two"), "two", Legacy).IDs }
	require.Equal(t, []redfish.SystemID{"a"}, of())
	s.setVM(key{"cp1", "a"}, vmNamed("cp1", "a", 2))
	require.Equal(t, []redfish.SystemID{"cp2.a"}, of(), "an earlier chassis has one of that name now")
	s.setVM(key{"cp1", "a"}, nil)
	require.Equal(t, []redfish.SystemID{"a"}, of())
}

func TestListingOfSeveralChassisNamesEachMachineOnce(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "z", Namespace: "cp2"}, {Name: "all", Namespace: "cp1"}, {Name: "some", Namespace: "cp1", Names: []string{"b"}}},
		vmNamed("cp1", "c", 1), vmNamed("cp1", "b", 2), vmNamed("cp2", "a", 3), vmNamed("cp1", "a", 4))
	var lists listings
	require.Equal(t, []redfish.SystemID{"cp1.a", "cp1.b", "cp1.c", "cp2.a"}, lists.of(s, callerOf("*"), auth.AllChassis, Enhanced).IDs)
	require.Equal(t, []redfish.SystemID{"cp1.b", "cp2.a"}, lists.of(s, callerOf("some", "z"), auth.AllChassis, Enhanced).IDs)
}

func TestListingOfNothingIsEmptyNotNil(t *testing.T) {
	var lists listings
	require.Equal(t, []redfish.SystemID{}, lists.of(storeOf(nil), callerOf("*"), auth.AllChassis, Enhanced).IDs)
}

func TestListingCostsWhatItReturns(t *testing.T) {
	allocations := func(others int) float64 {
		s := storeOf([]auth.Chassis{{Name: "big", Namespace: "cp1"}, {Name: "small", Namespace: "cp2"}})
		for i := range others {
			s.setVM(key{"cp1", fmt.Sprint(i)}, vmNamed("cp1", fmt.Sprint(i), 1))
		}
		for i := range 5 {
			s.setVM(key{"cp2", fmt.Sprint(i)}, vmNamed("cp2", fmt.Sprint(i), 1))
		}
		return testing.AllocsPerRun(20, func() {
			var lists listings // nothing is kept
			require.Len(t, lists.of(s, callerOf("small"), auth.AllChassis, Enhanced).IDs, 5)
		})
	}
	require.InDelta(t, allocations(10), allocations(10_000), 2)
}

func TestKeptListingsAreBounded(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "one", Namespace: "cp1"}}, vmNamed("cp1", "a", 1))
	var lists listings
	for i := range 3 * maxListings {
		lists.of(s, callerOf("one", auth.ChassisName(fmt.Sprint(i))), auth.AllChassis, Enhanced)
		require.LessOrEqual(t, len(lists.kept), maxListings)
	}
}

func TestListIsSortedAsMachinesAreNamed(t *testing.T) {
	keys := []key{{"b", "a"}, {"a", "b"}, {"a", "a"}, {"a-b", "a"}}
	slices.SortFunc(keys, key.compare)
	require.Equal(t, []key{{"a", "a"}, {"a", "b"}, {"a-b", "a"}, {"b", "a"}}, keys)
}
