package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkCalls counts the requests to the API server that the program itself reports: none for a read, one for
// a reset, none for a reset to the state that is reached already.
func BenchmarkCalls(b *testing.B) {
	const (
		user    = "admin" // the one of a simulation without a configuration
		machine = "/redfish/v1/Systems/cp1.node-1"
		// atStart is a list and a watch of each of the three kinds in the only namespace.
		atStart = 6
	)
	secret := filepath.Join(b.TempDir(), "password")
	require.NoError(b, os.WriteFile(secret, []byte(password), 0o600))
	p := startProduct(b, "--simulate", "--admin-password-file", secret)
	p.waitReady(b)
	require.Eventually(b, func() bool { return p.calls(b) == atStart }, startTimeout, pollInterval)
	during := func(do func()) int {
		before := p.calls(b)
		do()
		return p.calls(b) - before
	}
	exactly(b, "API calls of 100 reads", 0, during(func() {
		for range 100 {
			status, _ := p.do(b, http.MethodGet, machine, user, "")
			require.Equal(b, http.StatusOK, status)
		}
	}))
	for _, reset := range []struct {
		how, reaches string
		calls        int
	}{{"ForceOff", "Off", 0}, {"On", "On", 1}, {"On", "On", 0}, {"ForceRestart", "On", 1}, {"GracefulShutdown", "Off", 1}} {
		exactly(b, "API calls of "+reset.how, reset.calls, during(func() {
			status, body := p.do(b, http.MethodPost, machine+"/Actions/ComputerSystem.Reset", user, `{"ResetType":"`+reset.how+`"}`)
			require.Equal(b, http.StatusNoContent, status, string(body))
		}))
		require.Eventually(b, func() bool {
			var system struct{ PowerState string }
			_, body := p.do(b, http.MethodGet, machine, user, "")
			require.NoError(b, json.Unmarshal(body, &system))
			return system.PowerState == reset.reaches
		}, time.Minute, pollInterval)
	}
	b.ReportMetric(0, "ns/op")
}

// calls is how many requests to the API server the program has made.
func (p *product) calls(b *testing.B) int {
	b.Helper()
	response, err := p.client.Get("http://" + p.metrics + "/metrics")
	require.NoError(b, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	var sum int
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "kubevirt_redfish_api_requests_total{") {
			fields := strings.Fields(lines.Text())
			n, err := strconv.Atoi(fields[len(fields)-1])
			require.NoError(b, err)
			sum += n
		}
	}
	return sum
}
