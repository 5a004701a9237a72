package e2e

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	virtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

// document is a configuration file for namespaces cp1 and cp2.
func document(password string) string {
	return fmt.Sprintf(`
system_id_convention: enhanced
chassis:
  - {name: cp1, namespace: cp1, service_account: unused}
  - {name: cp2, namespace: cp2, service_account: unused, vm_selector: {labels: {exposed: "yes"}}}
authentication:
  users:
    - {username: operator1, password: %q, chassis: [cp1, cp2]}
`, password)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// cluster starts a simulated cluster with the odd fleet and writes its kubeconfig.
func cluster(t testing.TB) (server *sim.Server, kubeconfig string) {
	t.Helper()
	server, err := sim.Start(t.Context(), sim.Options{Fleet: OddFleet(t)})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	text, err := server.Kubeconfig()
	require.NoError(t, err)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	write(t, kubeconfig, string(text))
	return server, kubeconfig
}

// The configured password works and no well-known one does; a change of the file acts without a restart, also
// when it comes as the kubelet's exchange of a link; a bad file changes nothing.
func TestAccountsFollowTheConfigurationFile(t *testing.T) {
	_, kubeconfig := cluster(t)
	mount := t.TempDir()
	data := func(name, password string) {
		require.NoError(t, os.Mkdir(filepath.Join(mount, name), 0o700))
		write(t, filepath.Join(mount, name, "config.yaml"), document(password))
		require.NoError(t, os.Symlink(name, filepath.Join(mount, "..tmp")))
		require.NoError(t, os.Rename(filepath.Join(mount, "..tmp"), filepath.Join(mount, "..data")))
	}
	data("..first", "password-A")
	require.NoError(t, os.Symlink(filepath.Join("..data", "config.yaml"), filepath.Join(mount, "config.yaml")))
	p, e := Serving(t, []string{"CONFIG_PATH=" + filepath.Join(mount, "config.yaml")}, "--kubeconfig", kubeconfig)

	require.Equal(t, http.StatusOK, e.Status(t, "/Systems", "operator1", "password-A"))
	for user, password := range map[auth.UserName]string{"admin": "password", "root": "calvin", "operator1": "operator1", "Administrator": "admin"} {
		require.Equal(t, http.StatusUnauthorized, e.Status(t, "/Systems", user, password), user)
	}
	data("..second", "password-B")
	require.Eventually(t, func() bool { return e.Status(t, "/Systems", "operator1", "password-B") == http.StatusOK }, 30*time.Second, 100*time.Millisecond)
	require.Equal(t, http.StatusUnauthorized, e.Status(t, "/Systems", "operator1", "password-A"))

	require.NoError(t, os.Mkdir(filepath.Join(mount, "..third"), 0o700))
	write(t, filepath.Join(mount, "..third", "config.yaml"), "chassis: [")
	require.NoError(t, os.Symlink("..third", filepath.Join(mount, "..tmp")))
	require.NoError(t, os.Rename(filepath.Join(mount, "..tmp"), filepath.Join(mount, "..data")))
	require.Eventually(t, func() bool { return strings.Contains(p.Log.String(), "the configuration stays as it was") }, 30*time.Second, 50*time.Millisecond)
	require.Equal(t, http.StatusOK, e.Status(t, "/Systems", "operator1", "password-B"))
	require.NotContains(t, p.Log.String(), "password-", "no credential is logged")
	require.Equal(t, 0, p.Terminate(t))
}

// Without usable accounts nothing is served: the process ends with the reason, in one line.
func TestItFailsClosed(t *testing.T) {
	_, kubeconfig := cluster(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "config.yaml")
	cases := map[string]struct {
		text, says string
		code       int
	}{
		"no file":            {"", "config.yaml", 2},
		"no users":           {"chassis: [{name: a, namespace: a}]\nauthentication: {users: []}\n", "authentication.users", 2},
		"unknown chassis":    {strings.Replace(document("password-A"), "[cp1, cp2]", "[cp3]", 1), "cp3", 2},
		"slip in a user":     {strings.Replace(document("password-A"), "password:", "pasword:", 1), "pasword", 2},
		"slip in tls":        {document("password-A") + "server: {tls: {enable: false}}\n", "enable", 2},
		"missing key files":  {document("password-A") + "server: {tls: {enabled: true, cert_file: /absent/tls.crt, key_file: /absent/tls.key}}\n", "/absent/tls.crt", 1},
		"unknown convention": {strings.Replace(document("password-A"), "enhanced", "modern", 1), "system_id_convention", 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(path)
			if c.text != "" {
				write(t, path, c.text)
			}
			p := Run(t, nil, "serve", "--config", path, "--kubeconfig", kubeconfig, "--listen", freeAddress(t), "--metrics-listen", freeAddress(t))
			require.Equal(t, c.code, p.Exit(t), p.Log.String())
			require.Contains(t, p.Log.String(), c.says)
			require.Contains(t, p.Log.String(), "kubevirt-redfish: ")
			require.NotContains(t, p.Log.String(), "goroutine")
		})
	}
}

