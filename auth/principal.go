package auth

import "slices"

// UserName is the name of an account, as in ManagerAccount.UserName.
type UserName string

// ChassisName is the name of a configured chassis: a namespace, or a selection of its machines.
type ChassisName string

// AllChassis is the grant that covers every chassis and the rights that concern the whole service.
const AllChassis ChassisName = "*"

// Principal is the authenticated caller of a request. It is a value: a later change of the account does
// not reach requests that are already running.
type Principal struct {
	User   UserName
	Role   Role
	Grants Grants
}

// Grants is the set of chassis that a caller may see. The zero value grants nothing.
type Grants struct {
	all   bool
	names []ChassisName // sorted, unique
}

// NewGrants makes the set of the given names. [AllChassis] among them grants everything.
func NewGrants(names ...ChassisName) Grants {
	if slices.Contains(names, AllChassis) {
		return Grants{all: true}
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	return Grants{names: slices.Compact(sorted)}
}

// All reports whether every chassis is granted, and with it the rights on the service itself.
func (g Grants) All() bool { return g.all }

// Has reports whether the chassis is granted.
func (g Grants) Has(name ChassisName) bool {
	if g.all {
		return true
	}
	_, found := slices.BinarySearch(g.names, name)
	return found
}

// Key is equal for equal sets only, so that what was computed for a set can be kept under it.
func (g Grants) Key() string {
	if g.all {
		return string(AllChassis)
	}
	var size int
	for _, n := range g.names {
		size += len(n) + 1
	}
	key := make([]byte, 0, size)
	for _, n := range g.names {
		key = append(append(key, n...), '/')
	}
	return string(key)
}
