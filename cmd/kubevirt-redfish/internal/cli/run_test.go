package cli

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/config"
)

// outcome is all that a run leaves behind.
type outcome struct {
	code     int
	out, err string
	serve    *ServeOptions
	simulate *SimulateOptions
}

func run(t *testing.T, stdin string, fail error, args ...string) outcome {
	var o outcome
	var out, errOut bytes.Buffer
	o.code = Run(t.Context(), args, Streams{In: strings.NewReader(stdin), Out: &out, Err: &errOut}, Commands{
		Serve:    func(_ context.Context, options ServeOptions) error { o.serve = &options; return fail },
		Simulate: func(_ context.Context, options SimulateOptions) error { o.simulate = &options; return fail },
	})
	o.out, o.err = out.String(), errOut.String()
	return o
}

func TestFlagsReachTheCommands(t *testing.T) {
	tests := map[string]struct {
		args     []string
		serve    *ServeOptions
		simulate *SimulateOptions
	}{
		"nothing means serve":       {nil, &ServeOptions{}, nil},
		"serve":                     {[]string{"serve"}, &ServeOptions{}, nil},
		"flags without the command": {[]string{"--config", "a", "--listen=:1"}, &ServeOptions{Config: "a", Listen: ":1"}, nil},
		"old style":                 {[]string{"-config", "/app/config/config.yaml"}, &ServeOptions{Config: "/app/config/config.yaml"}, nil},
		"old style with =":          {[]string{"-config=a", "-kubeconfig=b"}, &ServeOptions{Config: "a", Kubeconfig: "b"}, nil},
		"old style after serve":     {[]string{"serve", "-kubeconfig", "b"}, &ServeOptions{Kubeconfig: "b"}, nil},
		"all of serve": {
			[]string{"serve", "--config=a", "--listen=:1", "--metrics-listen=:2", "--simulate=f.yaml", "--admin-password-file=p"},
			&ServeOptions{Config: "a", Listen: ":1", MetricsListen: ":2", Simulate: true, Fleet: "f.yaml", AdminPasswordFile: "p"}, nil,
		},
		"simulate the sample": {[]string{"--simulate"}, &ServeOptions{Simulate: true}, nil},
		"simulate a fleet":    {[]string{"serve", "--simulate=f.yaml"}, &ServeOptions{Simulate: true, Fleet: "f.yaml"}, nil},
		"simulator alone":     {[]string{"simulate"}, nil, &SimulateOptions{Listen: "127.0.0.1:6443"}},
		"all of simulate": {
			[]string{"simulate", "--listen=:1", "--kubeconfig-out=k", "--vms=5"},
			nil, &SimulateOptions{Listen: ":1", KubeconfigOut: "k", VMs: 5},
		},
		"simulator with a fleet": {[]string{"simulate", "--fleet=f"}, nil, &SimulateOptions{Listen: "127.0.0.1:6443", Fleet: "f"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, outcome{serve: test.serve, simulate: test.simulate}, run(t, "", nil, test.args...))
		})
	}
}

func TestMistakesExitWithTwoAndOneLine(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"unknown flag":            {[]string{"serve", "--port=1"}, "unknown flag: --port (see kubevirt-redfish serve --help)"},
		"unknown flag at root":    {[]string{"--port=1"}, "unknown flag: --port (see kubevirt-redfish --help)"},
		"unknown old style":       {[]string{"-port", "1"}, "unknown shorthand flag: 'p' in -port (see kubevirt-redfish --help)"},
		"unknown command":         {[]string{"fly"}, `unknown command "fly" (see kubevirt-redfish --help)`},
		"misspelled command":      {[]string{"simulat"}, `unknown command "simulat"; did you mean simulate? (see kubevirt-redfish --help)`},
		"fleet apart from flag":   {[]string{"--simulate", "f.yaml"}, `unexpected argument "f.yaml"; a fleet file is given as --simulate=FILE (see kubevirt-redfish --help)`},
		"the same after serve":    {[]string{"serve", "--simulate", "f.yaml"}, `unexpected argument "f.yaml"; a fleet file is given as --simulate=FILE (see kubevirt-redfish serve --help)`},
		"argument":                {[]string{"serve", "now"}, `unexpected argument "now" (see kubevirt-redfish serve --help)`},
		"password without sim":    {[]string{"--admin-password-file=p"}, "--admin-password-file is for --simulate only; users are in the configuration"},
		"cluster and simulation":  {[]string{"--simulate", "--kubeconfig=k"}, "--simulate and --kubeconfig cannot be given together"},
		"fleet and count":         {[]string{"simulate", "--fleet=f", "--vms=1"}, "--fleet and --vms cannot be given together"},
		"no machines":             {[]string{"simulate", "--vms=0"}, "--vms must be at least 1"},
		"create-config":           {[]string{"-create-config", "x"}, "--create-config is not offered: write the file by the documented example and try it with: kubevirt-redfish config check FILE"},
		"config alone":            {[]string{"config"}, "a command is missing: config check FILE"},
		"check without a file":    {[]string{"config", "check"}, "accepts 1 arg(s), received 0 (see kubevirt-redfish config check --help)"},
		"check of a missing file": {[]string{"config", "check", "/nowhere"}, "/nowhere: the file does not exist"},
		"password as an argument": {[]string{"hash-password", "geheim"}, "the password is read from standard input, not from the arguments (see kubevirt-redfish hash-password --help)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, outcome{code: ExitUsage, err: "kubevirt-redfish: " + test.want + "\n"}, run(t, "", nil, test.args...))
		})
	}
}

