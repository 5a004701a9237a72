package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

var (
	// A chassis is part of URIs and a namespace is a DNS label.
	labelPattern = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)
	userPattern  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)
)

// Validate reports all that is wrong, as [Problems].
func (c *Config) Validate() error { return c.validate().asError() }

func (c *Config) validate() Problems {
	var p Problems
	c.Server.validate(&p)
	if c.SystemIDConvention != Legacy && c.SystemIDConvention != Enhanced {
		p.add("system_id_convention", "must be %s or %s, not %q", Legacy, Enhanced, c.SystemIDConvention)
	}
	c.validateChassis(&p)
	c.validateUsers(&p)
	c.KubeVirt.validate(&p)
	c.DataVolume.validate(&p)
	if _, _, err := splitListen(c.Metrics.Listen); err != nil {
		p.add("metrics.listen", "%s", err)
	}
	return p
}

func (s *Server) validate(p *Problems) {
	host := strings.Trim(s.Host, "[]")
	if _, err := netip.ParseAddr(host); err != nil && strings.ContainsAny(host, ":/ ") {
		p.add("server.host", "must be an address or a name without a port, not %q", s.Host)
	}
	if s.Port < 1 || s.Port > 65535 {
		p.add("server.port", "must be from 1 to 65535, not %d", s.Port)
	}
	if s.TLS.CertFile != "" && s.TLS.KeyFile == "" {
		p.add("server.tls.key_file", "is missing; it belongs to cert_file")
	}
	if s.TLS.KeyFile != "" && s.TLS.CertFile == "" {
		p.add("server.tls.cert_file", "is missing; it belongs to key_file")
	}
}

func (c *Config) validateChassis(p *Problems) {
	if len(c.Chassis) == 0 {
		p.add("chassis", "at least one is needed")
	}
	seen := map[string]bool{}
	for i := range c.Chassis {
		chassis, path := &c.Chassis[i], fmt.Sprintf("chassis[%d]", i)
		if !labelPattern.MatchString(chassis.Name) {
			p.add(path+".name", "must be 1 to 63 of a-z, 0-9 and -, not %q", chassis.Name)
		} else if seen[chassis.Name] {
			p.add(path+".name", "%q is used twice", chassis.Name)
		}
		seen[chassis.Name] = true
		if !labelPattern.MatchString(chassis.Namespace) {
			p.add(path+".namespace", "must be 1 to 63 of a-z, 0-9 and -, not %q", chassis.Namespace)
		}
		if slices.Contains(chassis.VMSelector.Names, "") {
			p.add(path+".vm_selector.names", "a name is empty")
		}
	}
}

func (c *Config) validateUsers(p *Problems) {
	if len(c.Authentication.Users) == 0 {
		p.add("authentication.users", "at least one is needed")
	}
	known := map[string]bool{string(auth.AllChassis): true}
	for i := range c.Chassis {
		known[c.Chassis[i].Name] = true
	}
	seen := map[string]bool{}
	for i := range c.Authentication.Users {
		user, path := &c.Authentication.Users[i], fmt.Sprintf("authentication.users[%d]", i)
		if !userPattern.MatchString(user.Username) {
			p.add(path+".username", "must be 1 to 63 letters, digits, _ and -, not %q", user.Username)
		} else if seen[user.Username] {
			p.add(path+".username", "%q is used twice", user.Username)
		}
		seen[user.Username] = true
		user.validate(p, path)
		for j, name := range user.Chassis {
			if !known[name] {
				p.add(fmt.Sprintf("%s.chassis[%d]", path, j), "there is no chassis %q", name)
			}
		}
	}
}

func (u *User) validate(p *Problems, path string) {
	if _, err := u.Password.verifier(); err != nil {
		p.add(path+".password", "%s", err)
	}
	if len(u.Chassis) == 0 {
		p.add(path+".chassis", `at least one is needed; "*" grants all`)
	}
	if u.Role != "" && !u.Role.Valid() {
		p.add(path+".role", "must be %s, %s or %s, not %q", auth.Administrator, auth.Operator, auth.ReadOnly, u.Role)
	}
}

func (k *KubeVirt) validate(p *Problems) {
	if k.APIVersion != "v1" {
		p.add("kubevirt.api_version", "must be v1, not %q", k.APIVersion)
	}
	if k.Timeout < 1 || k.Timeout > 300 {
		p.add("kubevirt.timeout", "must be from 1 to 300 seconds, not %d", k.Timeout)
	}
}

func (v *DataVolume) validate(p *Problems) {
	if size, err := resource.ParseQuantity(v.StorageSize); err != nil || size.Sign() <= 0 {
		p.add("datavolume.storage_size", "must be a quantity like 10Gi, not %q", v.StorageSize)
	}
	if v.VMUpdateTimeout <= 0 {
		p.add("datavolume.vm_update_timeout", "must be positive")
	}
	if v.ISODownloadTimeout <= 0 {
		p.add("datavolume.iso_download_timeout", "must be positive")
	}
}
