package kubevirt

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// The tables of what a reset takes, for people to read; their heads explain the notation.
//
//go:embed testdata/decide.txt
var decideTable string

//go:embed testdata/decide-rights.txt
var decideRightsTable string

var allRights = rights{start: true, stop: true, restart: true, killPods: true}

// columns are the reset types of a table; those left out are other names of one of these.
var columns = []redfish.ResetType{
	redfish.ResetOn, redfish.ResetForceOff, redfish.ResetGracefulShutdown, redfish.ResetGracefulRestart,
	redfish.ResetForceRestart, redfish.ResetPushPowerButton, redfish.ResetPause, redfish.ResetResume,
}

// row is a line of a table.
type row struct {
	section string
	state   string
	cells   []string
}

func rowsOf(t *testing.T, text string) []row {
	t.Helper()
	var rows []row
	var section string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "#":
		case strings.HasPrefix(line, "["):
			section = strings.Trim(strings.TrimSpace(line), "[]")
		default:
			require.Len(t, fields, 1+len(columns), line)
			rows = append(rows, row{section, fields[0], fields[1:]})
		}
	}
	return rows
}

func TestResetTakesWhatTheTableSays(t *testing.T) {
	rows := rowsOf(t, decideTable)
	require.Len(t, rows, 6*len(states))
	for _, r := range rows {
		t.Run(r.section+" "+r.state, func(t *testing.T) {
			r.check(t, machineIn(strategy(r.section), r.state), allRights)
		})
	}
}

func TestResetWithoutRightsTakesWhatTheTableSays(t *testing.T) {
	missing := map[string]rights{"kill": {killPods: true}, "none": {}}
	for _, r := range rowsOf(t, decideRightsTable) {
		may, run, _ := strings.Cut(r.section, " ")
		require.Contains(t, missing, may)
		t.Run(r.section+" "+r.state, func(t *testing.T) {
			r.check(t, machineIn(strategy(run), r.state), missing[may])
		})
	}
}

// check compares what resets take with the row.
func (r row) check(t *testing.T, m *machine, may rights) {
	t.Helper()
	got := make([]string, len(columns))
	for i, how := range columns {
		got[i] = brief(decide(m, how, moment{may: may, now: noon, id: "new"}))
	}
	require.Equal(t, r.cells, got)
}

func TestOtherNamesOfResetsTakeTheSame(t *testing.T) {
	same := map[redfish.ResetType]redfish.ResetType{redfish.ResetForceOn: redfish.ResetOn, redfish.ResetPowerCycle: redfish.ResetForceRestart}
	for _, run := range strategies {
		for state := range states {
			for other, how := range same {
				at := moment{may: allRights, now: noon, id: "new"}
				require.Equal(t, brief(decide(machineIn(run, state), how, at)), brief(decide(machineIn(run, state), other, at)), "%s %s %s", run, state, other)
			}
		}
	}
}

func TestSpecRunningTakesTheSameCallsAsItsRunStrategy(t *testing.T) {
	for _, run := range []strategy{always, halted} {
		for state := range states {
			legacy := *machineIn(run, state)
			vm := *legacy.vm
			vm.legacyRunning, legacy.vm = true, &vm
			for _, how := range allResets {
				at := moment{may: allRights, now: noon, id: "new"}
				require.Equal(t, brief(decide(machineIn(run, state), how, at)), brief(decide(&legacy, how, at)), "%s %s %s", run, state, how)
			}
		}
	}
}

func TestEveryListedResetIsKnown(t *testing.T) {
	for _, how := range allResets {
		require.NotContains(t, decide(machineIn(always, "running"), how, moment{may: allRights}).refused, "not known")
	}
	require.Contains(t, decide(machineIn(always, "running"), redfish.ResetType("Nmi"), moment{may: allRights}).refused, "not known")
}

func TestStartGivesBackTheStrategy(t *testing.T) {
	tests := map[string]struct {
		stopped, wished, status strategy
		state                   string
		want                    string
	}{
		"default":                               {state: "ended", want: "start"},
		"a wish":                                {wished: manual, state: "ended", want: "Manual+start"},
		"what it was wins over the wish":        {stopped: once, wished: manual, state: "ended", want: "Once"},
		"nonsense is ignored":                   {stopped: halted, wished: "Sometimes", state: "ended", want: "start"},
		"always, over an ended instance":        {wished: always, state: "succeeded", want: "start"},
		"manual, over an ended instance":        {wished: manual, state: "succeeded", want: "Manual+start"},
		"failure only, never started":           {wished: rerunOnFailure, state: "never", want: "RerunOnFailure"},
		"failure only, seen Halted":             {wished: rerunOnFailure, status: halted, state: "ended", want: "RerunOnFailure"},
		"failure only, not yet seen Halted":     {wished: rerunOnFailure, status: rerunOnFailure, state: "ended", want: "RerunOnFailure+start"},
		"failure only, an instance in the way":  {wished: rerunOnFailure, status: halted, state: "succeeded", want: "~hold"},
		"failure only, a failed one in the way": {wished: rerunOnFailure, status: halted, state: "failed", want: "~hold"},
		"once, an instance in the way":          {stopped: once, state: "succeeded", want: "~hold"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := machineIn(halted, tc.state)
			m.vm.annotations.StoppedRunStrategy, m.vm.annotations.RunStrategy = tc.stopped, tc.wished
			if tc.status != "" {
				m.vm.statusStrategy = tc.status
			}
			require.Equal(t, tc.want, brief(decide(m, redfish.ResetOn, moment{may: allRights, now: noon, id: "new"})))
		})
	}
}

