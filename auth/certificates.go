package auth

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

const (
	// filesInterval is how often given files are read. Reading them finds every way of replacing them: the kubelet's
	// exchange of a link, an editor, a network file system; notifications differ between these.
	filesInterval = 2 * time.Second
	// storeInterval is how often a kept pair is read, which may be a call of the API server.
	storeInterval = time.Minute
)

// Pair is a certificate chain and its private key, both in PEM.
type Pair struct{ Certificate, Key []byte }

// Equal reports whether both have the same bytes.
func (p Pair) Equal(other Pair) bool {
	return bytes.Equal(p.Certificate, other.Certificate) && bytes.Equal(p.Key, other.Key)
}

// CertificateOptions of [Certificates].
type CertificateOptions struct {
	// Now is the clock; default time.Now.
	Now func() time.Time
	// OnReload, if set, is called by Run: with nil when a new pair is in use, with an error when there is a new one that
	// cannot be used and the last good one stays. A failure is reported when it begins, not while it lasts.
	OnReload func(error)
}

// Certificates is the TLS certificate of the service. It is replaced while the service runs; open connections live on
// with the one they began with.
type Certificates struct {
	current  atomic.Pointer[tls.Certificate]
	load     func(context.Context) (Pair, error)
	interval time.Duration
	onReload func(error)

	// Both are used by Run alone once the Certificates are made.
	pair    Pair
	failure string
}

// FileCertificates serves the pair in the files and follows their changes. It fails when there is no usable pair now.
func FileCertificates(ctx context.Context, certFile, keyFile string, o CertificateOptions) (*Certificates, error) {
	load := func(context.Context) (Pair, error) { return readPair(certFile, keyFile) }
	return newCertificates(ctx, load, filesInterval, o)
}

func readPair(certFile, keyFile string) (Pair, error) {
	certificate, err := os.ReadFile(certFile) //nolint:gosec // the path is from the configuration
	if err != nil {
		return Pair{}, fmt.Errorf("read the certificate: %w", err)
	}
	key, err := os.ReadFile(keyFile) //nolint:gosec // the path is from the configuration
	if err != nil {
		return Pair{}, fmt.Errorf("read the private key: %w", err)
	}
	return Pair{Certificate: certificate, Key: key}, nil
}

func newCertificates(
	ctx context.Context, load func(context.Context) (Pair, error), interval time.Duration, o CertificateOptions,
) (*Certificates, error) {
	if o.OnReload == nil {
		o.OnReload = func(error) {}
	}
	c := &Certificates{load: load, interval: interval, onReload: o.OnReload}
	if _, err := c.refresh(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// refresh takes over the pair that load finds and reports whether it is another one. On an error the current one
// stays.
func (c *Certificates) refresh(ctx context.Context) (bool, error) {
	pair, err := c.load(ctx)
	if err != nil {
		return false, err
	}
	if c.current.Load() != nil && pair.Equal(c.pair) {
		return false, nil
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return false, fmt.Errorf("use the key pair: %w", err)
	}
	c.current.Store(&certificate)
	c.pair = pair
	return true, nil
}

// Run follows changes until ctx ends.
func (c *Certificates) Run(ctx context.Context) {
	ticker := time.NewTicker(c.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		changed, err := c.refresh(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			c.failure = ""
			if changed {
				c.onReload(nil)
			}
		case err.Error() != c.failure:
			c.failure = err.Error()
			c.onReload(err)
		}
	}
}

// GetCertificate is for [tls.Config]; it is the same certificate for every client.
func (c *Certificates) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// TLSConfig is the configuration of the listener: TLS 1.2 or newer, HTTP/2 offered.
func (c *Certificates) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: c.GetCertificate,
	}
}
