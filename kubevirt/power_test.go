package kubevirt

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// with is a machine in a named state of the tables, changed further.
func with(run strategy, state string, changes ...func(m *machine)) *machine {
	m := machineIn(run, state)
	for _, change := range changes {
		change(m)
	}
	m.remember()
	return m
}

func onVMI(kind, status, reason, message string) func(m *machine) {
	return func(m *machine) {
		m.vmi.conditions = append(m.vmi.conditions, condition{kind, status, reason, message, noon.Add(-time.Minute)})
	}
}

func onVM(kind, status, reason, message string) func(m *machine) {
	return func(m *machine) {
		m.vm.conditions = append(m.vm.conditions, condition{kind, status, reason, message, noon.Add(-time.Minute)})
	}
}

func printable(status string) func(m *machine) { return func(m *machine) { m.vm.printable = status } }

func unschedulableFor(d time.Duration) func(m *machine) {
	return func(m *machine) {
		m.vmi.conditions = []condition{{"PodScheduled", "False", "Unschedulable", "0/3 nodes fit", noon.Add(-d)}}
	}
}

// wasReady is what the store remembers of an instance that has been Ready.
func wasReady(m *machine) { m.wasReady = m.vmi.uid }

func deleted(m *machine) { m.vm.deleted = noon }

func ended(state holdState, message string) func(m *machine) {
	return func(m *machine) { m.hold = waiting("old").ended(state, message, noon) }
}

