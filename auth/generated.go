package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const (
	// generatedLife is that of the certificates in hardware controllers: clients pin a self-signed certificate, and a
	// renewal behind their backs would lock them out.
	generatedLife = 10 * 365 * 24 * time.Hour
	// renewBefore is what must be left of the life; below, a new pair is made.
	renewBefore = 30 * 24 * time.Hour
	// generatedBy marks the pairs made here: no others are ever replaced.
	generatedBy = "kubevirt-redfish"
)

// ErrNoPair says that a store is empty.
var ErrNoPair = errors.New("no key pair is stored")

// PairStore keeps the generated pair, so that all replicas and restarts use the same one.
type PairStore interface {
	// Load returns ErrNoPair when none is stored.
	Load(context.Context) (Pair, error)
	// Save stores pair if what is stored is still old; a zero old stands for nothing stored. It returns what is stored
	// afterwards, which is another replica's pair when that was first.
	Save(ctx context.Context, old, pair Pair) (Pair, error)
}

// Names are what a generated certificate is valid for. They count when the pair is made; one that is stored stays
// as it is. To have a new one made, remove it from its store.
type Names struct {
	DNS []string
	IPs []netip.Addr
}

// GeneratedCertificates serves the pair in the store, and makes one (self-signed, ECDSA P-256, ten years) when there
// is none or when it ends within 30 days. A pair in the store that was not made here is served and never replaced.
func GeneratedCertificates(ctx context.Context, store PairStore, names Names, o CertificateOptions) (*Certificates, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	g := &generator{store: store, names: names, now: o.Now}
	return newCertificates(ctx, g.load, storeInterval, o)
}

type generator struct {
	store PairStore
	names Names
	now   func() time.Time
}

func (g *generator) load(ctx context.Context) (Pair, error) {
	stored, err := g.store.Load(ctx)
	if err != nil && !errors.Is(err, ErrNoPair) {
		return Pair{}, fmt.Errorf("load the generated key pair: %w", err)
	}
	if err == nil && !g.mustRenew(stored) {
		return stored, nil
	}
	pair, err := generatePair(g.names, g.now())
	if err != nil {
		return Pair{}, err
	}
	kept, err := g.store.Save(ctx, stored, pair)
	if err != nil {
		return Pair{}, fmt.Errorf("save the generated key pair: %w", err)
	}
	return kept, nil
}

// mustRenew is false for what cannot be read: whoever put it there learns of it by the error.
func (g *generator) mustRenew(p Pair) bool {
	parsed, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return false
	}
	leaf := parsed.Leaf
	ours := bytes.Equal(leaf.RawIssuer, leaf.RawSubject) &&
		len(leaf.Subject.Organization) == 1 && leaf.Subject.Organization[0] == generatedBy
	return ours && g.now().Add(renewBefore).After(leaf.NotAfter)
}

// generatePair reads crypto/rand whatever the tests inject elsewhere: a key from another source is never wanted.
func generatePair(names Names, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generate a private key: %w", err)
	}
	template, err := certificateTemplate(names, now, &key.PublicKey)
	if err != nil {
		return Pair{}, err
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return Pair{}, fmt.Errorf("generate a certificate: %w", err)
	}
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode the private key: %w", err)
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encodedKey}),
	}, nil
}

func certificateTemplate(names Names, now time.Time, key *ecdsa.PublicKey) (*x509.Certificate, error) {
	if len(names.DNS)+len(names.IPs) == 0 {
		return nil, errors.New("generate a certificate: no names are given")
	}
	public, err := key.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode the public key: %w", err)
	}
	id := sha256.Sum256(public)
	addresses := make([]net.IP, len(names.IPs))
	for i, address := range names.IPs {
		addresses[i] = net.IP(address.Unmap().WithZone("").AsSlice())
	}
	return &x509.Certificate{
		Subject:     pkix.Name{Organization: []string{generatedBy}, CommonName: generatedBy},
		NotBefore:   now.Add(-time.Hour), // for clients whose clock is behind
		NotAfter:    now.Add(generatedLife),
		DNSNames:    names.DNS,
		IPAddresses: addresses,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// Strict clients ask for both, though the certificate signs nothing but itself.
		BasicConstraintsValid: true,
		SubjectKeyId:          id[:20],
	}, nil
}
