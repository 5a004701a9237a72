package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stmcginnis/gofish"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// Password is that of every user of a [Product].
const Password = "correct horse"

// Product is the backend and the Redfish service in process, serving the machines of a cluster over TLS.
type Product struct {
	URL     string
	Backend *kubevirt.Backend
	Metrics *prometheus.Registry
	// Calls counts the requests to the cluster.
	Calls atomic.Int64
	// Log is everything that was logged.
	Log   *Log
	http  *http.Client
	users []auth.Account
	stop  func()
}

// Config of a [Product].
type Config struct {
	Cluster    *rest.Config
	Chassis    []auth.Chassis
	Users      []auth.Account
	Convention kubevirt.Convention
	// Unready returns before the machines are known.
	Unready bool
}

// Start runs a product until the test ends.
func Start(t testing.TB, c Config) *Product {
	t.Helper()
	p := &Product{Metrics: prometheus.NewRegistry(), Log: &Log{}, users: c.Users}
	logger := slog.New(slog.NewJSONHandler(p.Log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	cluster := rest.CopyConfig(c.Cluster)
	cluster.Wrap(p.count)
	var err error
	p.Backend, err = kubevirt.New(kubevirt.Options{
		Config: cluster, Exposure: auth.NewExposure(c.Chassis), Convention: c.Convention, Logger: logger, Metrics: p.Metrics,
	})
	require.NoError(t, err)
	authenticator, err := auth.NewAuthenticator(auth.Options{})
	require.NoError(t, err)
	directory, err := auth.NewDirectory(c.Users...)
	require.NoError(t, err)
	authenticator.SetDirectory(directory)
	service := redfish.New(redfish.Options{
		Backend: p.Backend, Authenticator: authenticator, Logger: logger, Metrics: p.Metrics,
		UUID: "5f0c6d42-3b7e-4d29-9d7e-0f5a4a0a3f11", Version: "test", Host: redfish.Host{Name: "bmc.example.test", Addresses: []string{"192.0.2.1"}, Port: 8443, TLS: true},
	})
	server := httptest.NewTLSServer(service)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); p.Backend.Run(ctx) }()
	p.URL, p.http = server.URL, server.Client()
	p.stop = func() { server.Close(); cancel(); <-done }
	t.Cleanup(func() { p.Stop() })
	if !c.Unready {
		require.Eventually(t, p.Backend.Ready, 20*time.Second, 5*time.Millisecond, "the machines were not read")
	}
	return p
}

// Stop ends the product before the test does.
func (p *Product) Stop() {
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

func (p *Product) count(next http.RoundTripper) http.RoundTripper {
	return counted{next, &p.Calls}
}

type counted struct {
	next  http.RoundTripper
	calls *atomic.Int64
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	return c.next.RoundTrip(r) //nolint:wrapcheck // a transport passes errors on as they are
}

// Gofish connects as a user with Basic authentication.
func (p *Product) Gofish(t testing.TB, user auth.UserName) *gofish.APIClient {
	t.Helper()
	client, err := gofish.ConnectContext(t.Context(), gofish.ClientConfig{
		Endpoint: p.URL, Username: string(user), Password: Password, BasicAuth: true, HTTPClient: p.http,
	})
	require.NoError(t, err)
	return client
}

// Client is the HTTP client that trusts the product.
func (p *Product) Client() *http.Client { return p.http }

// Answer is what the product answered.
type Answer struct {
	Status int
	Header http.Header
	Body   map[string]any
	Text   string
}

// Do sends a request as the user; body is sent as JSON unless it is nil.
func (p *Product) Do(t testing.TB, user auth.UserName, method, path string, body any) Answer {
	t.Helper()
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		reader = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, reader)
	require.NoError(t, err)
	r.SetBasicAuth(string(user), Password)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := p.http.Do(r)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	a := Answer{Status: response.StatusCode, Header: response.Header, Text: string(text)}
	if len(text) > 0 && response.Header.Get("Content-Type") == "application/json" {
		require.NoError(t, json.Unmarshal(text, &a.Body))
	}
	return a
}

// Get reads a resource that must be there.
func (p *Product) Get(t testing.TB, user auth.UserName, path string) map[string]any {
	t.Helper()
	a := p.Do(t, user, http.MethodGet, path, nil)
	require.Equal(t, http.StatusOK, a.Status, "GET %s: %s", path, a.Text)
	return a.Body
}

// Power is the PowerState of a system.
func (p *Product) Power(t testing.TB, user auth.UserName, id string) string {
	t.Helper()
	state, _ := p.Get(t, user, "/redfish/v1/Systems/"+id)["PowerState"].(string)
	return state
}

// Reset posts ComputerSystem.Reset.
func (p *Product) Reset(t testing.TB, user auth.UserName, id, how string) Answer {
	t.Helper()
	began := time.Now()
	answer := p.Do(t, user, http.MethodPost, "/redfish/v1/Systems/"+id+"/Actions/ComputerSystem.Reset", map[string]string{"ResetType": how})
	require.Less(t, time.Since(began), noticed, "%s of %s: the answer waits for an effect that never shows", how, id)
	return answer
}

// noticed is a little less than the longest time that an answer waits for its effect to show.
const noticed = 1900 * time.Millisecond

// Quiet waits until the product has made the calls that its start takes.
func (p *Product) Quiet(t testing.TB) {
	t.Helper()
	last, since := p.Calls.Load(), time.Now()
	require.Eventually(t, func() bool {
		if now := p.Calls.Load(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 200*time.Millisecond
	}, 10*time.Second, 10*time.Millisecond)
}

// WaitPower waits until the machine shows the power state.
func (p *Product) WaitPower(t testing.TB, user auth.UserName, id, state string) {
	t.Helper()
	require.Eventually(t, func() bool { return p.Power(t, user, id) == state }, 60*time.Second, 10*time.Millisecond, "%s does not become %s", id, state)
}