// A key that nobody knows is a warning that names the nearest known one; flags win over the environment, and that
// over the file.
func TestUnknownKeysWarnAndFlagsWin(t *testing.T) {
	_, kubeconfig := cluster(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, document("password-A")+"datavolume: {storage_clas: fast}\nserver: {port: 1}\n")
	env := []string{
		"KUBEVIRT_REDFISH_SERVER_PORT=2", "KUBEVIRT_REDFISH_SERVICE_HOST=10.0.0.1", "KUBEVIRT_REDFISH_PORT=tcp://10.0.0.1:8443", "LOG_LEVEL=info",
	}
	p, e := Serving(t, env, "--config", path, "--kubeconfig", kubeconfig)
	require.Equal(t, http.StatusOK, e.Status(t, "/Systems", "operator1", "password-A"))
	require.Contains(t, p.Log.String(), "storage_class")
}

// SIGTERM ends the process with code 0 after the running requests have been answered.
func TestTerminationFinishesRunningRequests(t *testing.T) {
	server, kubeconfig := cluster(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, document("password-A"))
	p, e := Serving(t, nil, "--config", path, "--kubeconfig", kubeconfig)
	require.Equal(t, http.StatusOK, e.Status(t, "/Systems", "operator1", "password-A"))
	server.Faults().Add(sim.Rule{Resource: "virtualmachines/start", Latency: 1500 * time.Millisecond})
	answered := make(chan int, 1)
	go func() {
		//nolint:testifylint // it only asserts that the request could be made
		status, _ := e.do(t, http.MethodPost, e.URL+"/redfish/v1/Systems/cp1.node-1/Actions/ComputerSystem.Reset", "operator1", "password-A", `{"ResetType":"On"}`)
		answered <- status
	}()
	require.Eventually(t, func() bool {
		_, text := e.get(t, e.Metrics+"/metrics", "", "")
		return strings.Contains(text, "kubevirt_redfish_http_requests_running 1")
	}, 5*time.Second, 10*time.Millisecond)
	require.Equal(t, 0, p.Terminate(t))
	require.Equal(t, http.StatusNoContent, <-answered)
}

// Whenever the process is killed, what it had accepted is carried out by the next one.
func TestNothingAcceptedIsLostWhenTheProcessIsKilled(t *testing.T) {
	server, kubeconfig := cluster(t)
	client := virtOf(t, server)
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, document("password-A"))
	args := []string{"--config", path, "--kubeconfig", kubeconfig}
	p, e := Serving(t, nil, args...)
	reset := func(how string) int {
		status, text := e.do(t, http.MethodPost, e.URL+"/redfish/v1/Systems/cp2.stubborn/Actions/ComputerSystem.Reset", "operator1", "password-A", `{"ResetType":"`+how+`"}`)
		require.Less(t, status, 300, text)
		return status
	}
	require.Equal(t, http.StatusNoContent, reset("GracefulShutdown"))
	require.Equal(t, http.StatusAccepted, reset("On"))
	before := vmiUID(t, client, "cp2", "stubborn")
	p.Kill()

	_, e = Serving(t, nil, args...)
	status, text := e.get(t, e.URL+"/redfish/v1/Systems/cp2.stubborn", "operator1", "password-A")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `"PowerState":"PoweringOn"`)
	grace := int64(0)
	require.NoError(t, client.KubevirtV1().VirtualMachines("cp2").Stop(t.Context(), "stubborn", &virtv1.StopOptions{GracePeriod: &grace}))
	require.Eventually(t, func() bool {
		_, text := e.get(t, e.URL+"/redfish/v1/Systems/cp2.stubborn", "operator1", "password-A")
		return strings.Contains(text, `"PowerState":"On"`)
	}, 20*time.Second, 20*time.Millisecond)
	require.NotEqual(t, before, vmiUID(t, client, "cp2", "stubborn"))
}

// A client that does not get on with its request holds the end up for a bounded time and makes no failure of it.
func TestTerminationCutsOffAStuckClient(t *testing.T) {
	t.Parallel()
	_, kubeconfig := cluster(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, document("password-A"))
	p, e := Serving(t, nil, "--config", path, "--kubeconfig", kubeconfig)
	connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", strings.TrimPrefix(e.URL, "https://"))
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL+"/redfish/v1/Systems/cp1.node-1/Actions/ComputerSystem.Reset", nil)
	require.NoError(t, err)
	r.SetBasicAuth("operator1", "password-A")
	_, err = fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: bmc\r\nAuthorization: %s\r\nContent-Length: 50\r\n\r\n{", r.URL.Path, r.Header.Get("Authorization"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, text := e.get(t, e.Metrics+"/metrics", "", "")
		return strings.Contains(text, "kubevirt_redfish_http_requests_running 1")
	}, 5*time.Second, 10*time.Millisecond)
	require.Equal(t, 0, p.Terminate(t))
	require.Contains(t, p.Log.String(), "cut off")
}

// The simulation greets with all that a newcomer needs, and its certificate stays over restarts.
func TestTheSimulationGreets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	write(t, file, "open sesame\n")
	p, e := Serving(t, nil, "--simulate", "--admin-password-file", file)
	require.Equal(t, http.StatusOK, e.Status(t, "/Systems/cp1.node-0", "admin", "open sesame"))
	for _, text := range []string{e.URL + "/redfish/v1/", "cp1.node-0", "cp1.node-1", "cp1.node-2", "admin", "curl"} {
		require.Contains(t, p.Out.String(), text)
	}
	require.Equal(t, 0, p.Terminate(t))
}
