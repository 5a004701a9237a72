package redfish

import "time"

// TaskID is the Id of a Task: the SystemID "<namespace>.<name>" of its machine, a dot, and a random part
// without dots.
type TaskID string

// TaskState is Task.TaskState.
type TaskState string

// The task states that are used.
const (
	TaskRunning   TaskState = "Running"
	TaskPending   TaskState = "Pending"
	TaskCompleted TaskState = "Completed"
	TaskCancelled TaskState = "Cancelled"
	TaskException TaskState = "Exception"
)

// Task is an action that was accepted and is done in the background. It is derived from the machine's
// objects on the platform, so that every replica knows it.
type Task struct {
	ID      TaskID
	System  SystemID
	Name    string // what was asked, as "Reset On"
	State   TaskState
	Started time.Time
	Ended   time.Time // zero while it runs
	Message string    // why it waits, or how it ended
	// Failed distinguishes an Exception from good ends.
	Failed bool
}

// Over reports whether the task has ended.
func (t *Task) Over() bool { return !t.Ended.IsZero() }
