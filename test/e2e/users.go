package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// Names of users that tests log in as.
const (
	Admin    auth.UserName = "admin"
	Operator auth.UserName = "operator1"
)

// User is an account with [Password], verified at the lowest cost.
func User(t testing.TB, name auth.UserName, role auth.Role, chassis ...auth.ChassisName) auth.Account {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(Password), bcrypt.MinCost)
	require.NoError(t, err)
	password, err := auth.HashedPassword(string(hash))
	require.NoError(t, err)
	return auth.Account{Name: name, Password: password, Role: role, Grants: auth.NewGrants(chassis...)}
}
