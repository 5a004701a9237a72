package kubevirt

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// cluster is a model of what KubeVirt makes of one machine: of virt-api as pkg/virt-api/rest/lifecycle.go, of
// virt-controller as pkg/virt-controller/watch/vm/vm.go has it. Each part acts when the test lets it, so that
// any of them can be late.
type cluster struct {
	store   *store
	vm      vmRecord
	vmi     *vmiRecord
	made    int
	killed  string // UID of the instance whose launcher pod is deleted
	version uint64
}

func clusterIn(run strategy, state string) *cluster {
	m := machineIn(run, state)
	c := &cluster{vm: *m.vm, vmi: m.vmi, made: 1, version: 100}
	c.store = newStore(auth.NewExposure([]auth.Chassis{{Name: "cp1", Namespace: "cp1"}}))
	c.tell()
	return c
}

// tell brings the state of both objects to the store, as the watches do.
func (c *cluster) tell() {
	vm := c.vm
	c.version++
	vm.version = c.version
	vm.requests = slices.Clone(vm.requests)
	c.store.setVM(vm.key, &vm)
	c.tellInstance()
}

func (c *cluster) tellInstance() {
	var seen *vmiRecord
	if c.vmi != nil {
		copied := *c.vmi
		copied.version = c.version
		seen = &copied
	}
	c.store.setVMI(c.vm.key, seen)
}

func (c *cluster) machine() *machine { return c.store.get(c.vm.key) }

var (
	errConflict = errors.New("409")
	errUnderway = errors.New("500 already underway")
)

func (c *cluster) live() bool { return c.vmi != nil && !c.vmi.final() }

// do is the API server with virt-api.
func (c *cluster) do(call call) error {
	if call.hold != nil {
		c.vm.annotations.PowerOn, c.vm.annotated = call.hold.String(), true
	}
	if call.keep != "" {
		c.vm.annotations.StoppedRunStrategy, c.vm.annotated = call.keep, true
	}
	switch call.do {
	case annotate:
		return nil
	case setStrategy:
		c.vm.strategy = call.to
		if call.to != halted {
			c.vm.annotations.StoppedRunStrategy = ""
		}
		return nil
	case unrequest:
		c.vm.requests = nil
		return nil
	case request:
		c.vm.requests = nil
		return c.ask(c.startRequests())
	case kill:
		c.killed = c.vmi.uid
		return nil
	case start:
		return c.start()
	case stop:
		return c.stop(call.now)
	case restart:
		if c.vmi == nil || c.vm.strategy == halted || c.vm.strategy == once {
			return errConflict
		}
		if call.now {
			c.vmi.hardware.grace = 1
		}
		return c.ask([]changeRequest{{actionStop, c.vmi.uid}, {actionStart, ""}})
	case pause:
		c.vmi.conditions = []condition{{kind: "Paused", status: "True"}}
		return nil
	case unpause:
		c.vmi.conditions = nil
		return nil
	default:
		return errors.New("no such call")
	}
}

func (c *cluster) startRequests() []changeRequest {
	if c.vmi != nil {
		return []changeRequest{{actionStop, c.vmi.uid}, {actionStart, ""}}
	}
	return []changeRequest{{actionStart, ""}}
}

func (c *cluster) ask(changes []changeRequest) error {
	if len(c.vm.requests) > 0 && (len(changes) > 1 || changes[0].action != actionStop) {
		return errUnderway
	}
	c.vm.requests = changes
	return nil
}

func (c *cluster) start() error {
	switch {
	case c.live(), c.vm.strategy == always, c.vm.strategy == once:
		return errConflict
	case c.vm.strategy == rerunOnFailure && c.vmi != nil && c.vmi.phase == phaseFailed:
		return errConflict
	case c.vm.strategy == halted:
		c.vm.strategy = always
		return nil
	default:
		return c.ask(c.startRequests())
	}
}

func (c *cluster) stop(now bool) error {
	var shorter bool
	if now && c.live() {
		shorter = c.vmi.hardware.grace != 0
		c.vmi.hardware.grace = 0
	}
	switch {
	case c.vm.strategy == always, c.vm.strategy == once:
		c.vm.strategy = halted
		return nil
	case !c.live(), c.vm.strategy == halted && !shorter:
		return errConflict
	default:
		return c.ask([]changeRequest{{actionStop, c.vmi.uid}})
	}
}

