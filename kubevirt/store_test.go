package kubevirt

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// callerOf is somebody who is granted the chassis.
func callerOf(names ...auth.ChassisName) auth.Principal {
	return auth.Principal{User: "operator1", Role: "Operator", Grants: auth.NewGrants(names...)}
}

// vmNamed is a VM as a watch brings it.
func vmNamed(namespace, name string, version uint64, labels ...string) *vmRecord {
	vm := &vmRecord{identity: identity{key: key{namespace, name}, uid: "uid-" + namespace + "-" + name, version: version}, strategy: halted}
	if len(labels) > 0 {
		vm.labels = map[string]string{}
		for i := 0; i < len(labels); i += 2 {
			vm.labels[labels[i]] = labels[i+1]
		}
	}
	return vm
}

func storeOf(chassis []auth.Chassis, vms ...*vmRecord) *store {
	s := newStore(auth.NewExposure(chassis))
	for _, vm := range vms {
		s.setVM(vm.key, vm)
	}
	return s
}

// sees reports whether the caller finds the machine.
func (s *store) sees(who auth.Principal, id string) bool {
	return s.find(who, id, Enhanced).machine != nil
}

func TestChassisContainWhatTheySelect(t *testing.T) {
	s := storeOf([]auth.Chassis{
		{Name: "everything", Namespace: "cp1"},
		{Name: "labelled", Namespace: "cp1", Labels: map[string]string{"role": "master", "tier": "1"}},
		{Name: "named", Namespace: "cp1", Names: []string{"a", "z"}},
		{Name: "both", Namespace: "cp1", Labels: map[string]string{"role": "master"}, Names: []string{"b"}},
		{Name: "elsewhere", Namespace: "cp2"},
	},
		vmNamed("cp1", "a", 1), vmNamed("cp1", "b", 2, "role", "master", "tier", "1", "more", "x"),
		vmNamed("cp1", "c", 3, "role", "master"), vmNamed("cp2", "a", 4, "role", "master", "tier", "1"),
	)
	tests := map[auth.ChassisName][]redfish.SystemID{
		"everything": {"cp1.a", "cp1.b", "cp1.c"},
		"labelled":   {"cp1.b"},
		"named":      {"cp1.a"},
		"both":       {"cp1.b"},
		"elsewhere":  {"cp2.a"},
		"unknown":    {},
		"*":          {"cp1.a", "cp1.b", "cp1.c", "cp2.a"},
	}
	for name, want := range tests {
		t.Run(string(name), func(t *testing.T) {
			who := callerOf(name)
			require.Equal(t, want, s.list(who, auth.AllChassis, Enhanced).IDs)
			for _, id := range []string{"cp1.a", "cp1.b", "cp1.c", "cp2.a"} {
				require.Equal(t, contains(want, id), s.sees(who, id), "listed and found are the same: %s", id)
			}
		})
	}
}

func contains(ids []redfish.SystemID, id string) bool {
	for _, i := range ids {
		if string(i) == id {
			return true
		}
	}
	return false
}

func TestMachineMovesWithItsLabels(t *testing.T) {
	s := storeOf([]auth.Chassis{
		{Name: "blue", Namespace: "cp1", Labels: map[string]string{"colour": "blue"}},
		{Name: "red", Namespace: "cp1", Labels: map[string]string{"colour": "red"}},
	}, vmNamed("cp1", "a", 1, "colour", "blue"))
	require.True(t, s.sees(callerOf("blue"), "cp1.a"))

	s.setVM(key{"cp1", "a"}, vmNamed("cp1", "a", 2, "colour", "red"))
	require.False(t, s.sees(callerOf("blue"), "cp1.a"))
	require.Empty(t, s.list(callerOf("blue"), "blue", Enhanced).IDs)
	require.True(t, s.sees(callerOf("red"), "cp1.a"))
	require.Len(t, s.list(callerOf("red"), "red", Enhanced).IDs, 1)

	s.setVM(key{"cp1", "a"}, vmNamed("cp1", "a", 3))
	require.False(t, s.sees(callerOf("*"), "cp1.a"))
	require.Empty(t, s.list(callerOf("*"), "*", Enhanced).IDs)
}