// The worker may act as soon as a power-on is held: what comes after it would hit what the worker has done.
func TestNothingFollowsAHeldPowerOn(t *testing.T) {
	for _, run := range strategies {
		for state := range states {
			for _, how := range allResets {
				for _, may := range []rights{allRights, {killPods: true}, {}} {
					calls := decide(machineIn(run, state), how, moment{may: may, now: noon, id: "new"}).calls
					for i, c := range calls {
						require.False(t, c.hold.waiting() && i < len(calls)-1, "%s %s %s %+v", run, state, how, may)
					}
				}
			}
		}
	}
}

// The watch of the instances may be ahead of the VM's: a power-off that follows has to know of the requested start.
func TestARestartIsShownWithItsStartRequest(t *testing.T) {
	for _, state := range []string{"running", "stopping"} {
		p := decide(machineIn(always, state), redfish.ResetForceRestart, moment{may: allRights, now: noon})
		require.False(t, p.shown(machineIn(always, "stopping")))
		require.False(t, p.shown(machineIn(always, "ended")))
		require.True(t, p.shown(machineIn(always, "restarting")))
		next := machineIn(always, "scheduling")
		next.vmi.uid = "vmi-2"
		require.True(t, p.shown(next))
	}
}

func TestStartRequestThatNobodyServesIsReplaced(t *testing.T) {
	m := with(manual, "succeeded", func(m *machine) { m.vm.requests = []changeRequest{{actionStart, ""}} })
	at := moment{may: allRights, now: noon, id: "new"}
	require.Equal(t, "request", brief(decide(m, redfish.ResetOn, at)))
	require.Equal(t, "unrequest", brief(decide(m, redfish.ResetForceOff, at)), "it would act after the next stop")
}

// brief is a plan in the notation of the tables.
func brief(p plan) string {
	if p.refused != "" {
		return "409"
	}
	var calls []string
	for _, c := range p.calls {
		calls = append(calls, briefCall(c))
	}
	text := strings.Join(calls, "+")
	switch {
	case p.held:
		return "~" + text
	case text == "":
		return "-"
	default:
		return text
	}
}

func briefCall(c call) string {
	text := map[verb]string{request: "request", kill: "kill"}[c.do]
	switch {
	case text != "":
	case c.do == setStrategy:
		text = string(c.to)
	case c.do == annotate && c.hold.waiting():
		return "hold"
	case c.do == annotate && c.hold != nil:
		return map[holdState]string{holdCancelled: "cancel", holdDone: "done", holdFailed: "fail"}[c.hold.State]
	case c.do == unrequest:
		text = "unrequest"
	default:
		text = string(c.do)
	}
	if c.now {
		text += "0"
	}
	if c.keep != "" {
		text += "(" + string(c.keep) + ")"
	}
	if c.hold != nil {
		text += "!"
	}
	return text
}

// noon is when the tests happen.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

var strategies = []strategy{always, rerunOnFailure, manual, once, halted, waitAsReceiver}

// states are the states of machines in the tables.
var states = map[string]func(m *machine){
	"never":      func(m *machine) { m.vm.statusStrategy = "" },
	"ended":      func(*machine) {},
	"scheduling": func(m *machine) { m.vmi = instance("Scheduling") },
	"running":    func(m *machine) { m.vmi = instance(phaseRunning) },
	"paused": func(m *machine) {
		m.vmi = instance(phaseRunning)
		m.vmi.conditions = append(m.vmi.conditions, condition{kind: "Paused", status: "True", reason: "PausedByUser", since: noon})
	},
	"stopping":  stopped,
	"stopping0": func(m *machine) { stopped(m); m.vmi.hardware.grace = 0 },
	"restarting": func(m *machine) {
		stopped(m)
		m.vm.requests = []changeRequest{{actionStop, m.vmi.uid}, {actionStart, ""}}
	},
	"succeeded": func(m *machine) { m.vmi = instance(phaseSucceeded) },
	"failed":    func(m *machine) { m.vmi = instance(phaseFailed) },
	"killed":    func(m *machine) { stopped(m); m.vmi.phase = phaseFailed },
	"request":   func(m *machine) { m.vm.requests = []changeRequest{{actionStart, ""}} },
	"hold+vmi":  func(m *machine) { stopped(m); m.hold = waiting("old") },
	"hold":      func(m *machine) { m.hold = waiting("old") },
	"deleted":   func(m *machine) { m.vmi = instance(phaseRunning); m.vm.deleted = noon },
}

// stopped makes the instance go down gracefully: asked for by a request where the strategy leaves stopping to
// requests, else because somebody has deleted it or made the machine Halted.
func stopped(m *machine) {
	m.vmi = instance(phaseRunning)
	m.vmi.deleted = noon
	if m.vm.strategy == manual || m.vm.strategy == rerunOnFailure {
		m.vm.requests = []changeRequest{{actionStop, m.vmi.uid}}
	}
}

func waiting(id string) *powerOn {
	return &powerOn{Version: powerOnVersion, ID: id, Reset: "On", State: holdWaiting, Since: noon}
}

func instance(phase string) *vmiRecord {
	r := &vmiRecord{identity: identity{key: key{"cp1", "node-0"}, uid: "vmi-1", version: 20, created: noon}, phase: phase, node: "host-1"}
	r.hardware.grace = 180
	return r
}

// machineIn is a machine in the named state, as the store would keep it.
func machineIn(run strategy, state string) *machine {
	m := &machine{key: key{"cp1", "node-0"}, version: 1}
	m.vm = &vmRecord{identity: identity{key: m.key, uid: "vm-1", version: 10, created: noon.Add(-time.Hour)}, strategy: run, statusStrategy: run}
	change, known := states[state]
	if !known {
		panic(fmt.Sprintf("no state %q", state))
	}
	change(m)
	if m.hold != nil {
		m.vm.annotations.PowerOn, m.vm.annotated = m.hold.String(), true
	}
	m.remember()
	return m
}