func TestPowerStateAndHealth(t *testing.T) {
	const (
		ok, warning, critical = redfish.HealthOK, redfish.HealthWarning, redfish.HealthCritical
		enabled, starting     = redfish.StateEnabled, redfish.StateStarting
	)
	paused := onVMI("Paused", "True", "PausedByUser", "")
	ioError := onVMI("Paused", "True", "PausedIOError", "")
	nodeLost := onVMI("Ready", "False", "", "")
	probeFails := onVMI("Ready", "False", "ContainersNotReady", "containers with unready status: [compute]")
	noPods := onVM("Failure", "True", "FailedCreate", "exceeded quota")
	backOff := func(m *machine) { m.vm.startFailures, m.vm.retryAfter = 3, noon.Add(time.Minute) }
	tests := map[string]struct {
		m       *machine
		power   redfish.PowerState
		state   redfish.State
		health  redfish.Health
		because string // part of the only condition's message
	}{
		"1: deleted, no instance":                      {with(always, "ended", deleted), redfish.PowerOff, redfish.StateDisabled, ok, ""},
		"1: deleted, ended instance":                   {with(always, "failed", deleted), redfish.PowerOff, redfish.StateDisabled, ok, ""},
		"1: deleted, running":                          {with(always, "running", deleted), redfish.PowerPoweringOff, redfish.StateDisabled, ok, ""},
		"1 before 2: deleted, power-on held":           {with(halted, "hold", deleted), redfish.PowerOff, redfish.StateDisabled, ok, ""},
		"1 before 4: deleted, paused":                  {with(always, "paused", deleted), redfish.PowerPoweringOff, redfish.StateDisabled, ok, ""},
		"2: held, no instance":                         {with(halted, "hold"), redfish.PowerPoweringOn, starting, ok, ""},
		"2 before 3: held, stopping":                   {with(halted, "hold+vmi"), redfish.PowerPoweringOn, starting, ok, ""},
		"2 before 9: held, ended instance":             {with(once, "succeeded", func(m *machine) { m.hold = waiting("x") }), redfish.PowerPoweringOn, starting, ok, ""},
		"3: deletion":                                  {with(always, "stopping"), redfish.PowerPoweringOff, enabled, ok, ""},
		"3: stop request":                              {with(manual, "running", func(m *machine) { m.vm.requests = []changeRequest{{actionStop, "vmi-1"}} }), redfish.PowerPoweringOff, enabled, ok, ""},
		"3: a restart is queued":                       {with(always, "running", func(m *machine) { m.vm.requests = []changeRequest{{actionStop, "vmi-1"}, {actionStart, ""}} }), redfish.PowerPoweringOff, enabled, ok, ""},
		"3: Halted":                                    {with(halted, "running"), redfish.PowerPoweringOff, enabled, ok, ""},
		"3 before 4: Halted, paused":                   {with(halted, "paused"), redfish.PowerPoweringOff, enabled, ok, ""},
		"3 before 5: deletion, host lost":              {with(always, "stopping", nodeLost, wasReady), redfish.PowerPoweringOff, enabled, ok, ""},
		"3 before 7: Halted, unschedulable":            {with(halted, "scheduling", unschedulableFor(time.Hour)), redfish.PowerPoweringOff, enabled, ok, ""},
		"not 3: a stop request for the one before":     {with(manual, "running", func(m *machine) { m.vm.requests = []changeRequest{{actionStop, "vmi-0"}} }), redfish.PowerOn, enabled, ok, ""},
		"4: paused":                                    {with(always, "paused"), redfish.PowerPaused, enabled, ok, ""},
		"4: paused by an I/O error":                    {with(always, "running", ioError), redfish.PowerPaused, enabled, critical, "I/O error"},
		"4 before 5: paused, host lost":                {with(always, "running", paused, nodeLost), redfish.PowerPaused, enabled, ok, ""},
		"4 before 6: paused, probe fails":              {with(always, "running", paused, probeFails, wasReady), redfish.PowerPaused, enabled, ok, ""},
		"not 4: no longer paused":                      {with(always, "running", onVMI("Paused", "False", "", "")), redfish.PowerOn, enabled, ok, ""},
		"5: host lost":                                 {with(always, "running", nodeLost), redfish.PowerOn, redfish.StateUnavailableOffline, critical, "host-1"},
		"5 before 6: host lost, was ready":             {with(always, "running", nodeLost, wasReady), redfish.PowerOn, redfish.StateUnavailableOffline, critical, "host-1"},
		"6: running":                                   {with(always, "running", onVMI("Ready", "True", "", "")), redfish.PowerOn, enabled, ok, ""},
		"6: no Ready condition yet":                    {with(always, "running"), redfish.PowerOn, enabled, ok, ""},
		"6: probe has not passed yet":                  {with(always, "running", probeFails), redfish.PowerOn, enabled, ok, ""},
		"6: probe fails after having passed":           {with(always, "running", probeFails, wasReady), redfish.PowerOn, enabled, warning, "unready status"},
		"6: a probe that passed for the one before":    {with(always, "running", probeFails, func(m *machine) { m.wasReady = "vmi-0" }), redfish.PowerOn, enabled, ok, ""},
		"6: a restart would change something":          {with(always, "running", onVM("RestartRequired", "True", "", "")), redfish.PowerOn, enabled, ok, ""},
		"6: printable status does not matter":          {with(always, "running", printable("CrashLoopBackOff")), redfish.PowerOn, enabled, ok, ""},
		"7: scheduling":                                {with(always, "scheduling"), redfish.PowerPoweringOn, starting, ok, ""},
		"7: no phase yet":                              {with(always, "scheduling", func(m *machine) { m.vmi.phase = "" }), redfish.PowerPoweringOn, starting, ok, ""},
		"7: scheduled":                                 {with(manual, "scheduling", func(m *machine) { m.vmi.phase = "Scheduled" }), redfish.PowerPoweringOn, starting, ok, ""},
		"7: unschedulable":                             {with(always, "scheduling", unschedulableFor(time.Second)), redfish.PowerPoweringOn, starting, warning, "0/3 nodes fit"},
		"7: unschedulable, almost 10 min":              {with(always, "scheduling", unschedulableFor(10*time.Minute-time.Second)), redfish.PowerPoweringOn, starting, warning, "0/3 nodes fit"},
		"7: unschedulable, 10 min":                     {with(always, "scheduling", unschedulableFor(10*time.Minute)), redfish.PowerPoweringOn, starting, critical, "0/3 nodes fit"},
		"7: image cannot be pulled":                    {with(always, "scheduling", printable("ErrImagePull")), redfish.PowerPoweringOn, starting, warning, "cannot be pulled"},
		"7 before 8: a start request is left over":     {with(manual, "scheduling", func(m *machine) { m.vm.requests = []changeRequest{{actionStart, ""}} }), redfish.PowerPoweringOn, starting, ok, ""},
		"8: Always, no instance":                       {with(always, "ended"), redfish.PowerPoweringOn, starting, ok, ""},
		"8: Always, ended well":                        {with(always, "succeeded"), redfish.PowerPoweringOn, starting, ok, ""},
		"8: Always, failed":                            {with(always, "failed"), redfish.PowerPoweringOn, starting, ok, ""},
		"8: Once, never started":                       {with(once, "never"), redfish.PowerPoweringOn, starting, ok, ""},
		"8: RerunOnFailure, never started":             {with(rerunOnFailure, "never"), redfish.PowerPoweringOn, starting, ok, ""},
		"8: RerunOnFailure, failed":                    {with(rerunOnFailure, "failed"), redfish.PowerPoweringOn, starting, ok, ""},
		"8: start request, Manual":                     {with(manual, "request"), redfish.PowerPoweringOn, starting, ok, ""},
		"8: start request, Manual, ended":              {with(manual, "succeeded", func(m *machine) { m.vm.requests = []changeRequest{{actionStop, "vmi-1"}, {actionStart, ""}} }), redfish.PowerPoweringOn, starting, ok, ""},
		"8: start request, Halted":                     {with(halted, "request"), redfish.PowerPoweringOn, starting, ok, ""},
		"8: back-off":                                  {with(always, "ended", backOff, printable("CrashLoopBackOff")), redfish.PowerPoweringOn, starting, warning, "3 times in a row; the next try is not before 2026-07-01T12:01:00Z"},
		"8: the instance cannot be made":               {with(always, "ended", noPods), redfish.PowerPoweringOn, starting, warning, "exceeded quota"},
		"8: a volume is missing":                       {with(always, "ended", printable("ErrorPvcNotFound")), redfish.PowerPoweringOn, starting, warning, "PersistentVolumeClaim"},
		"8 before 10: wanted, a power-on failed":       {with(always, "ended", ended(holdFailed, "no")), redfish.PowerPoweringOn, starting, ok, ""},
		"9: Manual, ended well":                        {with(manual, "succeeded"), redfish.PowerOff, enabled, ok, ""},
		"9: Manual, failed":                            {with(manual, "failed"), redfish.PowerOff, enabled, ok, ""},
		"9: Manual, a request that nobody serves":      {with(manual, "succeeded", func(m *machine) { m.vm.requests = []changeRequest{{actionStart, ""}} }), redfish.PowerOff, enabled, ok, ""},
		"9: Once, ended":                               {with(once, "succeeded"), redfish.PowerOff, enabled, ok, ""},
		"9: Halted, ended":                             {with(halted, "succeeded"), redfish.PowerOff, enabled, ok, ""},
		"9: RerunOnFailure, ended well":                {with(rerunOnFailure, "succeeded"), redfish.PowerOff, enabled, ok, ""},
		"9: RerunOnFailure, stopped by force":          {with(rerunOnFailure, "killed"), redfish.PowerOff, enabled, ok, ""},
		"10: Halted":                                   {with(halted, "never"), redfish.PowerOff, enabled, ok, ""},
		"10: Manual":                                   {with(manual, "never"), redfish.PowerOff, enabled, ok, ""},
		"10: RerunOnFailure, ended":                    {with(rerunOnFailure, "ended"), redfish.PowerOff, enabled, ok, ""},
		"10: waits for a migration":                    {with(waitAsReceiver, "never"), redfish.PowerOff, enabled, ok, ""},
		"10: printable status does not matter":         {with(halted, "ended", printable("DataVolumeError")), redfish.PowerOff, enabled, ok, ""},
		"10: a stop request is left over":              {with(manual, "ended", func(m *machine) { m.vm.requests = []changeRequest{{actionStop, "vmi-1"}} }), redfish.PowerOff, enabled, ok, ""},
		"10: a held power-on was done":                 {with(halted, "ended", ended(holdDone, "")), redfish.PowerOff, enabled, ok, ""},
		"10: a held power-on was cancelled":            {with(halted, "ended", ended(holdCancelled, "by ForceOff")), redfish.PowerOff, enabled, ok, ""},
		"10: a held power-on failed":                   {with(halted, "ended", ended(holdFailed, "exceeded quota")), redfish.PowerOff, enabled, warning, "exceeded quota"},
		"9 before 10: ended instance, power-on failed": {with(halted, "succeeded", ended(holdFailed, "no")), redfish.PowerOff, enabled, ok, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			power, status := powerOf(tc.m, noon)
			require.Equal(t, tc.power, power)
			require.Equal(t, tc.state, status.State)
			require.Equal(t, tc.health, status.Health)
			if tc.because == "" {
				require.Empty(t, status.Conditions)
				return
			}
			require.Len(t, status.Conditions, 1)
			require.Contains(t, status.Conditions[0].Message, tc.because)
			require.Equal(t, tc.health, status.Conditions[0].Severity)
		})
	}
}

