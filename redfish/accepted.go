package redfish

import "net/http"

const (
	taskServiceURI  = rootURI + "/TaskService"
	tasksURI        = taskServiceURI + "/Tasks"
	taskMonitorsURI = taskServiceURI + "/TaskMonitors"
)

// accepted answers 202 with the task in the body and its monitor in Location.
func (c *call) accepted(id TaskID) error {
	c.Header().Set("Location", taskMonitorsURI+"/"+string(id))
	c.reply(http.StatusAccepted, struct{}{})
	return nil
}
