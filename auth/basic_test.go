package auth

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func FuzzAuthorization(f *testing.F) {
	d := directory(f, Account{Name: "operator1", Password: hashed(f, "pw-A", bcrypt.MinCost), Role: Operator})
	a, err := NewAuthenticator(Options{CacheSize: 4})
	require.NoError(f, err)
	a.SetDirectory(d)
	for _, seed := range []string{
		"Basic b3BlcmF0b3IxOnB3LUE=", "basic b3BlcmF0b3IxOnB3LUE=", "Basic  b3BlcmF0b3IxOnB3LUE= ", "Basic Og==",
		"Basic b3BlcmF0b3IxOg==", "Basic", "Basic ", "Bearer x", "", "Basic AAAA", "Basic b3BlcmF0b3IxOnB3LUE=\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r := request(t, "", "")
		r.Header = http.Header{"Authorization": {value}}
		p, err := a.Authenticate(r)
		user, password, parsed := r.BasicAuth() // the standard library as the second opinion
		if err != nil {
			require.ErrorIs(t, err, ErrUnauthenticated)
			require.Equal(t, Principal{}, p)
			require.False(t, parsed && user == "operator1" && password == "pw-A", "refused a right credential")
			return
		}
		name, text, ok := parseBasic(value)
		require.True(t, ok)
		require.Equal(t, UserName("operator1"), name)
		require.Equal(t, "pw-A", string(text))
		require.Equal(t, name, p.User)
	})
}