func TestVersionChangesWhenWaitingBecomesCritical(t *testing.T) {
	began := noon.Add(-time.Minute)
	critical := began.Add(10 * time.Minute)
	tests := map[string]struct {
		m       *machine
		changes bool
	}{
		"unschedulable":        {with(always, "scheduling", unschedulableFor(time.Minute)), true},
		"without a time of it": {with(always, "scheduling", unschedulableFor(0), func(m *machine) { m.vmi.conditions[0].since, m.vmi.created = time.Time{}, began }), true},
		"schedulable":          {with(always, "scheduling"), false},
		"running":              {with(always, "running"), false},
		"off":                  {with(halted, "ended"), false},
		"ended instance":       {with(manual, "failed", unschedulableFor(time.Minute)), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			at := func(now time.Time) redfish.Version {
				return (&handle{found: found{machine: tc.m, epoch: 3}, now: now}).Version()
			}
			health := func(now time.Time) redfish.Health {
				_, status := powerOf(tc.m, now)
				return status.Health
			}
			require.Equal(t, at(noon), at(critical.Add(-1)))
			require.Equal(t, tc.changes, at(noon) != at(critical))
			require.Equal(t, at(critical), at(critical.Add(time.Hour)))
			require.Equal(t, tc.changes, health(critical.Add(-1)) != health(critical))
		})
	}
}

