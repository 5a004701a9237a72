package redfish

import (
	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// routes is every URI of the service. The ones that clients poll come first, since the router tries them in
// this order.
func routes() []route {
	table := []route{
		{path: systemsURI + "/{SystemId}", get: ofMachine(computerSystemResource)},
		{path: systemsURI, get: systemCollection},
		{path: systemsURI + "/{SystemId}/Actions/ComputerSystem.Reset", post: operation{auth.ConfigureComponents, reset}},
	}
	for i := range table {
		table[i].allow = table[i].allowed()
	}
	return table
}

// ofMachine makes the reader of a resource that is built from one machine's description. The build may
// return ErrNotFound for a part that the machine does not have.
func ofMachine(build func(s *Service, m *System, vars map[string]string) (any, error)) reader {
	return func(c *call) (content, error) {
		m, err := c.machine()
		if err != nil {
			return content{}, err
		}
		key := c.r.URL.Path
		if id := c.vars["SystemId"]; id != string(m.ID()) {
			key += "\x00" + string(m.ID()) // an alias: the body says the canonical id, which may differ between callers
		}
		return content{key: key, version: m.Version(), build: func() (any, error) {
			return build(c.service, m.Describe(), c.vars)
		}}, nil
	}
}

// fixed makes the reader of a resource that never changes while the service runs.
func fixed(build func(s *Service) any) reader {
	return func(c *call) (content, error) {
		return content{key: c.r.URL.Path, build: func() (any, error) { return build(c.service), nil }}, nil
	}
}

// machine is the machine that the URI names, when the caller may see it.
func (c *call) machine() (Machine, error) {
	return c.service.Backend.Machine(c.who, SystemID(c.vars["SystemId"])) //nolint:wrapcheck // classified as it is
}
