package e2e

import (
	"cmp"
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"
)

// The table of resets, for people to read; its head explains the notation.
//
//go:embed testdata/lab-resets.txt
var resetTable string

var resetColumns = []string{
	"On", "ForceOn", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "PowerCycle", "PushPowerButton", "Pause", "Resume",
}

// resetCase is what is done to one machine, one reset after the other: a cell of the table. All cells of a row
// after which the machine is as before are one case, and those that are refused go before another one.
type resetCase struct {
	strategy virtv1.VirtualMachineRunStrategy
	state    string
	end      string
	resets   []string
	answers  []int
}

// asBefore is the end of a reset that leaves a machine in the state.
var asBefore = map[string]string{"running": "same", "paused": "paused", "off": "off", "ended": "off"}

func (c *resetCase) name() string {
	return strings.ToLower(fmt.Sprintf("%s-%s-%s", c.strategy, c.state, c.resets[len(c.resets)-1]))
}

// takes reports whether the case goes on with the cell.
func (c *resetCase) takes(how resetCell, asBefore string) bool {
	refused := c.answers[len(c.answers)-1] == http.StatusConflict
	return c.end == how.end && (how.end == asBefore || refused || how.answer == http.StatusConflict)
}

// resetCell is a cell of the table.
type resetCell struct {
	how    string
	answer int
	end    string
}

// cellsOf are those of a line with the refused ones first; nil for a line without any.
func cellsOf(t *testing.T, line string) (strategy, state string, cells []resetCell) {
	t.Helper()
	fields := strings.Fields(line)
	if len(fields) == 0 || fields[0] == "#" {
		return "", "", nil
	}
	require.Len(t, fields, 2+len(resetColumns), line)
	for i, how := range resetColumns {
		status, end, run := strings.Cut(fields[2+i], "=")
		if !run {
			continue
		}
		answer, err := strconv.Atoi(status)
		require.NoError(t, err, line)
		cells = append(cells, resetCell{how, answer, end})
	}
	slices.SortStableFunc(cells, func(a, b resetCell) int { return cmp.Compare(b.answer, a.answer) })
	return fields[0], fields[1], cells
}

// resetCases are all those of the table.
func resetCases(t *testing.T) []*resetCase {
	t.Helper()
	var cases []*resetCase
	for line := range strings.Lines(resetTable) {
		strategy, state, cells := cellsOf(t, line)
		var row []*resetCase
		for _, cell := range cells {
			i := slices.IndexFunc(row, func(c *resetCase) bool { return c.takes(cell, asBefore[state]) })
			if i < 0 {
				i = len(row)
				row = append(row, &resetCase{strategy: virtv1.VirtualMachineRunStrategy(strategy), state: state, end: cell.end})
			}
			row[i].resets, row[i].answers = append(row[i].resets, cell.how), append(row[i].answers, cell.answer)
		}
		cases = append(cases, row...)
	}
	return cases
}

// byRights are the cases in which the documented rights make a difference: a right that they lack is needed.
func byRights(t *testing.T) []*resetCase {
	t.Helper()
	needed := []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart"}
	return slices.DeleteFunc(resetCases(t), func(c *resetCase) bool {
		return c.end == asBefore[c.state] || c.state == "paused" || c.state == "ended" || !slices.Contains(needed, c.resets[len(c.resets)-1])
	})
}

// Every reset does what the table says, in every run strategy and state, with either rights; what the user has
// set as run strategy comes back with the next power-on.
func TestLabResetsDoWhatTheTableSays(t *testing.T) {
	t.Parallel()
	for rights, cases := range map[Rights][]*resetCase{OurRights: resetCases(t), DocumentedRights: byRights(t)} {
		t.Run(string(rights), func(t *testing.T) {
			t.Parallel()
			s := NewSpace(t, rights)
			p := s.Serve(t)
			t.Cleanup(func() { waitedInVain(t, p) })
			for _, c := range cases {
				t.Run(c.name(), func(t *testing.T) {
					t.Parallel()
					resetTest{s, p, c}.run(t)
				})
			}
		})
	}
}

type resetTest struct {
	*Space
	p *Product
	*resetCase
}

func (r resetTest) run(t *testing.T) {
	id := r.bring(t)
	before := r.uid(r.name())
	r.known(t, id)
	for i, how := range r.resets {
		answer := r.reset(t, r.p, id, how)
		if answer.Status != http.StatusAccepted || r.rights == OurRights {
			require.Equal(t, r.answers[i], answer.Status, "%s: %s", how, answer.Text)
		}
		if answer.Status < 300 {
			require.Contains(t, shownAfter[r.end], r.p.Power(t, Admin, id), "%s: read after write", how)
		}
		if answer.Status == http.StatusAccepted {
			r.taskCompletes(t, answer)
		}
	}
	r.ends(t, id, before)
	r.keepsStrategy(t, id)
}

// shownAfter are the power states that a read right after the answer may show.
var shownAfter = map[string][]string{
	"same":   {"On"},
	"new":    {"PoweringOn", "On", "PoweringOff"}, // a restart goes down first
	"off":    {"PoweringOff", "Off"},
	"paused": {"Paused"},
}

