package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Users of the product: one sees every machine, the other one of a hundred.
const (
	userAll  = "all"
	userFew  = "few"
	password = "correct horse battery staple"
)

// product is the real program, as it is shipped, with its log going to a file.
type product struct {
	*process
	address, metrics string
	client           *http.Client
}

// buildFolder is where the program was built; empty when it was not.
var buildFolder string

// binary builds the program once, with the flags of the Makefile.
var binary = sync.OnceValues(func() (path string, err error) {
	if buildFolder, err = os.MkdirTemp("", "kubevirt-redfish-bench"); err != nil {
		return "", err
	}
	path = filepath.Join(buildFolder, "kubevirt-redfish")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "../../cmd/kubevirt-redfish")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w: %s", err, text)
	}
	return path, nil
})

// startProduct starts the program with these flags. It does not wait until it is ready.
func startProduct(b *testing.B, flags ...string) *product {
	b.Helper()
	path, err := binary()
	require.NoError(b, err)
	p := &product{address: freeAddress(b), metrics: freeAddress(b)}
	log, err := os.Create(filepath.Join(b.TempDir(), "log"))
	require.NoError(b, err)
	defer func() { _ = log.Close() }()
	cmd := exec.Command(path, append([]string{"serve", "--listen", p.address, "--metrics-listen", p.metrics}, flags...)...)
	cmd.Stderr = log
	p.process = start(b, cmd)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	b.Cleanup(transport.CloseIdleConnections)
	p.client = &http.Client{Transport: transport}
	return p
}

// freeAddress is an address on which nothing listens.
func freeAddress(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

const (
	// startTimeout bounds a start on a busy machine.
	startTimeout = 2 * time.Minute
	// pollInterval is how exactly a start is timed.
	pollInterval = 5 * time.Millisecond
)

// waitReady waits until the program has read all machines.
func (p *product) waitReady(b *testing.B) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), startTimeout)
	defer cancel()
	ask := time.NewTicker(pollInterval)
	defer ask.Stop()
	for range ask.C {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.metrics+"/readyz", nil)
		require.NoError(b, err)
		response, err := p.client.Do(r)
		require.NoError(b, ctx.Err(), "the program does not become ready")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
	}
}

// do makes a request as the user who sees all, and returns the status and the body.
func (p *product) do(b *testing.B, method, path, user, body string) (int, []byte) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, "https://"+p.address+path, strings.NewReader(body))
	require.NoError(b, err)
	r.SetBasicAuth(user, password)
	r.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(r)
	require.NoError(b, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	return response.StatusCode, text
}

// configure writes a configuration: a chassis for each namespace with all its machines, and one with those of
// the user who sees few.
func configure(b *testing.B, namespaces []string, pair keyPair) (path string) {
	b.Helper()
	var chassis []map[string]any
	var few []string
	for _, namespace := range namespaces {
		chassis = append(chassis,
			map[string]any{"name": namespace, "namespace": namespace},
			map[string]any{"name": "few-" + namespace, "namespace": namespace, "vm_selector": map[string]any{"labels": map[string]string{"share": "0"}}})
		few = append(few, "few-"+namespace)
	}
	text, err := yaml.Marshal(map[string]any{
		"server":               map[string]any{"host": "127.0.0.1", "tls": map[string]any{"enabled": true, "cert_file": pair.certificate, "key_file": pair.key}},
		"system_id_convention": "enhanced",
		"chassis":              chassis,
		"authentication": map[string]any{"users": []map[string]any{
			{"username": userAll, "password": password, "chassis": []string{"*"}},
			{"username": userFew, "password": password, "chassis": few},
		}},
	})
	require.NoError(b, err)
	path = filepath.Join(b.TempDir(), "config.yaml")
	require.NoError(b, os.WriteFile(path, text, 0o600))
	return path
}

// keyPair is the files of a certificate and its key.
type keyPair struct{ certificate, key string }

// newKeyPair makes one of the kind that the program generates: ECDSA on P-256.
func newKeyPair(b *testing.B) keyPair {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(b, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(b, err)
	folder := b.TempDir()
	write := func(name, kind string, text []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(b, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text}), 0o600))
		return path
	}
	return keyPair{write("tls.crt", "CERTIFICATE", certificate), write("tls.key", "PRIVATE KEY", private)}
}