// watches gives the store what the watches bring, one object after the other.
type watches struct {
	*store
	version uint64
}

func newWatches() *watches {
	return &watches{store: newStore(auth.NewExposure([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}}))}
}

// vm brings the VM of a machine.
func (w *watches) vm(m *machine) {
	w.version++
	vm := *m.vm
	vm.version = w.version
	w.setVM(vm.key, &vm)
}

// vmi brings the instance of a machine, or that it is gone.
func (w *watches) vmi(m *machine) {
	w.version++
	if m.vmi == nil {
		w.setVMI(m.key, nil)
		return
	}
	vmi := *m.vmi
	vmi.version = w.version
	w.setVMI(vmi.key, &vmi)
}

func (w *watches) power() redfish.PowerState {
	power, _ := powerOf(w.get(key{"cp1", "node-0"}), noon)
	return power
}

func (w *watches) health() redfish.Health {
	_, status := powerOf(w.get(key{"cp1", "node-0"}), noon)
	return status.Health
}

func TestPowerStateNeverJumpsBackWhileStopping(t *testing.T) {
	running, stopping, off := machineIn(manual, "running"), machineIn(manual, "stopping"), machineIn(manual, "ended")
	w := newWatches()
	w.vm(running)
	w.vmi(running)
	require.Equal(t, redfish.PowerOn, w.power())
	w.vm(stopping)
	require.Equal(t, redfish.PowerPoweringOff, w.power())

	// virt-controller takes the request away once the instance is gone; that is seen before the instance goes.
	older := *instance(phaseRunning)
	older.version = w.version // an older state of the instance is still on its way
	w.vm(off)
	require.Equal(t, redfish.PowerPoweringOff, w.power(), "the request is gone, the instance is not")
	w.setVMI(older.key, &older)
	require.Equal(t, redfish.PowerPoweringOff, w.power(), "an older state of the instance came late")
	w.vmi(stopping)
	require.Equal(t, redfish.PowerPoweringOff, w.power())
	w.vmi(off)
	require.Equal(t, redfish.PowerOff, w.power())

	again := machineIn(manual, "running")
	again.vmi.uid = "vmi-2"
	w.vmi(again)
	require.Equal(t, redfish.PowerOn, w.power(), "the next instance is not stopping")
}

func TestWithdrawnStopRequestIsForgotten(t *testing.T) {
	running, stopping := machineIn(manual, "running"), machineIn(manual, "stopping")
	w := newWatches()
	w.vmi(running)
	w.vm(stopping)
	require.Equal(t, redfish.PowerPoweringOff, w.power())
	w.vm(running) // somebody withdrew it
	w.vmi(running)
	require.Equal(t, redfish.PowerOn, w.power(), "an instance that is newer than the withdrawal is not deleted")
}

func TestFailingProbeMattersOnceItHasPassed(t *testing.T) {
	notReady := with(always, "running", onVMI("Ready", "False", "ContainersNotReady", ""))
	ready := with(always, "running", onVMI("Ready", "True", "", ""))
	w := newWatches()
	w.vm(ready)
	w.vmi(notReady)
	require.Equal(t, redfish.HealthOK, w.health())
	w.vmi(ready)
	require.Equal(t, redfish.HealthOK, w.health())
	w.vmi(notReady)
	require.Equal(t, redfish.HealthWarning, w.health())
	w.vm(ready)
	require.Equal(t, redfish.HealthWarning, w.health(), "a change of the VM does not forget it")

	next := with(always, "running", onVMI("Ready", "False", "ContainersNotReady", ""))
	next.vmi.uid = "vmi-2"
	w.vmi(next)
	require.Equal(t, redfish.HealthOK, w.health(), "the next instance has not passed yet")
}

