package auth

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func TestHashesOfCommonToolsAreAccepted(t *testing.T) {
	made, err := bcrypt.GenerateFromPassword([]byte("pw-A"), bcrypt.MinCost)
	require.NoError(t, err)
	rest := strings.TrimPrefix(string(made), "$2a$")
	tests := map[string]struct {
		hash  string
		valid bool
	}{
		"$2a$":              {"$2a$" + rest, true},
		"$2b$":              {"$2b$" + rest, true},
		"$2y$ (htpasswd)":   {"$2y$" + rest, true},
		"$2x$":              {"$2x$" + rest, false},
		"no version letter": {"$2$" + rest, false},
		"cut short":         {"$2a$" + rest[:len(rest)-1], false},
		"cost too low":      {"$2a$03" + rest[2:], false},
		"cost too high":     {"$2a$16" + rest[2:], false},
		"cost not a number": {"$2a$xx" + rest[2:], false},
		"sha512 crypt":      {"$6$" + strings.Repeat("x", 57), false},
		"empty":             {"", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := HashedPassword(test.hash)
			if !test.valid {
				require.Error(t, err)
				require.Equal(t, Password{}, p)
				return
			}
			require.NoError(t, err)
			require.True(t, p.matches([]byte("pw-A"), p.cost, bcrypt.CompareHashAndPassword))
			require.False(t, p.matches([]byte("pw-B"), p.cost, bcrypt.CompareHashAndPassword))
		})
	}
}

func TestPasswordNeverPrints(t *testing.T) {
	hash := hashed(t, "pw-A", bcrypt.MinCost)
	for _, p := range []Password{plain(t, "pw-A"), hash} {
		var text strings.Builder
		slog.New(slog.NewTextHandler(&text, nil)).Info("x", "password", p)
		_, _ = fmt.Fprintf(&text, "%v %+v %#v %s %v", p, p, p, p, operator(p))
		require.NotContains(t, text.String(), "pw-A")
		require.NotContains(t, text.String(), hash.hash)
		require.NotContains(t, text.String(), fmt.Sprint(p.digest[0])+" "+fmt.Sprint(p.digest[1]))
	}
}

func TestPlainPasswordLimits(t *testing.T) {
	_, err := PlainPassword("")
	require.Error(t, err)
	_, err = PlainPassword(strings.Repeat("x", maxPasswordBytes+1))
	require.Error(t, err)
	longest := strings.Repeat("x", maxPasswordBytes)
	a, _, _ := counted(t, Options{}, directory(t, operator(plain(t, longest))))
	_, err = a.Authenticate(request(t, "operator1", longest))
	require.NoError(t, err, "the longest password fits into the header")
}

func TestHashPasswordRoundTrip(t *testing.T) {
	hash, err := HashPassword("pw-A")
	require.NoError(t, err)
	p, err := HashedPassword(hash)
	require.NoError(t, err)
	require.True(t, p.matches([]byte("pw-A"), p.cost, bcrypt.CompareHashAndPassword))
	_, err = HashPassword("")
	require.Error(t, err)
	_, err = HashPassword(strings.Repeat("x", 73))
	require.ErrorIs(t, err, bcrypt.ErrPasswordTooLong)
}

func TestDirectoryRefusesUnusableAccounts(t *testing.T) {
	good := operator(plain(t, "pw-A"))
	tests := map[string]struct {
		change func(*Account)
		want   string
	}{
		"no name":      {func(a *Account) { a.Name = "" }, "no name"},
		"no password":  {func(a *Account) { a.Password = Password{} }, "no password"},
		"no role":      {func(a *Account) { a.Role = "" }, "unknown role"},
		"unknown role": {func(a *Account) { a.Role = "Root" }, "unknown role"},
		"twice":        {func(*Account) {}, "used twice"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			other := good
			test.change(&other)
			d, err := NewDirectory(good, other)
			require.ErrorContains(t, err, test.want)
			require.Nil(t, d)
		})
	}
}
