package auth

import "slices"

// Chassis selects the machines of one namespace under one name that can be granted to users.
type Chassis struct {
	Name        ChassisName
	Namespace   string
	Description string
	// Labels must all be on the machine, with exactly these values. Empty selects by Names alone.
	Labels map[string]string
	// Names, when not empty, must contain the machine's name.
	Names []string
}

// Selects reports whether the chassis contains the machine.
func (c *Chassis) Selects(namespace, name string, labels map[string]string) bool {
	if c.Namespace != namespace || len(c.Names) > 0 && !slices.Contains(c.Names, name) {
		return false
	}
	for key, want := range c.Labels {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

// Exposure is the immutable list of configured chassis, in the order of the configuration. A machine that no
// chassis selects does not exist for any caller.
type Exposure struct {
	chassis     []Chassis
	byNamespace map[string][]int
}

// NewExposure indexes the chassis. The caller must not change them afterwards.
func NewExposure(chassis []Chassis) *Exposure {
	e := &Exposure{chassis: chassis, byNamespace: map[string][]int{}}
	for i := range chassis {
		ns := chassis[i].Namespace
		e.byNamespace[ns] = append(e.byNamespace[ns], i)
	}
	return e
}

// Chassis is the configured list, in order. It must not be changed.
func (e *Exposure) Chassis() []Chassis { return e.chassis }

// Namespaces are the namespaces of all chassis, sorted.
func (e *Exposure) Namespaces() []string {
	names := make([]string, 0, len(e.byNamespace))
	for ns := range e.byNamespace {
		names = append(names, ns)
	}
	slices.Sort(names)
	return names
}

// Of appends to into the indexes (in [Exposure.Chassis]) of the chassis that contain the machine, ascending.
func (e *Exposure) Of(into []int, namespace, name string, labels map[string]string) []int {
	for _, i := range e.byNamespace[namespace] {
		if e.chassis[i].Selects(namespace, name, labels) {
			into = append(into, i)
		}
	}
	return into
}