// control is one round of virt-controller; it reports whether it did anything.
func (c *cluster) control() bool {
	before, had := c.vm, c.vmi
	deleted := had != nil && !had.deleted.IsZero()
	failed := had != nil && had.phase == phaseFailed
	switch {
	case c.vm.strategy == halted && c.vmi == nil && c.heads(actionStart):
		c.vm.strategy = always
		return true // the status follows in the next round
	case c.vm.strategy == halted && c.vmi != nil,
		c.vm.strategy == always && c.vmi != nil && (c.stopAsked() || c.vmi.final()),
		c.vm.strategy == rerunOnFailure && c.vmi != nil && (c.stopAsked() || c.vmi.final()),
		c.vm.strategy == manual && c.vmi != nil && c.stopAsked():
		c.delete()
		if c.vm.strategy == rerunOnFailure && failed && !deleted {
			c.vm.requests = append(c.vm.requests, changeRequest{actionStart, ""})
		}
	case c.vmi == nil && c.starts():
		c.made++
		c.vmi = &vmiRecord{identity: identity{key: c.vm.key, uid: "vmi-" + strconv.Itoa(c.made), created: noon}, phase: "Scheduling"}
		c.vmi.hardware.grace = 180
	}
	if c.vm.statusStrategy != "" || had != nil {
		c.vm.statusStrategy = c.vm.strategy
	}
	c.trim()
	return had != c.vmi || c.vm.statusStrategy != before.statusStrategy || len(before.requests) != len(c.vm.requests) ||
		had != nil && deleted == had.deleted.IsZero()
}

func (c *cluster) starts() bool {
	switch c.vm.strategy {
	case always, once:
		return true
	case rerunOnFailure:
		return c.heads(actionStart) || c.vm.statusStrategy != rerunOnFailure
	case manual:
		return c.heads(actionStart)
	default:
		return false
	}
}

// heads reports whether the first request, the only one that counts, is this.
func (c *cluster) heads(action string) bool {
	return len(c.vm.requests) > 0 && c.vm.requests[0].action == action
}

func (c *cluster) stopAsked() bool { return c.heads(actionStop) && c.vm.requests[0].uid == c.vmi.uid }

func (c *cluster) delete() {
	if c.vmi.deleted.IsZero() {
		copied := *c.vmi
		copied.deleted = noon
		*c.vmi = copied
	}
}

// trim takes away a request that is done.
func (c *cluster) trim() {
	switch {
	case c.heads(actionStop) && (c.vmi == nil || c.vm.requests[0].uid != c.vmi.uid),
		c.heads(actionStart) && c.vmi != nil && c.vmi.deleted.IsZero() && !c.vmi.final():
		c.vm.requests = c.vm.requests[1:]
	}
}

// compute is the node: it runs what is scheduled, ends what is deleted and lets go of what has ended.
func (c *cluster) compute() bool {
	switch {
	case c.vmi == nil:
		return false
	case c.vmi.final() && !c.vmi.deleted.IsZero():
		c.vmi = nil
	case !c.vmi.final() && c.vmi.uid == c.killed:
		c.vmi.phase = phaseFailed
	case !c.vmi.final() && !c.vmi.deleted.IsZero():
		c.vmi.phase = phaseSucceeded
	case c.vmi.phase == "Scheduling":
		c.vmi.phase = phaseRunning
	default:
		return false
	}
	return true
}

// work is our own worker.
func (c *cluster) work(t *testing.T) bool {
	m := c.machine()
	if m == nil || !m.hold.waiting() {
		return false
	}
	step, ok := holdStep(m, noon)
	if !ok {
		return false
	}
	was := c.live() && c.vmi.deleted.IsZero()
	require.NoError(t, c.do(step), briefCall(step))
	require.False(t, was && m.vm.strategy == halted && step.do == setStrategy, "Halted is left before the old instance goes")
	return true
}

// settle lets all parts act in any order until none has anything to do.
func (c *cluster) settle(t *testing.T, random *rand.Rand) {
	t.Helper()
	for idle, steps := 0, 0; idle < 30; steps++ {
		require.Less(t, steps, 2000, "it never comes to rest")
		acted := []func() bool{c.control, c.compute, func() bool { return c.work(t) }}[random.IntN(3)]()
		if idle++; acted {
			idle = 0
			c.tell()
		}
	}
}

// reset decides and does a reset, with each of the calls being accepted, and looks at what the answer waits for.
func (c *cluster) reset(t *testing.T, how redfish.ResetType, may rights) plan {
	t.Helper()
	before := c.machine()
	p := decide(before, how, moment{may: may, now: noon, id: "new"})
	waits := len(p.calls) > 0 && p.shown != nil
	wasShown := waits && p.shown(before)
	was, _ := powerOf(before, noon)
	for _, call := range p.calls {
		require.NoError(t, c.do(call), "%s: %s", how, briefCall(call))
		c.tell()
	}
	if waits {
		is, _ := powerOf(c.machine(), noon)
		require.True(t, p.shown(c.machine()), "%s: %s is not shown after the calls", how, brief(p))
		require.False(t, wasShown && was != is, "%s: %s is shown in the old state", how, brief(p))
	}
	return p
}

