package config

import "github.com/kubevirt-redfish/kubevirt-redfish/auth"

// ForSimulation is the configuration of a server on the simulator when no file is given: one user, admin, who may do
// everything, and a chassis for each namespace.
func ForSimulation(password string, namespaces []string) *Config {
	c := Default()
	c.SystemIDConvention = Enhanced
	for _, namespace := range namespaces {
		c.Chassis = append(c.Chassis, Chassis{Name: namespace, Namespace: namespace})
	}
	c.Authentication.Users = []User{{
		Username: "admin",
		Password: Password{Plain: password},
		Chassis:  []string{string(auth.AllChassis)},
		Role:     auth.Administrator,
	}}
	return c
}
