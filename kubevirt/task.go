package kubevirt

import (
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// taskLife is how long an ended task can still be read.
const taskLife = time.Hour

// taskID names the task of the machine's held power-on. It holds whatever the id convention is.
func taskID(m *machine) redfish.TaskID { return redfish.TaskID(m.enhanced() + "." + m.hold.ID) }

// taskOf is the task that the machine's held power-on is; nil without one or some time after its end.
func taskOf(m *machine, now time.Time) *redfish.Task {
	p := m.hold
	if p == nil || m.vm == nil || !p.waiting() && now.Sub(p.Ended) > taskLife {
		return nil
	}
	t := &redfish.Task{ID: taskID(m), Name: "Reset " + p.Reset, Started: p.Since, Ended: p.Ended, Message: p.Message}
	switch p.State {
	case holdWaiting:
		t.State, t.Message = redfish.TaskRunning, "The power-on waits until the machine has shut down."
	case holdDone:
		t.State = redfish.TaskCompleted
	case holdCancelled:
		t.State = redfish.TaskCancelled
	default:
		t.State, t.Failed = redfish.TaskException, true
	}
	return t
}
