package redfish

// builder makes a resource from the description of its machine and the variables of its URI. It returns
// ErrNotFound for a part that the machine does not have.
type builder func(s *Service, m *System, vars map[string]string) (resource, error)

// ofMachine makes the reader of a resource that is built from the machine that {SystemId} names.
func ofMachine(build builder) reader {
	return func(c *call) (content, error) { return c.ofMachine(SystemID(c.vars["SystemId"]), build) }
}

// fixed makes the reader of a resource that never changes while the service runs.
func fixed(build func(s *Service) resource) reader {
	return func(c *call) (content, error) {
		return content{key: c.r.URL.Path, build: func() (resource, error) { return build(c.service), nil }}, nil
	}
}

// machine is the machine that {SystemId} names, when the caller may see it.
func (c *call) machine() (Machine, error) { return c.machineNamed(SystemID(c.vars["SystemId"])) }

func (c *call) machineNamed(id SystemID) (Machine, error) {
	m, err := c.service.Backend.Machine(c.who, id)
	if err != nil {
		return nil, err
	}
	c.system = m.ID()
	return m, nil
}

// ofMachine finds the content that build makes of the machine with that id.
func (c *call) ofMachine(id SystemID, build builder) (content, error) {
	m, err := c.machineNamed(id)
	if err != nil {
		return content{}, err
	}
	key := c.r.URL.Path
	if id != m.ID() {
		key += "\x00" + string(m.ID()) // an alias: the body says the canonical id, which may differ between callers
	}
	return content{key: key, version: m.Version(), build: func() (resource, error) {
		return build(c.service, m.Describe(), c.vars)
	}}, nil
}
