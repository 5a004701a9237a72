package config

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// login is the caller that the configuration makes of the credentials.
func login(t *testing.T, c *Config, user, password string) (auth.Principal, error) {
	directory, err := c.Directory()
	require.NoError(t, err)
	authenticator, err := auth.NewAuthenticator(auth.Options{})
	require.NoError(t, err)
	authenticator.SetDirectory(directory)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.SetBasicAuth(user, password)
	return authenticator.Authenticate(r)
}

func TestUsersOfTheFileLogIn(t *testing.T) {
	hash, err := auth.HashPassword("hashed-pw")
	require.NoError(t, err)
	c, _, err := Load(Source{Path: written(t, minimal+`
  - {username: hashed, password: {hash: "`+hash+`"}, chassis: [lab], role: Operator}
  - {username: everything, password: pw-C, chassis: ["*"], role: ReadOnly}
`)})
	require.NoError(t, err)
	tests := map[string]struct {
		password string
		want     *auth.Principal
	}{
		"admin":      {"pw-A", &auth.Principal{User: "admin", Role: auth.Administrator, Grants: auth.NewGrants("lab")}},
		"hashed":     {"hashed-pw", &auth.Principal{User: "hashed", Role: auth.Operator, Grants: auth.NewGrants("lab")}},
		"everything": {"pw-C", &auth.Principal{User: "everything", Role: auth.ReadOnly, Grants: auth.NewGrants(auth.AllChassis)}},
		"nobody":     {"pw-A", nil},
	}
	for user, test := range tests {
		t.Run(user, func(t *testing.T) {
			p, err := login(t, c, user, test.password)
			if test.want == nil {
				require.ErrorIs(t, err, auth.ErrUnauthenticated)
				return
			}
			require.NoError(t, err)
			require.Equal(t, *test.want, p)
		})
	}
}

func TestChassisOfTheFileSelect(t *testing.T) {
	c, _, err := Load(Source{Path: "testdata/quoted.yaml"})
	require.NoError(t, err)
	require.Equal(t, []auth.Chassis{
		{
			Name: "node-0", Namespace: "vms",
			Labels: map[string]string{"cluster": "a", "enabled": "true"}, Names: []string{"vm-0", "vm-1"},
		},
		{Name: "node-1", Namespace: "vms"},
	}, c.AuthChassis())
	require.Equal(t, []int{0, 1}, c.Exposure().Of(nil, "vms", "vm-1", map[string]string{"cluster": "a", "enabled": "true"}))
	require.Equal(t, []int{1}, c.Exposure().Of(nil, "vms", "vm-1", nil))
}

func TestSimulationIsValidAndForOneUser(t *testing.T) {
	c := ForSimulation("generated", []string{"default", "lab"})
	_, err := Source{Listen: "127.0.0.1:0"}.Override(c)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:0", c.Server.Listen())
	p, err := login(t, c, "admin", "generated")
	require.NoError(t, err)
	require.True(t, p.Grants.All())
	require.Equal(t, []string{"default", "lab"}, c.Exposure().Namespaces())
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", c, c, *c), "generated")

	_, err = Source{}.Override(ForSimulation("", []string{"default"}))
	require.ErrorContains(t, err, "the password is empty")
}

func TestListenAddresses(t *testing.T) {
	for host, want := range map[string]string{
		"0.0.0.0": ":1", "::": ":1", "[::]": ":1", "": ":1",
		"127.0.0.1": "127.0.0.1:1", "::1": "[::1]:1", "[::1]": "[::1]:1", "bmc.example.test": "bmc.example.test:1",
	} {
		require.Equal(t, want, (&Server{Host: host, Port: 1}).Listen(), host)
	}
}