// A start request that nobody serves does not make an ended machine a starting one, and a power-on gets past it.
func TestAnUnservedStartRequestStartsNothing(t *testing.T) {
	m := &machine{
		key: key{"ns", "vm"},
		vm:  &vmRecord{strategy: manual, requests: []changeRequest{{action: actionStart}}},
		vmi: &vmiRecord{identity: identity{uid: "u"}, phase: phaseSucceeded},
	}
	state, _ := powerOf(m, time.Time{})
	require.Equal(t, redfish.PowerOff, state)
	p := decide(m, redfish.ResetOn, moment{may: rights{start: true, stop: true, restart: true}})
	require.Equal(t, []call{{do: request}}, p.calls)
	m.stopping = "u" // with a stop request beside it, the ended instance goes and the start follows
	state, _ = powerOf(m, time.Time{})
	require.Equal(t, redfish.PowerPoweringOn, state)
}

// An instance that is seen before the start that made it belongs to a machine that is starting, not to one that
// shuts down; once the VM's own watch says Halted again, it shuts down.
func TestAnInstanceSeenBeforeItsStartIsStarting(t *testing.T) {
	k := key{"ns", "vm"}
	s := newStore(auth.NewExposure([]auth.Chassis{{Name: "c", Namespace: "ns"}}))
	halt := func(version uint64) *vmRecord {
		return &vmRecord{identity: identity{key: k, uid: "vm-uid", version: version}, strategy: halted}
	}
	state := func() redfish.PowerState {
		power, _ := powerOf(s.get(k), time.Time{})
		return power
	}
	s.setVM(k, halt(10))
	s.setVMI(k, &vmiRecord{identity: identity{key: k, uid: "u", version: 12}, phase: "Pending"})
	require.Equal(t, redfish.PowerPoweringOn, state())
	started := halt(11)
	started.strategy = always
	s.setVM(k, started)
	require.Equal(t, redfish.PowerPoweringOn, state())
	s.setVM(k, halt(13))
	require.Equal(t, redfish.PowerPoweringOff, state())

	s.setVMI(k, nil)
	s.setVMI(k, &vmiRecord{identity: identity{key: k, uid: "older", version: 12}, phase: "Running"})
	require.Equal(t, redfish.PowerPoweringOff, state(), "an instance that is older than the Halted VM is on its way down")
}

// The VM's own watch can tell of a start that is done before the other one brings the instance: the machine is
// starting all the time, and a power-off meanwhile has something to stop.
func TestAMachineWhoseInstanceIsNotSeenYetIsStarting(t *testing.T) {
	requested := func(vm *vmRecord) { vm.requests = []changeRequest{{action: actionStart}} }
	tests := map[string]struct {
		run     strategy
		started func(vm *vmRecord) // as it is until its instance is made
		off     string
	}{
		"by a request":             {manual, requested, "Halted(Manual)"},
		"by the run strategy":      {rerunOnFailure, func(vm *vmRecord) { vm.statusStrategy = halted }, "Halted(RerunOnFailure)"},
		"by both, after a failure": {rerunOnFailure, requested, "Halted(RerunOnFailure)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := machineIn(tc.run, "ended")
			s := storeOf([]auth.Chassis{{Name: "c", Namespace: "cp1"}})
			vm := func(change func(vm *vmRecord)) {
				next := *m.vm
				next.version++
				next.hasInstance, next.requests, next.statusStrategy = false, nil, tc.run
				change(&next)
				m.vm = &next
				s.setVM(m.key, m.vm)
			}
			state := func() redfish.PowerState { power, _ := powerOf(s.get(m.key), noon); return power }
			vm(func(*vmRecord) {})
			require.Equal(t, redfish.PowerOff, state())
			vm(tc.started)
			require.Equal(t, redfish.PowerPoweringOn, state())
			for range 2 {
				vm(func(vm *vmRecord) { vm.hasInstance = true })
				require.Equal(t, redfish.PowerPoweringOn, state())
				require.Equal(t, tc.off, brief(decide(s.get(m.key), redfish.ResetForceOff, moment{may: allRights, now: noon})))
			}
			s.setVMI(m.key, instance(phaseRunning))
			require.Equal(t, redfish.PowerOn, state())
			s.setVMI(m.key, nil)
			require.Equal(t, redfish.PowerOff, state(), "it has been seen")
			vm(tc.started)
			vm(func(*vmRecord) {})
			require.Equal(t, redfish.PowerOff, state(), "the start was withdrawn")
		})
	}
}
