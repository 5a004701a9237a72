package auth

import "slices"

// Role is a RoleId of the Redfish standard.
type Role string

// The roles that DSP0266 defines.
const (
	Administrator Role = "Administrator"
	Operator      Role = "Operator"
	ReadOnly      Role = "ReadOnly"
)

// Privilege is one of the standard privileges that DSP0266 assigns to roles and asks of operations.
type Privilege string

// The privileges that DSP0266 defines.
const (
	Login               Privilege = "Login"
	ConfigureManager    Privilege = "ConfigureManager"
	ConfigureUsers      Privilege = "ConfigureUsers"
	ConfigureComponents Privilege = "ConfigureComponents"
	ConfigureSelf       Privilege = "ConfigureSelf"
)

// rolePrivileges is the fixed assignment of DSP0266, section "Roles".
var rolePrivileges = map[Role][]Privilege{
	Administrator: {Login, ConfigureManager, ConfigureUsers, ConfigureComponents, ConfigureSelf},
	Operator:      {Login, ConfigureComponents, ConfigureSelf},
	ReadOnly:      {Login, ConfigureSelf},
}

// Valid reports whether r is one of the standard roles.
func (r Role) Valid() bool { return rolePrivileges[r] != nil }

// Can reports whether the role carries the privilege. An unknown role carries none.
func (r Role) Can(p Privilege) bool { return slices.Contains(rolePrivileges[r], p) }
