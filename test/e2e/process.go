package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// binary builds the program once for the test process.
var binary = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "kubevirt-redfish-e2e")
	if err != nil {
		return "", err //nolint:wrapcheck // a test looks at it
	}
	path := filepath.Join(folder, "kubevirt-redfish")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", path, "github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, text)
	}
	return path, nil
})

// Process is the program as its own process.
type Process struct {
	// Log is its standard error, Out its standard output.
	Log, Out *Log
	command  *exec.Cmd
	ended    chan struct{}
}

// Run starts the program; it is killed when the test ends. Nothing of this process's environment but what every
// program needs reaches it, and env is added.
func Run(t testing.TB, env []string, args ...string) *Process {
	t.Helper()
	path, err := binary()
	require.NoError(t, err)
	p := &Process{Log: &Log{}, Out: &Log{}, ended: make(chan struct{})}
	p.command = exec.CommandContext(context.WithoutCancel(t.Context()), path, args...)
	p.command.Dir = t.TempDir()
	p.command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.command.Dir}, env...)
	p.command.Stdout, p.command.Stderr = p.Out, p.Log
	require.NoError(t, p.command.Start())
	go func() { defer close(p.ended); _ = p.command.Wait() }()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("standard error of %v:\n%s", args, p.Log)
		}
	})
	return p
}

// Kill ends the process as a power cut would.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// Terminate asks the process to end and returns its exit code.
func (p *Process) Terminate(t testing.TB) int {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGTERM))
	return p.Exit(t)
}

// Exit waits for the end of the process and returns its exit code.
func (p *Process) Exit(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		require.Fail(t, "the process does not end")
	}
	return p.command.ProcessState.ExitCode()
}

// freeAddress is a loopback address that nobody listens on at the moment.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

// insecure does not verify certificates, as the clients of most hardware controllers.
var insecure = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
}}

// Endpoint is a running program as its clients reach it.
type Endpoint struct{ URL, Metrics string }

// Serving starts `kubevirt-redfish serve` and waits until it is ready.
func Serving(t testing.TB, env []string, args ...string) (*Process, Endpoint) {
	t.Helper()
	at, metrics := freeAddress(t), freeAddress(t)
	p := Run(t, env, append([]string{"serve", "--listen", at, "--metrics-listen", metrics}, args...)...)
	e := Endpoint{URL: "https://" + at, Metrics: "http://" + metrics}
	e.waitReady(t)
	return p, e
}

func (e Endpoint) waitReady(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool { status, _ := e.get(t, e.Metrics+"/readyz", "", ""); return status == http.StatusOK },
		30*time.Second, 20*time.Millisecond, "the program does not become ready")
}

// get returns the status (0 without an answer) and body of a GET with Basic authentication.
func (e Endpoint) get(t testing.TB, url string, user auth.UserName, password string) (int, string) {
	t.Helper()
	return e.do(t, http.MethodGet, url, user, password, "")
}

func (e Endpoint) do(t testing.TB, method, url string, user auth.UserName, password, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body))
	require.NoError(t, err)
	if user != "" {
		r.SetBasicAuth(string(user), password)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := insecure.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// Status is the status of a GET below the Redfish root.
func (e Endpoint) Status(t testing.TB, path string, user auth.UserName, password string) int {
	t.Helper()
	status, _ := e.get(t, e.URL+"/redfish/v1"+path, user, password)
	return status
}
