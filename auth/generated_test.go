package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var testNames = Names{
	DNS: []string{"localhost", "kubevirt-redfish.kubevirt-redfish.svc"},
	IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")},
}

// memoryStore is a store that all replicas of a test share.
type memoryStore struct {
	mu   sync.Mutex
	pair *Pair
	err  error
	// raced, if set, is stored by "another replica" just before the next Save.
	raced *Pair
	saves int
}

func (s *memoryStore) Load(context.Context) (Pair, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return Pair{}, s.err
	case s.pair == nil:
		return Pair{}, ErrNoPair
	}
	return *s.pair, nil
}

// set puts the store into a state from outside.
func (s *memoryStore) set(pair *Pair, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pair, s.err = pair, err
}

func (s *memoryStore) Save(_ context.Context, old, pair Pair) (Pair, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.raced != nil {
		s.pair, s.raced = s.raced, nil
	}
	var stored Pair
	if s.pair != nil {
		stored = *s.pair
	}
	if stored.Equal(old) {
		s.pair = &pair
		s.saves++
	}
	return *s.pair, nil
}

// foreignPair is self-signed too, but made by somebody else.
func foreignPair(t *testing.T, end time.Time) Pair {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{Organization: []string{"Example"}},
		NotBefore: end.AddDate(-1, 0, 0), NotAfter: end, DNSNames: []string{"bmc.example.test"},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
	}
}

func TestGeneratedCertificateIsForItsNamesAndLastsTenYears(t *testing.T) {
	now := time.Now()
	c, err := GeneratedCertificates(t.Context(), &memoryStore{}, testNames, CertificateOptions{Now: func() time.Time { return now }})
	require.NoError(t, err)
	leaf := served(t, c)
	require.Equal(t, elliptic.P256(), leaf.PublicKey.(*ecdsa.PublicKey).Curve)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	for _, name := range []string{"localhost", "kubevirt-redfish.kubevirt-redfish.svc", "127.0.0.1", "::1"} {
		for _, at := range []time.Time{now.Add(-time.Minute), now.AddDate(9, 11, 0)} {
			_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: at})
			require.NoError(t, err)
		}
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "other.example.test", CurrentTime: now})
	require.Error(t, err)
	_, err = GeneratedCertificates(t.Context(), &memoryStore{}, Names{}, CertificateOptions{})
	require.ErrorContains(t, err, "no names are given")
}

func TestReplicasAgreeOnOnePair(t *testing.T) {
	other := newPair(t)
	stores := map[string]*memoryStore{
		"stored before":           {pair: &other},
		"another one was earlier": {raced: &other},
	}
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			c, err := GeneratedCertificates(t.Context(), store, testNames, CertificateOptions{})
			require.NoError(t, err)
			require.Equal(t, leafOf(t, other), served(t, c))
			require.Zero(t, store.saves)
		})
	}
}

func TestOnlyOurOwnPairIsRenewed(t *testing.T) {
	ours := newPair(t)
	end := leafOf(t, ours).NotAfter
	tests := map[string]struct {
		pair    Pair
		now     time.Time
		renewed bool
	}{
		"ours, life left":    {ours, end.Add(-renewBefore - time.Hour), false},
		"ours, near its end": {ours, end.Add(-renewBefore + time.Hour), true},
		"foreign, ended":     {foreignPair(t, end), end.AddDate(1, 0, 0), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			store := &memoryStore{pair: &test.pair}
			c, err := GeneratedCertificates(t.Context(), store, testNames, CertificateOptions{Now: func() time.Time { return test.now }})
			require.NoError(t, err)
			require.Equal(t, leafOf(t, *store.pair), served(t, c))
			require.Equal(t, test.renewed, !leafOf(t, test.pair).Equal(served(t, c)))
		})
	}
}

func TestStoreTroubleKeepsThePairInUse(t *testing.T) {
	store := &memoryStore{}
	running(t, func(o CertificateOptions) *Certificates {
		c, err := GeneratedCertificates(t.Context(), store, testNames, o)
		require.NoError(t, err)
		return c
	}, func(c *Certificates, settle func() []error) {
		before := served(t, c)
		store.set(nil, errors.New("forbidden"))
		require.Len(t, settle(), 1)
		require.Empty(t, settle(), "reported once")
		require.Equal(t, before, served(t, c))

		store.set(nil, nil) // removed by a person, to get a new one
		require.Equal(t, []error{nil}, settle())
		require.NotEqual(t, before, served(t, c))
	})
}

func TestUnusableStoredPairIsLeftAlone(t *testing.T) {
	store := &memoryStore{pair: &Pair{Certificate: []byte("x"), Key: []byte("y")}}
	_, err := GeneratedCertificates(t.Context(), store, testNames, CertificateOptions{})
	require.ErrorContains(t, err, "use the key pair")
	require.Zero(t, store.saves)
}

func TestPairFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "tls.pem")
	store, ctx := NewFilePairStore(path), t.Context()
	_, err := store.Load(ctx)
	require.ErrorIs(t, err, ErrNoPair)

	first, second := newPair(t), newPair(t)
	kept, err := store.Save(ctx, Pair{}, first)
	require.NoError(t, err)
	require.Equal(t, first, kept)
	kept, err = store.Save(ctx, Pair{}, second)
	require.NoError(t, err)
	require.Equal(t, first, kept, "the first one stays")
	kept, err = store.Save(ctx, first, second)
	require.NoError(t, err)
	require.Equal(t, second, kept, "a renewal replaces")
	loaded, err := store.Load(ctx)
	require.NoError(t, err)
	require.Equal(t, second, loaded)

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
}

func TestProcessesThatStartTogetherShareThePairFile(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "tls.pem")
		var processes sync.WaitGroup
		begin := make(chan struct{})
		kept := make([]Pair, 8)
		for i := range kept {
			own := newPair(t)
			processes.Go(func() {
				<-begin
				kept[i], _ = NewFilePairStore(path).Save(t.Context(), Pair{}, own)
			})
		}
		close(begin)
		processes.Wait()
		stored, err := NewFilePairStore(path).Load(t.Context())
		require.NoError(t, err)
		for _, pair := range kept {
			require.Equal(t, stored, pair)
		}
	}
}
