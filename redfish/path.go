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
)

// openURIs may be read without credentials (DSP0266, section "Authentication requirements").
var openURIs = map[string]bool{
	"/redfish": true, rootURI: true, rootURI + "/odata": true, rootURI + "/$metadata": true,
}

func isOpen(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && openURIs[r.URL.Path]
}

// trimSlash makes the two forms of every URI, with and without a slash at the end, the same one. Clients
// follow no redirect on a POST, so there is none.
func trimSlash(r *http.Request) {
	path := r.URL.Path
	if len(path) < 2 || path[len(path)-1] != '/' {
		return
	}
	r.URL.Path = path[:len(path)-1]
	r.URL.RawPath = ""
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
		return err //nolint:wrapcheck // classified as it is
	}
	c.r.URL.Path = systemsURI + "/" + string(id)
	if deeper {
		c.r.URL.Path += "/" + rest
	}
	return nil
}
