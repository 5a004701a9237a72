package redfish

import (
	"cmp"
	"net/http"
)

type taskService struct {
	head
	Enabled         bool       `json:"ServiceEnabled"`
	Overwrite       string     `json:"CompletedTaskOverWritePolicy"`
	LifeCycleEvents bool       `json:"LifeCycleEventOnTaskStateChange"`
	Status          statusBody `json:"Status"`
	Tasks           link       `json:"Tasks"`
}

type taskBody struct {
	head
	State    TaskState `json:"TaskState"`
	Status   Health    `json:"TaskStatus"`
	Started  *string   `json:"StartTime,omitempty"`
	Ended    *string   `json:"EndTime,omitempty"`
	Monitor  string    `json:"TaskMonitor"`
	Messages []Message `json:"Messages"`
}

func taskServiceResource(*Service) resource {
	return taskService{
		head:    newHead(taskServiceURI, schemaTaskService, "Task Service"),
		Enabled: true, Overwrite: "Oldest", Status: enabled, Tasks: link{tasksURI},
	}
}

// taskCollection lists the tasks of the machines that the caller may see.
func taskCollection(c *call) (content, error) {
	tasks, err := c.service.Backend.Tasks(c.who)
	if err != nil {
		return content{}, err
	}
	return content{build: func() (resource, error) {
		members := make([]link, len(tasks))
		for i := range tasks {
			members[i].ODataID = tasksURI + "/" + string(tasks[i].ID)
		}
		return newCollection(tasksURI, schemaTaskCollection, "Tasks", members), nil
	}}, nil
}

func taskByID(c *call) (content, error) {
	found, err := c.task(TaskID(c.vars["TaskId"]))
	if err != nil {
		return content{}, err
	}
	return content{build: func() (resource, error) { return taskResource(found), nil }}, nil
}

// taskMonitor answers 202 until the task ends, then as the action would have been answered (DSP0266, section
// "Asynchronous operations").
func taskMonitor(c *call) error {
	found, err := c.task(TaskID(c.vars["TaskId"]))
	switch {
	case err != nil:
		return err
	case !found.Over():
		return c.accepted(found.ID)
	case found.State == TaskCompleted:
		c.noContent()
		return nil
	}
	return &Error{Status: http.StatusConflict, Message: MsgGeneralError, Detail: found.Message}
}

// accepted answers 202 with the task in the body and its monitor in Location.
func (c *call) accepted(id TaskID) error {
	found, err := c.task(id)
	if err != nil { // the action was accepted all the same
		found = &Task{ID: id, Name: "Task", State: TaskRunning}
	}
	c.Header().Set("Location", taskMonitorsURI+"/"+string(id))
	c.reply(http.StatusAccepted, taskResource(found))
	return nil
}

// task is the task with that id; ErrNotFound when it is none of the caller's machines'.
func (c *call) task(id TaskID) (*Task, error) {
	all, err := c.service.Backend.Tasks(c.who)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, ErrNotFound
}

func taskResource(t *Task) taskBody {
	return taskBody{
		head:  newHead(tasksURI+"/"+string(t.ID), schemaTask, t.Name),
		State: t.State, Status: t.health(), Started: optional(timestamp(t.Started)), Ended: optional(timestamp(t.Ended)),
		Monitor: taskMonitorsURI + "/" + string(t.ID), Messages: []Message{t.message()},
	}
}

// health is bad for a task that did not do what was asked.
func (t *Task) health() Health {
	switch {
	case t.State == TaskException || t.Failed:
		return HealthCritical
	case t.State == TaskCancelled:
		return HealthWarning
	default:
		return HealthOK
	}
}

// taskEvents are the messages of the TaskEvent registry for the states of a task.
var taskEvents = map[TaskState]string{
	TaskCompleted: "TaskCompletedOK", TaskCancelled: "TaskCancelled", TaskException: "TaskAborted",
}

// message says where the task stands.
func (t *Task) message() Message {
	key, ended := taskEvents[t.State]
	if !ended {
		key = "TaskStarted"
	}
	return Message{
		ODataType: schemaMessage, MessageID: "TaskEvent.1.0." + key, Message: cmp.Or(t.Message, t.Name+": "+string(t.State)),
		MessageArgs: []string{string(t.ID)}, MessageSeverity: t.health(), Resolution: "Read the system for its present state.",
	}
}
