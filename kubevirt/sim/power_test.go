package sim_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

// What became of the instance.
const (
	none        = "none"
	same        = "same"
	other       = "new"
	terminating = "same, terminating"
	rebooted    = "same, booted again"
)

// powerRow is one row of what the real virt-api and virt-controller were seen to do.
type powerRow struct {
	strategies string // comma separated; each is a case
	code       int
	message    string
	after      string // run strategy, "" is the one before
	status     string
	vmi        string
}

const (
	notRunning   = "VM is not running"
	already      = "VM is already running"
	noInstance   = `virtualmachineinstance.kubevirt.io "NAME" not found`
	noShorter    = "Halted only supports manual stop requests with a shorter graceperiod"
	noRestart    = "RunStategy %s does not support manual restart requests"
	underway     = "Internal error occurred: unable to complete request: stop/start already underway"
	everyLive    = "Always,Manual,Once,RerunOnFailure"
	restartables = "Always,Manual,RerunOnFailure"
)

// powerTable is keyed by state, verb and, where it needs telling apart, the strategies.
var powerTable = map[string]powerRow{
	"no VMI/start/halted":         {"Halted", 202, "", "Always", "Running", other},
	"no VMI/start":                {"Manual,RerunOnFailure", 202, "", "", "Running", other},
	"no VMI/stop":                 {"Halted,Manual,RerunOnFailure", 409, notRunning, "", "Stopped", none},
	"no VMI/restart/halted":       {"Halted", 409, fmt.Sprintf(noRestart, "Halted"), "", "Stopped", none},
	"no VMI/restart":              {"Manual,RerunOnFailure", 409, "VM is not running: Halted", "", "Stopped", none},
	"no VMI/pause":                {"Halted,Manual,RerunOnFailure", 404, noInstance, "", "Stopped", none},
	"no VMI/unpause":              {"Halted,Manual,RerunOnFailure", 404, noInstance, "", "Stopped", none},
	"no VMI/softreboot":           {"Halted,Manual,RerunOnFailure", 404, noInstance, "", "Stopped", none},
	"no VMI/reset":                {"Halted,Manual,RerunOnFailure", 404, noInstance, "", "Stopped", none},
	"running/start":               {everyLive, 409, already, "", "Running", same},
	"running/stop/declared":       {"Always,Once", 202, "", "Halted", "Stopped", none},
	"running/stop/requested":      {"Manual,RerunOnFailure", 202, "", "", "Stopped", none},
	"running/stop 0/declared":     {"Always,Once", 202, "", "Halted", "Stopped", none},
	"running/stop 0/requested":    {"Manual,RerunOnFailure", 202, "", "", "Stopped", none},
	"running/restart":             {restartables, 202, "", "", "Running", other},
	"running/restart/once":        {"Once", 409, fmt.Sprintf(noRestart, "Once"), "", "Running", same},
	"running/restart 0":           {restartables, 202, "", "", "Running", other},
	"running/restart 0/once":      {"Once", 409, fmt.Sprintf(noRestart, "Once"), "", "Running", same},
	"running/restart 5":           {everyLive, 400, "For force restart, only gracePeriod=0 is supported for now", "", "Running", same},
	"running/pause":               {"Always", 200, "", "", "Paused", same},
	"running/unpause":             {"Always", 409, "VMI is not paused", "", "Running", same},
	"running/softreboot":          {"Always", 200, "", "", "Running", rebooted},
	"running/reset":               {"Always", 200, "", "", "Running", rebooted},
	"paused/start":                {"Always", 409, already, "", "Paused", same},
	"paused/stop":                 {"Always", 202, "", "Halted", "Stopping", terminating},
	"paused/restart":              {"Always", 202, "", "", "Stopping", terminating},
	"paused/pause":                {"Always", 409, "VMI is already paused", "", "Paused", same},
	"paused/unpause":              {"Always", 200, "", "", "Running", same},
	"paused/softreboot":           {"Always", 409, "VMI is paused", "", "Paused", same},
	"paused/reset":                {"Always", 200, "", "", "Paused", same},
	"stopping/start/declared":     {"Always,Once", 409, already, "Halted", "Stopping", terminating},
	"stopping/start/requested":    {"Manual,RerunOnFailure", 409, already, "", "Stopping", terminating},
	"stopping/stop/declared":      {"Always,Once", 409, noShorter, "Halted", "Stopping", terminating},
	"stopping/stop/requested":     {"Manual,RerunOnFailure", 202, "", "", "Stopping", terminating},
	"stopping/stop 0/declared":    {"Always,Once", 202, "", "Halted", "Stopped", none},
	"stopping/stop 0/requested":   {"Manual,RerunOnFailure", 202, "", "", "Stopped", none},
	"stopping/restart/declared":   {"Always,Once", 409, fmt.Sprintf(noRestart, "Halted"), "Halted", "Stopping", terminating},
	"stopping/restart/requested":  {"Manual,RerunOnFailure", 500, underway, "", "Stopping", terminating},
	"powered off/start/always":    {"Always", 409, already, "", "Running", same},
	"powered off/start/requested": {"Manual,RerunOnFailure", 202, "", "", "Running", other},
	"powered off/start/once":      {"Once", 409, "Once does not support manual start requests", "", "Stopped", same},
	"powered off/stop/declared":   {"Always,Once", 202, "", "Halted", "Stopped", none},
	"powered off/stop/manual":     {"Manual", 409, notRunning, "", "Stopped", same},
	"powered off/stop/rerun":      {"RerunOnFailure", 409, notRunning, "", "Stopped", none},
	"powered off/restart/always":  {"Always,Manual", 202, "", "", "Running", other},
	"powered off/restart/once":    {"Once", 409, fmt.Sprintf(noRestart, "Once"), "", "Stopped", same},
}

