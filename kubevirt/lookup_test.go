package kubevirt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

func TestIDsOfBothConventions(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "one", Namespace: "cp1"}, {Name: "two", Namespace: "cp2"}, {Name: "again", Namespace: "cp1", Names: []string{"a"}}},
		vmNamed("cp1", "a", 1), vmNamed("cp2", "a", 2), vmNamed("cp2", "b", 3), vmNamed("cp1", "with.dots", 4), vmNamed("cp1", "cp2.b", 5))
	type asked struct {
		convention Convention
		grants     []auth.ChassisName
		id         string
	}
	all := []auth.ChassisName{"one", "two"}
	tests := map[string]struct {
		asked
		namespace, name string
		canonical       redfish.SystemID
	}{
		"enhanced":                               {asked{Enhanced, all, "cp1.a"}, "cp1", "a", "cp1.a"},
		"enhanced, dots in the name":             {asked{Enhanced, all, "cp1.with.dots"}, "cp1", "with.dots", "cp1.with.dots"},
		"enhanced, bare name is an alias":        {asked{Enhanced, all, "b"}, "cp2", "b", "cp2.b"},
		"enhanced, bare name with dots":          {asked{Enhanced, all, "with.dots"}, "cp1", "with.dots", "cp1.with.dots"},
		"enhanced, bare name in two":             {asked{Enhanced, all, "a"}, "cp1", "a", "cp1.a"},
		"enhanced, bare name, first is hidden":   {asked{Enhanced, []auth.ChassisName{"two"}, "a"}, "cp2", "a", "cp2.a"},
		"enhanced, looks like another's id":      {asked{Enhanced, all, "cp2.b"}, "cp2", "b", "cp2.b"},
		"enhanced, the one that looks alike":     {asked{Enhanced, all, "cp1.cp2.b"}, "cp1", "cp2.b", "cp1.cp2.b"},
		"legacy":                                 {asked{Legacy, all, "b"}, "cp2", "b", "b"},
		"legacy, enhanced is an alias":           {asked{Legacy, all, "cp2.b"}, "cp2", "b", "b"},
		"legacy, first of a name in two":         {asked{Legacy, all, "a"}, "cp1", "a", "a"},
		"legacy, first by its alias":             {asked{Legacy, all, "cp1.a"}, "cp1", "a", "a"},
		"legacy, second keeps the enhanced id":   {asked{Legacy, all, "cp2.a"}, "cp2", "a", "cp2.a"},
		"legacy, the only one for this caller":   {asked{Legacy, []auth.ChassisName{"two"}, "a"}, "cp2", "a", "a"},
		"legacy, dots in the name":               {asked{Legacy, all, "with.dots"}, "cp1", "with.dots", "with.dots"},
		"legacy, name looks like another's id":   {asked{Legacy, all, "cp1.cp2.b"}, "cp1", "cp2.b", "cp1.cp2.b"},
		"legacy, looks alike, other one hidden":  {asked{Legacy, []auth.ChassisName{"one"}, "cp2.b"}, "cp1", "cp2.b", "cp2.b"},
		"legacy, a later chassis of the same VM": {asked{Legacy, []auth.ChassisName{"again"}, "a"}, "cp1", "a", "a"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			who := callerOf(tc.grants...)
			f := s.find(who, tc.id, tc.convention)
			require.NotNil(t, f.machine)
			require.Equal(t, key{tc.namespace, tc.name}, f.key)
			require.Equal(t, tc.canonical, f.id)
			again := s.find(who, string(f.id), tc.convention)
			require.Equal(t, f.key, again.key, "the canonical id leads back")
		})
	}
}

func TestListedIDsAreUniqueAndLeadToTheirMachines(t *testing.T) {
	s := storeOf([]auth.Chassis{{Name: "one", Namespace: "cp1"}, {Name: "two", Namespace: "cp2"}, {Name: "half", Namespace: "cp2", Names: []string{"a"}}},
		vmNamed("cp1", "a", 1), vmNamed("cp2", "a", 2), vmNamed("cp2", "b", 3), vmNamed("cp1", "cp2.b", 4), vmNamed("cp1", "cp2.a", 5))
	for _, convention := range []Convention{Enhanced, Legacy} {
		for _, grants := range [][]auth.ChassisName{{"one"}, {"two"}, {"half"}, {"one", "half"}, {"*"}} {
			who := callerOf(grants...)
			machines := map[key]bool{}
			ids := s.list(who, auth.AllChassis, convention).IDs
			for _, id := range ids {
				f := s.find(who, string(id), convention)
				require.NotNil(t, f.machine, "%s %v: %s", convention, grants, id)
				require.Equal(t, id, f.id)
				machines[f.key] = true
			}
			require.Len(t, machines, len(ids), "%s %v: %v", convention, grants, ids)
		}
	}
}

func TestTasksAreThoseOfVisibleMachines(t *testing.T) {
	held := func(namespace, name, id string) *vmRecord {
		vm := vmNamed(namespace, name, 1)
		vm.annotations.PowerOn = waiting(id).String()
		return vm
	}
	old := vmNamed("cp1", "old", 1)
	old.annotations.PowerOn = waiting("x").ended(holdDone, "", noon.Add(-taskLife-1)).String()
	recent := vmNamed("cp1", "recent", 1)
	recent.annotations.PowerOn = waiting("y").ended(holdFailed, "exceeded quota", noon.Add(-taskLife)).String()
	s := storeOf([]auth.Chassis{{Name: "one", Namespace: "cp1"}, {Name: "two", Namespace: "cp2"}},
		held("cp1", "b", "2"), held("cp1", "a", "1"), held("cp2", "a", "3"), vmNamed("cp1", "idle", 1), old, recent)
	var ids []redfish.TaskID
	for _, task := range s.tasks(callerOf("one"), noon, Legacy) {
		ids = append(ids, task.ID)
	}
	require.Equal(t, []redfish.TaskID{"cp1.a.1", "cp1.b.2", "cp1.recent.y"}, ids)
	require.EqualValues(t, "a", s.tasks(callerOf("one"), noon, Legacy)[0].System)
}

func TestTaskFollowsTheAnnotation(t *testing.T) {
	m := machineIn(halted, "hold")
	require.Equal(t, &redfish.Task{
		ID: "cp1.node-0.old", Name: "Reset On", State: redfish.TaskRunning, Started: noon, Message: "The power-on waits until the machine has shut down.",
	}, taskOf(m, noon.Add(24*taskLife)), "a waiting one stays however old it is")
	tests := map[holdState]struct {
		state  redfish.TaskState
		failed bool
	}{
		holdDone:      {redfish.TaskCompleted, false},
		holdCancelled: {redfish.TaskCancelled, false},
		holdFailed:    {redfish.TaskException, true},
		"exploded":    {redfish.TaskException, true},
	}
	for state, tc := range tests {
		m.hold = waiting("old").ended(state, "why", noon)
		require.Equal(t, &redfish.Task{
			ID: "cp1.node-0.old", Name: "Reset On", State: tc.state, Failed: tc.failed, Started: noon, Ended: noon, Message: "why",
		}, taskOf(m, noon.Add(taskLife)), string(state))
		require.Nil(t, taskOf(m, noon.Add(taskLife+1)), string(state))
	}
	require.Nil(t, taskOf(machineIn(halted, "ended"), noon))
}