// bring makes the machine of the case and takes it to its state, as other users do.
func (r resetTest) bring(t *testing.T) (id string) {
	t.Helper()
	name, m := r.name(), machine{strategy: r.strategy}
	switch {
	case r.state == "stopping":
		m.knobs, m.grace = map[string]string{knobIgnoreACPI: "true"}, 10
	case r.state == "paused":
		m.grace = 5
	}
	if r.strategy == virtv1.RunStrategyHalted && r.state == "stopping" {
		m.strategy = virtv1.RunStrategyAlways
	}
	id = r.create(t, name, m)
	switch {
	case r.state == "off" && r.strategy != virtv1.RunStrategyRerunOnFailure:
		r.settled(t, name)
		return id
	case r.strategy == virtv1.RunStrategyManual:
		require.NoError(t, r.virt.KubevirtV1().VirtualMachines(r.Name).Start(t.Context(), name, &virtv1.StartOptions{}))
	}
	r.runs(t, name)
	switch r.state {
	case "paused":
		require.NoError(t, r.virt.KubevirtV1().VirtualMachineInstances(r.Name).Pause(t.Context(), name, &virtv1.PauseOptions{}))
	case "off":
		r.stop(t, name, new(int64))
		r.gone(t, name)
	case "ended":
		r.guest(t, name, "shutdown")
		eventually(t, name+" ends", func() bool { return r.vmi(name).Status.Phase == virtv1.Succeeded })
	case "stopping":
		r.takeDown(t, name)
	}
	return id
}

// takeDown begins a shutdown that leaves the run strategy as it is to be.
func (r resetTest) takeDown(t *testing.T, name string) {
	t.Helper()
	if r.strategy == virtv1.RunStrategyAlways || r.strategy == virtv1.RunStrategyOnce {
		instances := r.virt.KubevirtV1().VirtualMachineInstances(r.Name)
		require.NoError(t, instances.Delete(t.Context(), name, metav1.DeleteOptions{}))
	} else {
		r.stop(t, name, nil)
	}
	r.ending(t, name)
}

// known waits until the product shows the state, so that it decides on that.
func (r resetTest) known(t *testing.T, id string) {
	t.Helper()
	want := map[string]string{"off": "Off", "running": "On", "paused": "Paused", "stopping": "PoweringOff", "ended": "Off"}[r.state]
	eventually(t, id+" shows "+want, func() bool {
		a := r.p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/"+id, nil)
		return a.Body["PowerState"] == want
	})
}

// ends waits for the end that the case has, and that it is one.
func (r resetTest) ends(t *testing.T, id string, before types.UID) {
	t.Helper()
	var last string
	reached := func() bool {
		last = r.now(t, id, before)
		return last == r.end
	}
	eventually(t, id+" is "+r.end, reached)
	time.Sleep(time.Second)
	require.True(t, reached(), "%s became %s, then %s", id, r.end, last)
}

// now is what has become of the machine; both the platform and the product have to say so.
func (r resetTest) now(t *testing.T, id string, before types.UID) string {
	t.Helper()
	power, vmi := r.p.Power(t, Admin, id), r.vmi(r.name())
	switch {
	case vmi == nil || vmi.IsFinal():
		return map[string]string{"Off": "off"}[power]
	case vmi.Status.Phase != virtv1.Running || vmi.DeletionTimestamp != nil:
		return "on its way"
	case power == "On" && vmi.UID == before:
		return "same"
	case power == "On":
		return "new"
	case power == "Paused" && vmi.UID == before:
		return "paused"
	}
	return power
}

// taskCompletes follows the task monitor of a held power-on to its end.
func (r resetTest) taskCompletes(t *testing.T, answer Answer) {
	t.Helper()
	monitor := answer.Header.Get("Location")
	require.NotEmpty(t, monitor)
	eventually(t, monitor+" ends", func() bool {
		return r.p.Do(t, Admin, http.MethodGet, monitor, nil).Status == http.StatusNoContent
	})
}

// keepsStrategy checks the run strategy of the end, and after an off that the next power-on gives it back.
func (r resetTest) keepsStrategy(t *testing.T, id string) {
	t.Helper()
	was := r.strategy
	if was == virtv1.RunStrategyHalted {
		was = virtv1.RunStrategyAlways // what a start makes of it
	}
	if r.end == "off" && !slices.Contains(r.resets, "ForceOff") {
		return
	}
	if r.end == "off" {
		require.Contains(t, []int{http.StatusNoContent, http.StatusAccepted}, r.reset(t, r.p, id, "On").Status)
		r.runs(t, r.name())
	}
	require.Equal(t, was, *r.vm(r.name()).Spec.RunStrategy)
}

// waitedInVain fails if an answer waited for an effect that did not show.
func waitedInVain(t *testing.T, p *Product) {
	t.Helper()
	families, err := p.Metrics.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "kubevirt_redfish_watch_lag_seconds" {
			lag := family.GetMetric()[0].GetHistogram()
			buckets := lag.GetBucket()
			require.Positive(t, lag.GetSampleCount())
			require.Equal(t, lag.GetSampleCount(), buckets[len(buckets)-1].GetCumulativeCount(), "an answer took the full time for waiting")
			return
		}
	}
	t.Error("there is no metric of the lag")
}