// TestPowerSubresourcesAnswerAsKubeVirt covers every row that was observed on KubeVirt 1.9.0, but one: restart of a
// RerunOnFailure VM whose guest powered off was seen to find the instance while it was being removed.
func TestPowerSubresourcesAnswerAsKubeVirt(t *testing.T) {
	c := start(t, sim.Options{Delays: immediate()})
	createNamespace(t, c, "cp1")
	for name, row := range powerTable {
		for strategy := range strings.SplitSeq(row.strategies, ",") {
			t.Run(name+"/"+strategy, func(t *testing.T) {
				t.Parallel()
				parts := strings.Split(name, "/")
				p := &powerCase{cluster: c, name: machineName(t)}
				p.prepare(t, parts[0], kubevirtv1.VirtualMachineRunStrategy(strategy))
				row.check(t, p, parts[1], strategy)
			})
		}
	}
}

func machineName(t *testing.T) string {
	t.Helper()
	return strings.ToLower(regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(t.Name()[len("TestPowerSubresourcesAnswerAsKubeVirt/"):], "-"))
}

type powerCase struct {
	cluster
	name  string
	uid   types.UID
	boots string
}

func (p *powerCase) vmi(t *testing.T) *kubevirtv1.VirtualMachineInstance {
	t.Helper()
	vmi, err := p.virt.KubevirtV1().VirtualMachineInstances("cp1").Get(t.Context(), p.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return vmi
}

// call sends a verb and returns the code and the message without its beginning.
func (p *powerCase) call(t *testing.T, verb string) (int, string) {
	t.Helper()
	verb, grace, _ := strings.Cut(verb, " ")
	body, plural := "{}", "virtualmachineinstances"
	switch verb {
	case "stop":
		plural = "virtualmachines"
		if grace != "" {
			body = `{"gracePeriod":` + grace + `}`
		}
	case "start", "restart":
		plural = "virtualmachines"
		if grace != "" {
			body = `{"gracePeriodSeconds":` + grace + `}`
		}
	}
	var code int
	err := p.virt.KubevirtV1().RESTClient().Put().AbsPath("/apis/subresources.kubevirt.io/v1/namespaces/cp1", plural, p.name, verb).
		Body([]byte(body)).Do(t.Context()).StatusCode(&code).Error()
	if err == nil {
		return code, ""
	}
	text := regexp.MustCompile(`^Operation cannot be fulfilled on [^:]*: `).ReplaceAllString(err.Error(), "")
	return code, strings.ReplaceAll(text, p.name, "NAME")
}

func (p *powerCase) prepare(t *testing.T, state string, strategy kubevirtv1.VirtualMachineRunStrategy) {
	t.Helper()
	create(t, p.cluster, machine(p.name, strategy))
	running := func() bool { v := p.vmi(t); return v != nil && v.IsRunning() && v.Annotations[sim.Boots] != "" }
	if strategy == kubevirtv1.RunStrategyManual && state != "no VMI" {
		until(t, func() bool { code, _ := p.call(t, "start"); return code == http.StatusAccepted })
	}
	if state != "no VMI" || strategy == kubevirtv1.RunStrategyRerunOnFailure { // a new one of these starts by itself
		until(t, running)
	}
	p.note(t)
	p.enter(t, state, strategy)
	until(t, func() bool { return len(p.machine(t).Status.StateChangeRequests) == 0 || state == "stopping" })
	p.note(t)
}

func (p *powerCase) enter(t *testing.T, state string, strategy kubevirtv1.VirtualMachineRunStrategy) {
	t.Helper()
	switch state {
	case "no VMI":
		if strategy == kubevirtv1.RunStrategyRerunOnFailure {
			p.call(t, "stop 0")
		}
		until(t, func() bool { return p.vmi(t) == nil && p.machine(t).Status.PrintableStatus == "Stopped" })
	case "paused":
		p.call(t, "pause")
		until(t, func() bool { return p.machine(t).Status.PrintableStatus == "Paused" })
	case "stopping":
		p.annotate(t, sim.IgnoreACPI, "true")
		p.call(t, "stop")
		until(t, func() bool { return p.machine(t).Status.PrintableStatus == "Stopping" })
	case "powered off":
		p.annotate(t, sim.Do, "shutdown")
		until(t, func() bool { return p.poweredOff(t, strategy) })
	}
}

// poweredOff waits for what the run strategy makes of the end of the guest.
func (p *powerCase) poweredOff(t *testing.T, strategy kubevirtv1.VirtualMachineRunStrategy) bool {
	t.Helper()
	vmi := p.vmi(t)
	switch strategy {
	case kubevirtv1.RunStrategyAlways:
		return vmi != nil && vmi.UID != p.uid && vmi.IsRunning() && vmi.Annotations[sim.Boots] != ""
	case kubevirtv1.RunStrategyRerunOnFailure:
		return vmi == nil
	}
	return vmi != nil && vmi.IsFinal()
}

func (p *powerCase) machine(t *testing.T) *kubevirtv1.VirtualMachine {
	t.Helper()
	return p.vm(t, p.name)
}

func (p *powerCase) annotate(t *testing.T, key, value string) {
	t.Helper()
	_, err := p.virt.KubevirtV1().VirtualMachineInstances("cp1").Patch(t.Context(), p.name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value), metav1.PatchOptions{})
	require.NoError(t, err)
}

func (p *powerCase) note(t *testing.T) {
	t.Helper()
	p.uid, p.boots = "", ""
	if vmi := p.vmi(t); vmi != nil {
		p.uid, p.boots = vmi.UID, vmi.Annotations[sim.Boots]
	}
}

func (r powerRow) check(t *testing.T, p *powerCase, verb, strategy string) {
	t.Helper()
	code, message := p.call(t, verb)
	require.Equal(t, r.code, code, message)
	require.Equal(t, r.message, message)
	want := strategy
	if r.after != "" {
		want = r.after
	}
	want = fmt.Sprintf("%s, %s; %s", want, r.status, r.vmi)
	until(t, func() bool {
		vm := p.machine(t)
		return want == fmt.Sprintf("%s, %s; %s", *vm.Spec.RunStrategy, vm.Status.PrintableStatus, p.outcome(t))
	}, "never became "+want)
}

func (p *powerCase) outcome(t *testing.T) string {
	t.Helper()
	vmi := p.vmi(t)
	switch {
	case vmi == nil:
		return none
	case vmi.UID != p.uid:
		return other
	case vmi.DeletionTimestamp != nil:
		return terminating
	case vmi.Annotations[sim.Boots] != p.boots:
		return rebooted
	}
	return same
}
