package redfish

import (
	"net/http"
	"strings"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

const (
	rootURI     = "/redfish/v1"
	systemsURI  = rootURI + "/Systems"
	managersURI = rootURI + "/Managers"
	chassisURI  = rootURI + "/Chassis"

	metadataURI = rootURI + "/$metadata"
	odataURI    = rootURI + "/odata"

	sessionServiceURI = rootURI + "/SessionService"
	sessionsURI       = sessionServiceURI + "/Sessions"

	taskServiceURI  = rootURI + "/TaskService"
	tasksURI        = taskServiceURI + "/Tasks"
	taskMonitorsURI = taskServiceURI + "/TaskMonitors"
)

// openURIs may be read without credentials (DSP0266, section "Authentication requirements").
var openURIs = map[string]bool{
	"/redfish": true, rootURI: true, odataURI: true, metadataURI: true,
}

func isOpen(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && openURIs[r.URL.Path]
}

// rewrite makes the request one for another path, as which it is answered and recorded.
func (c *call) rewrite(path string) {
	c.r = c.r.WithContext(c.r.Context())
	target := *c.r.URL
	target.Path, target.RawPath = path, ""
	c.r.URL = &target
}

// trimSlash makes the two forms of every URI, with and without a slash at the end, the same one. Clients
// follow no redirect on a POST, so there is none.
func (c *call) trimSlash() {
	if path := c.r.URL.Path; len(path) > 1 && path[len(path)-1] == '/' {
		c.rewrite(path[:len(path)-1])
	}
}

// resolveAlias rewrites the URIs of systems below a configured chassis, which earlier products served, to
// the canonical ones.
func (c *call) resolveAlias() error {
	rest, below := strings.CutPrefix(c.r.URL.Path, chassisURI+"/")
	if !below {
		return nil
	}
	chassis, rest, below := strings.Cut(rest, "/Systems/")
	if !below || strings.Contains(chassis, "/") {
		return nil
	}
	name, rest, deeper := strings.Cut(rest, "/")
	id, err := c.service.Backend.Resolve(c.who, auth.ChassisName(chassis), name)
	if err != nil {
		return err
	}
	path := systemURI(id)
	if deeper {
		path += "/" + rest
	}
	c.rewrite(path)
	return nil
}
