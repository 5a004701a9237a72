package kubevirt

import (
	"fmt"
	"strconv"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// powerOf works out the power state and status of a machine. The order of the cases is the precedence: the
// first that applies decides.
func powerOf(m *machine, now time.Time) (redfish.PowerState, redfish.Status) {
	switch {
	case !m.vm.deleted.IsZero():
		return offUnless(m.live()), redfish.Status{State: redfish.StateDisabled, Health: redfish.HealthOK}
	case m.hold.waiting():
		return redfish.PowerPoweringOn, redfish.Status{State: redfish.StateStarting, Health: redfish.HealthOK}
	case m.ending():
		return redfish.PowerPoweringOff, enabled(redfish.HealthOK)
	case m.live() && m.vmi.phase == phaseRunning:
		return runningState(m)
	case m.live():
		return redfish.PowerPoweringOn, startingStatus(m, now)
	case m.wanted():
		return redfish.PowerPoweringOn, retryingStatus(m)
	case m.vmi == nil && m.hold != nil && m.hold.State == holdFailed:
		return redfish.PowerOff, enabled(redfish.HealthWarning, because(redfish.HealthWarning, "The held power-on failed: "+m.hold.Message, m.hold.Ended))
	default:
		return redfish.PowerOff, enabled(redfish.HealthOK)
	}
}

func offUnless(live bool) redfish.PowerState {
	if live {
		return redfish.PowerPoweringOff
	}
	return redfish.PowerOff
}

func enabled(health redfish.Health, conditions ...redfish.Condition) redfish.Status {
	return redfish.Status{State: redfish.StateEnabled, Health: health, Conditions: conditions}
}

func because(severity redfish.Health, message string, since time.Time) redfish.Condition {
	return redfish.Condition{Severity: severity, Message: message, Since: since}
}

// runningState is the state of a machine whose instance is Running.
func runningState(m *machine) (redfish.PowerState, redfish.Status) {
	ready := conditionOf(m.vmi.conditions, "Ready")
	notReady := ready != nil && ready.status == "False"
	switch paused := conditionOf(m.vmi.conditions, "Paused"); {
	case paused != nil && paused.status == "True":
		if paused.reason == "PausedIOError" {
			return redfish.PowerPaused, enabled(redfish.HealthCritical, because(redfish.HealthCritical, "The guest is paused because of an I/O error.", paused.since))
		}
		return redfish.PowerPaused, enabled(redfish.HealthOK)
	case notReady && ready.reason == "":
		// The node controller turns the pod's condition to False and leaves its reason empty; the kubelet and
		// KubeVirt always give one (kubernetes pkg/controller/util/node: MarkPodsNotReady).
		lost := because(redfish.HealthCritical, "The host "+m.vmi.node+" is not reachable.", ready.since)
		return redfish.PowerOn, redfish.Status{State: redfish.StateUnavailableOffline, Health: redfish.HealthCritical, Conditions: []redfish.Condition{lost}}
	case notReady && m.wasReady == m.vmi.uid:
		return redfish.PowerOn, enabled(redfish.HealthWarning, because(redfish.HealthWarning, sentence("The guest is no longer ready", ready.message), ready.since))
	default:
		return redfish.PowerOn, enabled(redfish.HealthOK)
	}
}

// startingStatus is the status of a machine whose instance is not Running yet.
func startingStatus(m *machine, now time.Time) redfish.Status {
	s := redfish.Status{State: redfish.StateStarting, Health: redfish.HealthOK}
	if since, reason := m.unschedulable(); !since.IsZero() { // no host, or a claim that does not exist
		s.Health = redfish.HealthWarning
		if now.Sub(since) >= unschedulableSoon {
			s.Health = redfish.HealthCritical
		}
		s.Conditions = []redfish.Condition{because(s.Health, sentence("The machine cannot be scheduled", reason), since)}
		return s
	}
	if trouble := troubleOf(m.vm); trouble != "" {
		s.Health = redfish.HealthWarning
		s.Conditions = []redfish.Condition{because(s.Health, trouble, time.Time{})}
	}
	return s
}

// retryingStatus is the status of a machine that KubeVirt has yet to make an instance for.
func retryingStatus(m *machine) redfish.Status {
	s := redfish.Status{State: redfish.StateStarting, Health: redfish.HealthOK}
	message := troubleOf(m.vm)
	if n := m.vm.startFailures; n > 0 {
		message = "The start failed " + strconv.Itoa(n) + " times in a row"
		if !m.vm.retryAfter.IsZero() {
			message += "; the next try is not before " + m.vm.retryAfter.UTC().Format(time.RFC3339)
		}
		message += "."
	}
	if message != "" {
		s.Health = redfish.HealthWarning
		s.Conditions = []redfish.Condition{because(s.Health, message, time.Time{})}
	}
	return s
}

// troubles are the printable statuses that say why a start does not get on.
var troubles = map[string]string{
	"CrashLoopBackOff":   "The machine ends again and again while it starts.",
	"ErrorUnschedulable": "The machine cannot be scheduled.",
	"ErrImagePull":       "An image of the machine cannot be pulled.",
	"ImagePullBackOff":   "An image of the machine cannot be pulled.",
	"ErrorPvcNotFound":   "A PersistentVolumeClaim of the machine does not exist.",
	"DataVolumeError":    "A DataVolume of the machine has failed.",
}

// troubleOf is why the start of a VM does not get on, empty when nothing is known to be wrong.
func troubleOf(vm *vmRecord) string {
	if failure := conditionOf(vm.conditions, "Failure"); failure != nil && failure.status == "True" {
		return sentence("KubeVirt cannot start the machine", failure.message)
	}
	return troubles[vm.printable]
}

// sentence joins what is wrong with the platform's reason for it.
func sentence(what, reason string) string {
	if reason == "" {
		return what + "."
	}
	return fmt.Sprintf("%s: %s", what, reason)
}