// seeds are how many orders of events each case is tried with.
const seeds = 8

// eachCase runs a check for every reset in every state with many orders of events.
func eachCase(t *testing.T, check func(t *testing.T, c *cluster, how redfish.ResetType, random *rand.Rand)) {
	for _, run := range strategies {
		for state := range states {
			t.Run(string(run)+" "+state, func(t *testing.T) {
				for seed := range uint64(seeds) {
					for _, how := range allResets {
						check(t, clusterIn(run, state), how, rand.New(rand.NewPCG(seed, 1)))
					}
				}
			})
		}
	}
}

func TestEveryResetEndsAsAsked(t *testing.T) {
	eachCase(t, func(t *testing.T, c *cluster, how redfish.ResetType, random *rand.Rand) {
		before := c.machine()
		user := before.vm.strategy
		if before.vm.strategy == halted {
			user = always
		}
		p := c.reset(t, how, allRights)
		c.settle(t, random)
		if p.refused != "" {
			return
		}
		after := c.machine()
		require.False(t, after.hold.waiting(), "%s: the power-on is still held", how)
		power, _ := powerOf(after, noon)
		require.Equal(t, endOf(before, how), power, "%s: %s", how, brief(p))
		if power != redfish.PowerOff {
			require.Equal(t, user, after.vm.strategy, "%s", how)
		}
		if before.live() && isRestart(how) {
			require.NotEqual(t, before.vmi.uid, after.vmi.uid, "%s: it is the same instance", how)
		}
	})
}

// endOf is the power state that a reset ends in.
func endOf(before *machine, how redfish.ResetType) redfish.PowerState {
	switch how {
	case redfish.ResetForceOff, redfish.ResetGracefulShutdown:
		return redfish.PowerOff
	case redfish.ResetPause:
		return redfish.PowerPaused
	case redfish.ResetPushPowerButton:
		if before.live() && !before.ending() {
			return redfish.PowerOff
		}
	}
	return redfish.PowerOn
}

func isRestart(how redfish.ResetType) bool {
	return how == redfish.ResetForceRestart || how == redfish.ResetPowerCycle || how == redfish.ResetGracefulRestart
}

func TestOnRightAfterAnOffIsNeverLost(t *testing.T) {
	eachCase(t, func(t *testing.T, c *cluster, how redfish.ResetType, random *rand.Rand) {
		user := c.machine().vm.strategy
		if user == halted {
			user = always
		}
		if c.reset(t, how, allRights).refused != "" {
			return
		}
		for range random.IntN(4) { // at any point of what follows
			if c.control() || c.compute() {
				c.tell()
			}
		}
		c.reset(t, redfish.ResetOn, allRights)
		c.settle(t, random)
		power, _ := powerOf(c.machine(), noon)
		require.Equal(t, redfish.PowerOn, power, how)
		require.Equal(t, user, c.machine().vm.strategy, "%s", how)
	})
}

func TestOffRightAfterAnyResetWins(t *testing.T) {
	eachCase(t, func(t *testing.T, c *cluster, how redfish.ResetType, random *rand.Rand) {
		if c.reset(t, how, allRights).refused != "" {
			return
		}
		for range random.IntN(4) {
			if c.control() || c.compute() || c.work(t) {
				c.tell()
			}
		}
		c.reset(t, []redfish.ResetType{redfish.ResetForceOff, redfish.ResetGracefulShutdown}[random.IntN(2)], allRights)
		c.settle(t, random)
		power, _ := powerOf(c.machine(), noon)
		require.Equal(t, redfish.PowerOff, power, how)
	})
}

func TestEveryResetEndsAsAskedWithoutRights(t *testing.T) {
	for name, may := range map[string]rights{
		"nothing": {}, "kill": {killPods: true}, "no restart": {start: true, stop: true, killPods: true}, "no stop": {start: true, restart: true, killPods: true},
	} {
		t.Run(name, func(t *testing.T) {
			eachCase(t, func(t *testing.T, c *cluster, how redfish.ResetType, random *rand.Rand) {
				before := c.machine()
				p := c.reset(t, how, may)
				c.settle(t, random)
				if p.refused != "" {
					return
				}
				power, _ := powerOf(c.machine(), noon)
				require.Equal(t, endOf(before, how), power, "%s: %s", how, brief(p))
			})
		})
	}
}
