package lab_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

type verb struct {
	kind, action string
	body         any
}

const onVM, onVMI = "virtualmachines", "virtualmachineinstances"

var verbs = map[string]verb{
	"start":           {onVM, "start", kube.Object{}},
	"stop":            {onVM, "stop", kube.Object{}},
	"stop grace 0":    {onVM, "stop", kube.Object{"gracePeriod": 0}},
	"restart":         {onVM, "restart", kube.Object{}},
	"restart grace 0": {onVM, "restart", kube.Object{"gracePeriodSeconds": 0}},
	"pause":           {onVMI, "pause", kube.Object{}},
	"unpause":         {onVMI, "unpause", kube.Object{}},
	"softreboot":      {onVMI, "softreboot", nil},
	"reset":           {onVMI, "reset", nil},
}

// powerRow is what KubeVirt 1.9 answers to a verb, and what comes of it. A 409 is given without its beginning
// "Operation cannot be fulfilled on KIND NAME: ".
type powerRow struct {
	state, verb string
	strategies  string
	answer      string
	after       string // run strategy ("same" as before), printable status; the VMI compared with that before
}

const (
	off          = "same, Stopped; no VMI"
	unchanged    = "same, Running; same VMI"
	renewed      = "same, Running; new VMI"
	haltedOff    = "Halted, Stopped; no VMI"
	haltedStop   = "Halted, Stopping; same VMI, terminating"
	stopping     = "same, Stopping; same VMI, terminating"
	ended        = "same, Stopped; same VMI"
	paused       = "same, Paused; same VMI"
	rebooted     = "same, Running; same VMI, booted again"
	isRunning    = "409 VM is already running"
	isNotRunning = "409 VM is not running"
	noVMI        = `404 virtualmachineinstance.kubevirt.io "NAME" not found`
	onceNoStart  = "409 Once does not support manual start requests"
	onceNoReset  = "409 RunStategy Once does not support manual restart requests"
	haltedNo     = "409 RunStategy Halted does not support manual restart requests"
	underway     = "500 Internal error occurred: unable to complete request: stop/start already underway"
	shorter      = "409 Halted only supports manual stop requests with a shorter graceperiod"
)

var powerRows = []powerRow{
	{"no VMI", "start", "Halted", "202", "Always, Running; new VMI"},
	{"no VMI", "start", "Manual RerunOnFailure", "202", renewed},
	{"no VMI", "stop", "Halted Manual RerunOnFailure", isNotRunning, off},
	{"no VMI", "restart", "Halted", haltedNo, off},
	{"no VMI", "restart", "Manual RerunOnFailure", isNotRunning + ": Halted", off},
	{"no VMI", "pause", "Halted Manual RerunOnFailure", noVMI, off},
	{"no VMI", "softreboot", "Halted Manual RerunOnFailure", noVMI, off},
	{"no VMI", "reset", "Halted Manual RerunOnFailure", noVMI, off},
	{"running", "start", "Always Manual Once RerunOnFailure", isRunning, unchanged},
	{"running", "stop", "Always Once", "202", haltedOff},
	{"running", "stop", "Manual RerunOnFailure", "202", off},
	{"running", "stop grace 0", "Always Once", "202", haltedOff},
	{"running", "stop grace 0", "Manual RerunOnFailure", "202", off},
	{"running", "restart", "Always Manual RerunOnFailure", "202", renewed},
	{"running", "restart", "Once", onceNoReset, unchanged},
	{"running", "restart grace 0", "Always Manual RerunOnFailure", "202", renewed},
	{"running", "restart grace 0", "Once", onceNoReset, unchanged},
	{"running", "pause", "Always", "200", paused},
	{"running", "unpause", "Always", "409 VMI is not paused", unchanged},
	{"running", "softreboot", "Always", "200", rebooted},
	{"running", "reset", "Always", "200", rebooted},
	{"paused", "start", "Always", isRunning, paused},
	{"paused", "stop", "Always", "202", haltedStop},
	{"paused", "stop grace 0", "Always", "202", haltedOff},
	{"paused", "restart", "Always", "202", stopping},
	{"paused", "pause", "Always", "409 VMI is already paused", paused},
	{"paused", "unpause", "Always", "200", unchanged},
	{"paused", "softreboot", "Always", "409 VMI is paused", paused},
	{"paused", "reset", "Always", "200", paused},
	{"stopping", "start", "Always Once", isRunning, haltedStop},
	{"stopping", "start", "Manual RerunOnFailure", isRunning, stopping},
	{"stopping", "stop", "Always Once", shorter, haltedStop},
	{"stopping", "stop", "Manual RerunOnFailure", "202", stopping},
	{"stopping", "stop grace 0", "Always Once", "202", haltedOff},
	{"stopping", "stop grace 0", "Manual RerunOnFailure", "202", off},
	{"stopping", "restart", "Always Once", haltedNo, haltedStop},
	{"stopping", "restart", "Manual RerunOnFailure", underway, stopping},
	{"guest powered off", "start", "Always", isRunning, unchanged},
	{"guest powered off", "start", "Manual RerunOnFailure", "202", renewed},
	{"guest powered off", "start", "Once", onceNoStart, ended},
	{"guest powered off", "stop", "Always Once", "202", haltedOff},
	{"guest powered off", "stop", "Manual", isNotRunning, ended},
	{"guest powered off", "stop", "RerunOnFailure", isNotRunning, off},
	{"guest powered off", "restart", "Always Manual", "202", renewed},
	{"guest powered off", "restart", "RerunOnFailure", isNotRunning + ": Halted", off},
	{"guest powered off", "restart", "Once", onceNoReset, ended},
}

