package config

import (
	"errors"
	"fmt"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// Exposure is the configured chassis.
func (c *Config) Exposure() *auth.Exposure { return auth.NewExposure(c.AuthChassis()) }

// AuthChassis is the configured chassis, in order.
func (c *Config) AuthChassis() []auth.Chassis {
	chassis := make([]auth.Chassis, len(c.Chassis))
	for i := range c.Chassis {
		from := &c.Chassis[i]
		chassis[i] = auth.Chassis{
			Name:        auth.ChassisName(from.Name),
			Namespace:   from.Namespace,
			Description: from.Description,
			Labels:      from.VMSelector.Labels,
			Names:       from.VMSelector.Names,
		}
	}
	return chassis
}

// Directory is the configured users. It fails only for a configuration that is not valid.
func (c *Config) Directory() (*auth.Directory, error) {
	accounts := make([]auth.Account, len(c.Authentication.Users))
	for i := range c.Authentication.Users {
		account, err := c.Authentication.Users[i].account()
		if err != nil {
			return nil, fmt.Errorf("authentication.users[%d]: %w", i, err)
		}
		accounts[i] = account
	}
	return auth.NewDirectory(accounts...)
}

func (u *User) account() (auth.Account, error) {
	password, err := u.Password.verifier()
	if err != nil {
		return auth.Account{}, err
	}
	role := u.Role
	if role == "" {
		role = auth.Administrator
	}
	granted := make([]auth.ChassisName, len(u.Chassis))
	for i, name := range u.Chassis {
		granted[i] = auth.ChassisName(name)
	}
	return auth.Account{
		Name:     auth.UserName(u.Username),
		Password: password,
		Role:     role,
		Grants:   auth.NewGrants(granted...),
	}, nil
}

// verifier refuses a hash written as if it were the password itself: whoever read the file could log in with it.
func (p Password) verifier() (auth.Password, error) {
	switch {
	case p.Hash != "":
		return auth.HashedPassword(p.Hash)
	case auth.IsHash(p.Plain):
		return auth.Password{}, errors.New("is a hash; write it as password: {hash: ...}")
	}
	return auth.PlainPassword(p.Plain)
}
