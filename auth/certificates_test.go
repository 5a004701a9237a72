package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func newPair(t *testing.T) Pair {
	pair, err := generatePair(testNames, time.Now())
	require.NoError(t, err)
	return pair
}

func served(t *testing.T, c *Certificates) *x509.Certificate {
	certificate, err := c.GetCertificate(nil)
	require.NoError(t, err)
	return certificate.Leaf
}

func leafOf(t *testing.T, p Pair) *x509.Certificate {
	parsed, err := tls.X509KeyPair(p.Certificate, p.Key)
	require.NoError(t, err)
	return parsed.Leaf
}

// running starts Run in fake time; settle waits until a change has been noticed and returns what was reported.
func running(t *testing.T, start func(CertificateOptions) *Certificates, steps func(c *Certificates, settle func() []error)) {
	synctest.Test(t, func(t *testing.T) {
		reported := make(chan error, 16)
		c := start(CertificateOptions{OnReload: func(err error) { reported <- err }})
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { c.Run(ctx) })
		steps(c, func() []error {
			time.Sleep(c.interval + time.Millisecond)
			synctest.Wait()
			var errs []error
			for len(reported) > 0 {
				errs = append(errs, <-reported)
			}
			return errs
		})
		cancel()
		run.Wait()
	})
}

func TestFilesAreFollowedAndBrokenOnesIgnored(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func(certificate, key []byte) {
		require.NoError(t, os.WriteFile(certFile, certificate, 0o600))
		require.NoError(t, os.WriteFile(keyFile, key, 0o600))
	}
	first, second := newPair(t), newPair(t)
	write(first.Certificate, first.Key)
	running(t, func(o CertificateOptions) *Certificates {
		c, err := FileCertificates(t.Context(), certFile, keyFile, o)
		require.NoError(t, err)
		return c
	}, func(c *Certificates, settle func() []error) {
		require.Empty(t, settle())
		require.Equal(t, leafOf(t, first), served(t, c))

		broken := map[string]func(){
			"new certificate, old key": func() { write(second.Certificate, first.Key) },
			"garbage":                  func() { write([]byte("garbage"), []byte("garbage")) },
			"empty key":                func() { write(second.Certificate, nil) },
			"missing":                  func() { require.NoError(t, os.Remove(keyFile)) },
		}
		for name, breakPair := range broken {
			breakPair()
			errs := settle()
			require.Len(t, errs, 1, name)
			require.Error(t, errs[0], name)
			require.Empty(t, settle(), "%s: reported once", name)
			require.Equal(t, leafOf(t, first), served(t, c), name)
			write(first.Certificate, first.Key)
			require.Empty(t, settle(), "%s: the old pair again is no change", name)
		}

		write(second.Certificate, second.Key)
		require.Equal(t, []error{nil}, settle())
		require.Equal(t, leafOf(t, second), served(t, c))
	})
}

func TestSymlinkSwapOfTheKubeletIsFollowed(t *testing.T) {
	dir := t.TempDir()
	publish := func(version string, p Pair) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, version, "tls.crt"), p.Certificate, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, version, "tls.key"), p.Key, 0o600))
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	}
	first, second := newPair(t), newPair(t)
	publish("..v1", first)
	for _, name := range []string{"tls.crt", "tls.key"} {
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	running(t, func(o CertificateOptions) *Certificates {
		c, err := FileCertificates(t.Context(), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), o)
		require.NoError(t, err)
		return c
	}, func(c *Certificates, settle func() []error) {
		publish("..v2", second)
		require.Equal(t, []error{nil}, settle())
		require.Equal(t, leafOf(t, second), served(t, c))
	})
}

func TestMissingFilesAtStartAreAnError(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "tls.crt")
	_, err := FileCertificates(t.Context(), missing, missing, CertificateOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "read the certificate")
}

func TestNewConnectionsGetTheNewCertificateAndOldOnesLiveOn(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			store := &memoryStore{}
			c, err := GeneratedCertificates(t.Context(), store, testNames, CertificateOptions{})
			require.NoError(t, err)
			url := serveTLS(t, c.TLSConfig(), host)
			old := clientTrusting(t, served(t, c))
			before := fetch(t, old, url)

			pair := newPair(t)
			store.pair = &pair
			changed, err := c.refresh(t.Context())
			require.NoError(t, err)
			require.True(t, changed)
			require.True(t, before.Equal(fetch(t, old, url)), "the open connection goes on")
			require.True(t, leafOf(t, pair).Equal(fetch(t, clientTrusting(t, served(t, c)), url)))
		})
	}
}

// serveTLS answers 200 to everything at the URL that it returns.
func serveTLS(t *testing.T, config *tls.Config, host string) string {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	require.NoError(t, err)
	server := &http.Server{
		TLSConfig:         config,
		ReadHeaderTimeout: time.Minute,
		Handler:           http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	}
	var serve sync.WaitGroup
	serve.Go(func() { _ = server.ServeTLS(listener, "", "") })
	t.Cleanup(func() { require.NoError(t, server.Close()); serve.Wait() })
	return "https://" + listener.Addr().String()
}

// clientTrusting verifies names and addresses, and trusts nothing but the certificate.
func clientTrusting(t *testing.T, certificate *x509.Certificate) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// fetch is the certificate of the connection that a request was made on.
func fetch(t *testing.T, client *http.Client, url string) *x509.Certificate {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 2, response.ProtoMajor)
	return response.TLS.PeerCertificates[0]
}

func TestOldTLSVersionsAreRefused(t *testing.T) {
	c, err := GeneratedCertificates(t.Context(), &memoryStore{}, testNames, CertificateOptions{})
	require.NoError(t, err)
	for version, accepted := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		left, right := net.Pipe()
		var server sync.WaitGroup
		server.Go(func() {
			_ = tls.Server(left, c.TLSConfig()).HandshakeContext(t.Context())
			_ = left.Close()
		})
		client := tls.Client(right, &tls.Config{
			InsecureSkipVerify: true, // only the version is of interest
			MinVersion:         tls.VersionTLS10,
			MaxVersion:         version,
		})
		err := client.HandshakeContext(t.Context())
		require.Equal(t, accepted, err == nil, "%x: %v", version, err)
		_ = right.Close()
		server.Wait()
	}
}