func TestPowerVerbsAnswerAndActAsKubeVirtDoes(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	for i, row := range powerRows {
		for _, strategy := range strings.Fields(row.strategies) {
			name := fmt.Sprintf("vm-%d-%s", i, strings.ToLower(strategy))
			t.Run(fmt.Sprintf("%s/%s/%s", row.state, row.verb, strategy), func(t *testing.T) {
				t.Parallel()
				s := s.in(t)
				bring(s, name, strategy, row.state)
				checkPower(s, name, strategy, row)
			})
		}
	}
}

func checkPower(s space, name, strategy string, row powerRow) {
	before := s.vmi(name)
	require.Equal(s, row.answer, call(s, name, row.verb))
	want := strings.Replace(row.after, "same,", strategy+",", 1)
	s.eventually("after "+row.verb, want, func() string { return describe(s, name, before) })
	if row.answer[0] != '2' { // nothing is to happen, and does not happen later either
		time.Sleep(time.Second)
		require.Equal(s, want, describe(s, name, before))
	}
}

// bring makes a VM and takes it to a state.
func bring(s space, name, strategy, state string) {
	s.start(name, machine{strategy: strategy})
	if strategy == "Manual" && state != "no VMI" {
		s.printable(name, "Stopped")
		require.Equal(s, "202", call(s, name, "start"))
	}
	// a new RerunOnFailure VM starts by itself
	if state != "no VMI" || strategy == "RerunOnFailure" {
		s.eventually("agent", "True", func() string { return conditionOf(s.vmi(name), "AgentConnected") })
		s.noRequest(name)
	}
	switch state {
	case "no VMI":
		if strategy == "RerunOnFailure" {
			require.Equal(s, "202", call(s, name, "stop"))
		}
		s.gone(name)
		s.settled(name)
	case "running":
		s.printable(name, "Running")
	case "paused":
		require.Equal(s, "200", call(s, name, "pause"))
		s.printable(name, "Paused")
	case "stopping":
		s.annotate(name, "ignore-acpi", "true")
		require.Equal(s, "202", call(s, name, "stop"))
		s.printable(name, "Stopping")
		s.eventually("VMI is being deleted", "true", func() string {
			return fmt.Sprint(s.vmi(name).Text("metadata", "deletionTimestamp") != "")
		})
	case "guest powered off":
		powerOffInside(s, name, strategy)
	}
}

// powerOffInside waits for what each strategy makes of a guest that has shut itself down.
func powerOffInside(s space, name, strategy string) {
	before := s.vmi(name)
	s.annotate(name, "guest", "shutdown")
	switch strategy {
	case "Always":
		s.eventually("the next VMI", "Running; new VMI", func() string {
			_, after, _ := strings.Cut(describe(s, name, before), ", ")
			return after
		})
	case "RerunOnFailure":
		s.gone(name)
		s.settled(name)
	default:
		s.eventually("VMI ends", "Succeeded", func() string { return s.vmi(name).Text("status", "phase") })
		s.settled(name)
	}
}

// settled waits until virt-controller has taken note of the VM's end.
func (s space) settled(name string) {
	s.Helper()
	s.printable(name, "Stopped")
	s.noRequest(name)
}

// noRequest waits until virt-controller has taken the VM's start or stop request away: before that, KubeVirt refuses the next one
// with 500, and the start request of a Manual VM whose guest ends meanwhile stays for ever.
func (s space) noRequest(name string) {
	s.Helper()
	s.eventually("no request is pending", "0", func() string {
		status, _ := s.vm(name)["status"].(map[string]any)
		pending, _ := status["stateChangeRequests"].([]any)
		return fmt.Sprint(len(pending))
	})
}

var conflict = regexp.MustCompile(`Operation cannot be fulfilled on [^:]*: `)

// call calls a verb and returns status and message.
func call(s space, name, verb string) string {
	v := verbs[verb]
	code, err := s.Do(s.Context(), http.MethodPut, s.path(subs, v.kind, name)+"/"+v.action, v.body, nil)
	if code < http.StatusMultipleChoices {
		return fmt.Sprint(code)
	}
	text := conflict.ReplaceAllString(err.Error(), "")
	return strings.ReplaceAll(text, `"`+name+`"`, `"NAME"`)
}

// describe tells the VM's strategy and status, and how its VMI differs from that before.
func describe(s space, name string, before kube.Object) string {
	vm, now := s.vm(name), s.vmi(name)
	text := vm.Text("spec", "runStrategy") + ", " + vm.Text("status", "printableStatus") + "; "
	switch {
	case now == nil:
		return text + "no VMI"
	case uid(now) != uid(before):
		return text + "new VMI"
	}
	text += "same VMI"
	if note(now, "boot-count") != note(before, "boot-count") {
		text += ", booted again"
	}
	if now.Text("metadata", "deletionTimestamp") != "" {
		text += ", terminating"
	}
	return text
}