func TestHiddenEqualsAbsent(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}, {Name: "cp2", Namespace: "cp2"}},
		vmNamed("cp1", "a", 1), vmNamed("cp2", "secret", 2), vmNamed("other", "x", 3))
	s.setVMI(key{"cp1", "orphan"}, instance(phaseRunning))
	for _, id := range []string{"cp2.secret", "secret", "other.x", "x", "cp1.orphan", "orphan", "cp1.nope", "nope", "", ".", "cp1.", ".a", "cp1", "cp1.a.b"} {
		for _, convention := range []Convention{Enhanced, Legacy} {
			require.Equal(t, found{epoch: s.epoch, id: redfish.SystemID(id)}, s.find(callerOf("cp1"), id, convention), "%s %q", convention, id)
		}
	}
	require.Empty(t, s.resolve(callerOf("cp1"), "cp2", "secret", Enhanced))
	require.Empty(t, s.resolve(callerOf("cp1"), "cp1", "nope", Enhanced))
	require.Empty(t, s.resolve(callerOf("cp1"), "nope", "a", Enhanced))
	require.EqualValues(t, "cp1.a", s.resolve(callerOf("cp1"), "cp1", "a", Enhanced))
	require.False(t, s.sees(callerOf(), "cp1.a"), "no grant, no machine")
}

func TestVMThatIsGoneIsHiddenAtOnce(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}}, vmNamed("cp1", "a", 1))
	k := key{"cp1", "a"}
	s.setVMI(k, instance(phaseRunning))
	s.setVM(k, nil)
	require.False(t, s.sees(callerOf("cp1"), "cp1.a"), "its instance is still there")
	require.Empty(t, s.list(callerOf("cp1"), "cp1", Enhanced).IDs)
	s.setVMI(k, nil)
	require.Nil(t, s.get(k))
	require.Empty(t, s.machines)
}

func TestReplacedExposureActsAtOnce(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "one", Namespace: "cp1", Names: []string{"a"}}}, vmNamed("cp1", "a", 1), vmNamed("cp1", "b", 2))
	who := callerOf("one", "two")
	before := s.find(who, "cp1.a", Enhanced)
	list := s.list(who, "*", Enhanced)
	s.expose(auth.NewExposure([]auth.Chassis{{Name: "two", Namespace: "cp1", Names: []string{"b"}}}))
	require.False(t, s.sees(who, "cp1.a"))
	require.True(t, s.sees(who, "cp1.b"))
	require.NotEqual(t, list.Version, s.list(who, "*", Enhanced).Version)
	require.Equal(t, []redfish.SystemID{"cp1.b"}, s.list(who, "*", Enhanced).IDs)

	s.expose(auth.NewExposure([]auth.Chassis{{Name: "one", Namespace: "cp1", Names: []string{"a"}}}))
	again := s.find(who, "cp1.a", Enhanced)
	require.NotEqual(t, (&handle{found: before}).Version(), (&handle{found: again}).Version(), "an old page is not taken for the new one")
}

func TestAnswersAreShownAndNeverResurrect(t *testing.T) {
	k := key{"cp1", "a"}
	chassis := []auth.Chassis{{Name: "cp1", Namespace: "cp1"}}
	withUID := func(vm *vmRecord, uid string) *vmRecord { vm.uid = uid; return vm }
	tests := map[string]struct {
		happens func(s *store)
		want    uint64 // version of the VM afterwards; 0 for none
	}{
		"a newer state":             {func(s *store) { s.answered(vmNamed("cp1", "a", 12)) }, 12},
		"an older state":            {func(s *store) { s.answered(vmNamed("cp1", "a", 8)) }, 10},
		"the same state":            {func(s *store) { s.answered(vmNamed("cp1", "a", 10)) }, 10},
		"the watch comes after":     {func(s *store) { s.answered(vmNamed("cp1", "a", 12)); s.setVM(k, vmNamed("cp1", "a", 11)) }, 12},
		"the watch goes on":         {func(s *store) { s.answered(vmNamed("cp1", "a", 12)); s.setVM(k, vmNamed("cp1", "a", 13)) }, 13},
		"seen to go before":         {func(s *store) { s.setVM(k, nil); s.answered(vmNamed("cp1", "a", 12)) }, 0},
		"gone, an instance is left": {func(s *store) { s.setVMI(k, instance("Running")); s.setVM(k, nil); s.answered(vmNamed("cp1", "a", 12)) }, 0},
		"gone and made anew": {func(s *store) {
			s.setVM(k, nil)
			s.setVM(k, withUID(vmNamed("cp1", "a", 11), "new"))
			s.answered(vmNamed("cp1", "a", 12))
		}, 11},
		"goes after":                 {func(s *store) { s.answered(vmNamed("cp1", "a", 12)); s.setVM(k, nil) }, 0},
		"another one of an old name": {func(s *store) { s.setVM(k, withUID(vmNamed("cp1", "a", 3), "restored")) }, 3},
		"one that was never there":   {func(s *store) { s.answered(vmNamed("cp1", "b", 99)) }, 10},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := storeOf(chassis, vmNamed("cp1", "a", 10))
			tc.happens(s)
			var version uint64
			if m := s.get(k); m != nil && m.vm != nil {
				version = m.vm.version
			}
			require.Equal(t, tc.want, version)
			require.Nil(t, s.get(key{"cp1", "b"}))
		})
	}
}

