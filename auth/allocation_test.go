//go:build !race

// Under the race detector sync.Pool drops what it is given at random, so that allocations say nothing.

package auth

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func BenchmarkAuthenticateVerified(b *testing.B) {
	a, compares, _ := counted(b, Options{}, directory(b, operator(hashed(b, "pw-A", bcrypt.MinCost))))
	r := request(b, "operator1", "pw-A")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
	require.EqualValues(b, 1, compares.Load())
}

func TestVerifiedRequestsDoNotAllocate(t *testing.T) {
	a, _, _ := counted(t, Options{}, directory(t, operator(hashed(t, "pw-A", bcrypt.MinCost))))
	r := request(t, "operator1", "pw-A")
	_, err := a.Authenticate(r)
	require.NoError(t, err)
	allocations := testing.AllocsPerRun(1000, func() { _, _ = a.Authenticate(r) })
	require.Zero(t, allocations)
}