func TestFailuresOfTheServerExit(t *testing.T) {
	_, missing := config.FindFile("", func(string) (string, bool) { return "", false })
	require.Error(t, missing)
	tests := map[string]struct {
		err  error
		code int
		want string
	}{
		"failure":         {errors.New("listen: address\nin use"), ExitFailure, "kubevirt-redfish: listen: address in use\n"},
		"configuration":   {missing, ExitUsage, "kubevirt-redfish: " + missing.Error() + "\n"},
		"nothing":         {nil, ExitOK, ""},
		"interrupted":     {context.Canceled, ExitFailure, "kubevirt-redfish: context canceled\n"},
		"several in file": {config.Problems{{Path: "a", Text: "x"}, {Path: "b", Line: 2, Text: "y"}}, ExitUsage, "kubevirt-redfish: a: x\nkubevirt-redfish: b (line 2): y\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := run(t, "", test.err, "serve")
			require.Equal(t, test.code, o.code)
			require.Equal(t, test.want, o.err)
		})
	}
}

func TestConfigCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write := func(more string) {
		content := "chassis: [{name: lab, namespace: vms}]\n" +
			"authentication: {users: [{username: admin, password: pw-A, chassis: [lab]}]}\n" + more
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write("")
	require.Equal(t, outcome{out: path + ": ok\n"}, run(t, "", nil, "config", "check", path))

	write("servers: {}\nserver: {port: none}\n")
	require.Equal(t, outcome{code: ExitUsage, err: "" +
		"kubevirt-redfish: " + path + ": servers (line 3): unknown key; did you mean server?\n" +
		"kubevirt-redfish: " + path + `: server.port (line 4): must be a whole number, not "none"` + "\n",
	}, run(t, "", nil, "config", "check", path))
}

func TestHashPassword(t *testing.T) {
	for name, stdin := range map[string]string{
		"line": "pw-A\n", "no line end": "pw-A", "Windows line end": "pw-A\r\n", "more lines": "pw-A\nignored\n",
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, stdin, nil, "hash-password")
			require.Equal(t, ExitOK, o.code, o.err)
			c := config.ForSimulation("", []string{"lab"})
			c.Authentication.Users[0].Password = config.Password{Hash: strings.TrimSpace(o.out)}
			directory, err := c.Directory()
			require.NoError(t, err)
			requireLogin(t, directory, "pw-A")
		})
	}
	o := run(t, "\n", nil, "hash-password")
	require.Equal(t, outcome{code: ExitFailure, err: "kubevirt-redfish: the password is empty\n"}, o)
}

func requireLogin(t *testing.T, d *auth.Directory, password string) {
	a, err := auth.NewAuthenticator(auth.Options{})
	require.NoError(t, err)
	a.SetDirectory(d)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.SetBasicAuth("admin", password)
	_, err = a.Authenticate(r)
	require.NoError(t, err)
}

func TestVersionAndHelp(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}, {"-version"}} {
		o := run(t, "", nil, args...)
		require.Equal(t, outcome{out: "kubevirt-redfish " + ThisBuild().String() + "\n"}, o)
	}
	o := run(t, "", nil, "--help")
	require.Equal(t, ExitOK, o.code)
	require.Nil(t, o.serve)
	for _, word := range []string{"serve", "simulate", "config", "hash-password", "version", "--simulate", "--admin-password-file"} {
		require.Contains(t, o.out, word)
	}
}