func TestEveryChangeIsANewVersion(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}}, vmNamed("cp1", "a", 1), vmNamed("cp1", "b", 2))
	version := func(id string) redfish.Version {
		return (&handle{found: s.find(callerOf("cp1"), id, Enhanced), now: noon}).Version()
	}
	other := version("cp1.b")
	last := version("cp1.a")
	for _, change := range []func(){
		func() { s.setVM(key{"cp1", "a"}, vmNamed("cp1", "a", 3)) },
		func() { s.setVMI(key{"cp1", "a"}, instance(phaseRunning)) },
		func() { s.setVMI(key{"cp1", "a"}, nil) },
	} {
		change()
		require.NotEqual(t, last, version("cp1.a"))
		last = version("cp1.a")
		require.Equal(t, other, version("cp1.b"), "another machine")
	}
	for _, change := range []func(){
		func() { s.setClaim(key{"cp1", "disk"}, &claimRecord{bytes: gibi}) },
		func() { s.setClaim(key{"cp1", "disk"}, nil) },
		func() { s.setLost(noon) },
	} {
		change()
		require.NotEqual(t, last, version("cp1.a"))
		last = version("cp1.a")
	}
	s.setClaim(key{"cp1", "never"}, nil)
	require.Equal(t, last, version("cp1.a"), "nothing changed")
}

func TestAwaitSeesEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storeOf([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}}, vmNamed("cp1", "a", 1))
		k := key{"cp1", "a"}
		atLeast := func(version uint64) func(*machine) bool {
			return func(m *machine) bool { return m != nil && m.vm.version >= version }
		}
		require.True(t, s.await(t.Context(), k, atLeast(1)), "it is so already")

		var waiting sync.WaitGroup
		for i := range uint64(50) {
			waiting.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.True(t, s.await(ctx, k, atLeast(2+i)))
			})
		}
		for i := range uint64(60) {
			if i%7 == 0 {
				synctest.Wait() // let some of them block first
			}
			s.setVM(k, vmNamed("cp1", "a", 2+i))
			s.setVM(key{"cp1", "b"}, vmNamed("cp1", "b", 100+i))
		}
		waiting.Wait()
		require.Empty(t, s.waiters, "nobody is left")
	})
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storeOf(nil)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		require.False(t, s.await(ctx, key{"cp1", "a"}, func(m *machine) bool { return m != nil }))
		require.Equal(t, 2*time.Second, time.Since(began))
		require.Empty(t, s.waiters)
	})
}

func TestAwaitLosesNoWakeUp(t *testing.T) {
	// The change comes between the look at the machine and the wait for the next one.
	s := storeOf([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}})
	k := key{"cp1", "a"}
	looked := 0
	require.True(t, s.await(t.Context(), k, func(m *machine) bool {
		if looked++; looked == 1 {
			s.setVM(k, vmNamed("cp1", "a", 1))
			return false
		}
		return m != nil
	}))
	require.Equal(t, 2, looked)
}

func TestStoreIsSafeForManyAtOnce(t *testing.T) {
	one := auth.NewExposure([]auth.Chassis{{Name: "a", Namespace: "cp1"}, {Name: "b", Namespace: "cp2"}, {Name: "c", Namespace: "cp3"}})
	two := auth.NewExposure([]auth.Chassis{{Name: "c", Namespace: "cp3"}, {Name: "b", Namespace: "cp2"}})
	s := newStore(one)
	var lists listings
	var working sync.WaitGroup
	for worker := range 4 {
		working.Go(func() {
			for i := range 200 {
				namespace, name := fmt.Sprintf("cp%d", 1+i%3), strconv.Itoa(i%17)
				k := key{namespace, name}
				s.setVM(k, vmNamed(namespace, name, uint64(i)))
				s.setVMI(k, &vmiRecord{identity: identity{key: k}, phase: phaseRunning})
				if i%5 == worker {
					s.setVM(k, nil)
				}
				s.answered(vmNamed(namespace, name, uint64(i+1)))
				s.setClaim(k, &claimRecord{bytes: int64(i)})
			}
		})
		working.Go(func() {
			for i := range 200 {
				s.expose([]*auth.Exposure{one, two}[i%2])
			}
		})
		working.Go(func() {
			who := callerOf("b")
			for i := range 200 {
				for _, id := range lists.of(s, who, auth.AllChassis, Enhanced).IDs {
					require.Contains(t, string(id), "cp2.", "only what is granted")
				}
				id := fmt.Sprintf("cp2.%d", i%17)
				if f := s.find(who, id, Legacy); f.machine != nil {
					powerOf(f.machine, noon)
				}
				s.tasks(who, noon, Legacy)
			}
		})
	}
	working.Wait()
}
