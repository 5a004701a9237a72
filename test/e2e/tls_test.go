package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keyPair is a self-signed pair for the name, in PEM.
func keyPair(t testing.TB, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// shown is the name on the certificate that new connections get.
func (e Endpoint) shown(t testing.TB) string {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(e.URL, "https://"))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
}

// A replaced key pair is used by new connections; half a pair and garbage leave the last good one; open
// connections live on.
func TestAReplacedKeyPairIsUsedWithoutARestart(t *testing.T) {
	_, kubeconfig := cluster(t)
	folder := t.TempDir()
	certFile, keyFile, config := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"), filepath.Join(folder, "config.yaml")
	certificate, key := keyPair(t, "first")
	write(t, certFile, certificate)
	write(t, keyFile, key)
	write(t, config, document("password-A")+"server: {tls: {enabled: true, cert_file: "+certFile+", key_file: "+keyFile+"}}\n")
	p, e := Serving(t, nil, "--config", config, "--kubeconfig", kubeconfig)
	require.Equal(t, "first", e.shown(t))
	open := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	read := func() string {
		response, err := open.Get(e.URL + "/redfish/v1/")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, response.Body) // or the connection is not used again
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.TLS.PeerCertificates[0].Subject.CommonName
	}
	require.Equal(t, "first", read())

	certificate, key = keyPair(t, "second")
	write(t, certFile, certificate)
	require.Eventually(t, func() bool { return strings.Contains(p.Log.String(), "the TLS certificate stays as it was") }, 20*time.Second, 50*time.Millisecond, "half a pair")
	require.Equal(t, "first", e.shown(t))
	write(t, keyFile, key)
	require.Eventually(t, func() bool { return e.shown(t) == "second" }, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, "first", read(), "an open connection lives on")

	write(t, certFile, "garbage")
	require.Eventually(t, func() bool {
		_, text := e.get(t, e.Metrics+"/metrics", "", "")
		return strings.Contains(text, `kubevirt_redfish_certificate_reloads_total{result="refused"} 2`)
	}, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, "second", e.shown(t))
}

// Without given files a pair is generated, and the next process shows the same one.
func TestAGeneratedKeyPairIsKept(t *testing.T) {
	home := t.TempDir()
	peer := func() []byte {
		p, e := Serving(t, []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}, "--simulate")
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(e.URL, "https://"))
		require.NoError(t, err)
		certificate := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
		require.NoError(t, conn.Close())
		require.Equal(t, x509.ECDSA, certificate.PublicKeyAlgorithm)
		require.NoError(t, certificate.VerifyHostname("localhost"))
		require.NoError(t, certificate.VerifyHostname("::1"))
		require.Equal(t, 0, p.Terminate(t))
		return certificate.Raw
	}
	first := peer()
	require.Equal(t, first, peer())
}

// It serves on IPv6, and on both families where no address is given; nothing in an answer names an address.
func TestItServesOnBothFamilies(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6 loopback")
	}
	require.NoError(t, listener.Close())
	file := filepath.Join(t.TempDir(), "password")
	write(t, file, "open sesame")
	_, port, err := net.SplitHostPort(freeAddress(t))
	require.NoError(t, err)
	metrics := freeAddress(t)
	Run(t, nil, "serve", "--simulate", "--admin-password-file", file, "--listen", "0.0.0.0:"+port, "--metrics-listen", metrics)
	Endpoint{Metrics: "http://" + metrics}.waitReady(t)
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		e := Endpoint{URL: "https://" + host + ":" + port}
		status, text := e.get(t, e.URL+"/redfish/v1/Systems", "admin", "open sesame")
		require.Equal(t, http.StatusOK, status)
		require.NotContains(t, text, host)
	}
}

// With TLS off it speaks plain HTTP, for a route that ends TLS.
func TestItServesPlainHTTPWhenToldTo(t *testing.T) {
	_, kubeconfig := cluster(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, document("password-A")+"server: {tls: {enabled: \"False\"}}\n")
	_, e := Serving(t, nil, "--config", path, "--kubeconfig", kubeconfig)
	e.URL = strings.Replace(e.URL, "https://", "http://", 1)
	require.Equal(t, http.StatusOK, e.Status(t, "/Systems", "operator1", "password-A"))
}
