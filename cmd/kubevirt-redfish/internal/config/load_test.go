package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// minimal is valid; tests add to it or replace parts of it.
const minimal = `
chassis:
- name: lab
  namespace: vms
authentication:
  users:
  - username: admin
    password: pw-A
    chassis: [lab]
`

func written(t *testing.T, content string) string {
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func environment(values map[string]string) LookupEnv {
	return func(name string) (string, bool) { text, ok := values[name]; return text, ok }
}

func TestDocumentedExample(t *testing.T) {
	c, warnings, err := Load(Source{Path: "testdata/documented.yaml", Strict: true})
	require.NoError(t, err)
	require.Empty(t, warnings)
	want := Default()
	want.content = c.content
	want.Server.TLS.Enabled = false
	want.SystemIDConvention = Enhanced
	want.Chassis = []Chassis{{
		Name: "cluster-a", Namespace: "vms", ServiceAccount: "kubevirt-redfish", Description: "Control plane of cluster a",
		VMSelector: VMSelector{Labels: map[string]string{"redfish-enabled": "true"}},
	}}
	want.Authentication.Users = []User{{
		Username: "admin", Chassis: []string{"cluster-a"},
		Password: Password{Hash: "$2y$05$Z7r6zQMa3c0d8n5SJYvZAe6b2eL3gX0y8Qw1hTnYl4mKpJr9uVfWO"},
	}}
	want.DataVolume.StorageClass, want.DataVolume.StorageSize = "lvms-vg1", "3Gi"
	require.Equal(t, want, c)
}

func TestEveryKeyInQuotes(t *testing.T) {
	c, warnings, err := Load(Source{Path: "testdata/quoted.yaml", Strict: true})
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, &Config{
		Server:             Server{Host: "::", Port: 9443, TLS: TLS{CertFile: "/tls/tls.crt", KeyFile: "/tls/tls.key"}},
		SystemIDConvention: Legacy,
		Chassis: []Chassis{
			{
				Name: "node-0", Namespace: "vms", ServiceAccount: "sa",
				VMSelector: VMSelector{Labels: map[string]string{"cluster": "a", "enabled": "true"}, Names: []string{"vm-0", "vm-1"}},
			},
			{Name: "node-1", Namespace: "vms", ServiceAccount: "sa"},
		},
		Authentication: Authentication{Users: []User{
			{Username: "admin", Password: Password{Plain: "plain-password"}, Chassis: []string{"node-0", "node-1"}},
			{
				Username: "viewer", Chassis: []string{"*"}, Role: auth.ReadOnly,
				Password: Password{Hash: "$2b$10$Z7r6zQMa3c0d8n5SJYvZAe6b2eL3gX0y8Qw1hTnYl4mKpJr9uVfWO"},
			},
		}},
		KubeVirt: KubeVirt{APIVersion: "v1", Timeout: 45, AllowInsecureTLS: true},
		CDI: CDI{UploadProxy: UploadProxy{
			ServiceName: "cdi-uploadproxy", Namespaces: []string{"openshift-cnv", "cdi"}, Port: 443, Timeout: 30,
		}},
		DataVolume: DataVolume{
			StorageClass: "fast", StorageSize: "20Gi", AllowInsecureTLS: true, CertConfigMap: "ca-bundle",
			VMUpdateTimeout: Duration(2 * time.Minute), ISODownloadTimeout: Duration(90 * time.Minute),
			HelperImage: "registry.example.test/ubi-minimal:latest",
		},
		Metrics: Metrics{Listen: ":9090"},
		content: c.content,
	}, c)
}

func TestWhatIsLeftOutHasItsDefault(t *testing.T) {
	c, _, err := Load(Source{Path: written(t, minimal+"server:\n  tls:\nkubevirt:\n")})
	require.NoError(t, err)
	want := Default()
	want.Chassis, want.Authentication, want.content = c.Chassis, c.Authentication, c.content
	require.Equal(t, want, c)
	require.True(t, c.Server.TLS.Enabled, "TLS is on when nothing is said")
	require.Equal(t, ":8443", c.Server.Listen())
}

func TestProblemsNameTheirPlace(t *testing.T) {
	user := func(fields string) string {
		return "chassis: [{name: lab, namespace: vms}]\nauthentication:\n  users:\n  - {" + fields + "}\n"
	}
	chassis := func(items string) string {
		return "chassis:\n" + items + "authentication: {users: [{username: a, password: b, chassis: ['*']}]}\n"
	}
	hash := "$2y$05$Z7r6zQMa3c0d8n5SJYvZAe6b2eL3gX0y8Qw1hTnYl4mKpJr9uVfWO"
	tests := map[string]struct {
		content string
		want    []string
	}{
		"empty":              {"", []string{"the file is empty"}},
		"comments only":      {"# nothing\n", []string{"the file is empty"}},
		"null":               {"---\nnull\n", []string{"the file is empty"}},
		"no mapping":         {"- a\n", []string{"line 1: must be a mapping"}},
		"syntax":             {"a: [\n", []string{"line 1: did not find expected node content"}},
		"two documents":      {minimal + "---\n" + minimal, []string{"the file must be one YAML document"}},
		"nothing configured": {"server: {}\n", []string{"chassis: at least one is needed", "authentication.users: at least one is needed"}},
		"key twice":          {minimal + "metrics: {}\nmetrics: {}\n", []string{"metrics (line 11): the key is given twice"}},
		"not a number":       {minimal + "server:\n  port: https\n", []string{`server.port (line 11): must be a whole number, not "https"`}},
		"port out of range":  {minimal + "server:\n  port: 65536\n", []string{"server.port (line 11): must be from 1 to 65535, not 65536"}},
		"not a truth value":  {minimal + "server: {tls: {enabled: maybe}}\n", []string{`server.tls.enabled (line 10): must be true or false, not "maybe"`}},
		"list for a scalar":  {minimal + "server: {port: [1]}\n", []string{"server.port (line 10): must be a whole number"}},
		"mapping for a list": {"chassis: {}\n" + minimal[strings.Index(minimal, "auth"):], []string{"chassis (line 1): must be a list", `authentication.users[0].chassis[0] (line 6): there is no chassis "lab"`}},
		"scalar for section": {minimal + "server: on\n", []string{"server (line 10): must be a mapping"}},
		"host with port":     {minimal + "server: {host: 'a:1'}\n", []string{`server.host (line 10): must be an address or a name without a port, not "a:1"`}},
		"certificate alone":  {minimal + "server: {tls: {cert_file: a}}\n", []string{"server.tls.key_file (line 10): is missing; it belongs to cert_file"}},
		"key alone":          {minimal + "server:\n  tls:\n    key_file: a\n", []string{"server.tls.cert_file (line 11): is missing; it belongs to key_file"}},
		"convention":         {minimal + "system_id_convention: new\n", []string{`system_id_convention (line 10): must be legacy or enhanced, not "new"`}},
		"api version":        {minimal + "kubevirt: {api_version: v2}\n", []string{`kubevirt.api_version (line 10): must be v1, not "v2"`}},
		"timeout":            {minimal + "kubevirt: {timeout: 301}\n", []string{"kubevirt.timeout (line 10): must be from 1 to 300 seconds, not 301"}},
		"storage size":       {minimal + "datavolume: {storage_size: big}\n", []string{`datavolume.storage_size (line 10): must be a quantity like 10Gi, not "big"`}},
		"storage size zero":  {minimal + "datavolume: {storage_size: 0}\n", []string{`datavolume.storage_size (line 10): must be a quantity like 10Gi, not "0"`}},
		"duration":           {minimal + "datavolume: {vm_update_timeout: 30}\n", []string{`datavolume.vm_update_timeout (line 10): must be a duration like "30s" or "2m"`}},
		"duration zero":      {minimal + "datavolume: {iso_download_timeout: 0s}\n", []string{"datavolume.iso_download_timeout (line 10): must be positive"}},
		"metrics":            {minimal + "metrics: {listen: 8080}\n", []string{`metrics.listen (line 10): must be host:port or :port, not "8080"`}},
		"chassis twice": {
			chassis("- {name: a, namespace: n}\n- {name: a, namespace: m}\n"),
			[]string{`chassis[1].name (line 3): "a" is used twice`},
		},
		"chassis name and namespace": {
			chassis("- {name: A_b, namespace: n}\n- {name: b}\n"),
			[]string{
				`chassis[0].name (line 2): must be 1 to 63 of a-z, 0-9 and -, not "A_b"`,
				`chassis[1].namespace (line 3): must be 1 to 63 of a-z, 0-9 and -, not ""`,
			},
		},
		"chassis selector": {
			chassis("- {name: a, namespace: n, vm_selector: {names: ['']}}\n"),
			[]string{"chassis[0].vm_selector.names (line 2): a name is empty"},
		},
		"user without anything": {
			user("username: ''"),
			[]string{
				`authentication.users[0].username (line 4): must be 1 to 63 letters, digits, _ and -, not ""`,
				"authentication.users[0].password (line 4): the password is empty",
				`authentication.users[0].chassis (line 4): at least one is needed; "*" grants all`,
			},
		},
		"users twice": {
			minimal + "  - {username: admin, password: x, chassis: [lab]}\n",
			[]string{`authentication.users[1].username (line 10): "admin" is used twice`},
		},
		"unknown chassis": {
			user("username: a, password: b, chassis: [lab, other]"),
			[]string{`authentication.users[0].chassis[1] (line 4): there is no chassis "other"`},
		},
		"unknown role": {
			user("username: a, password: b, chassis: [lab], role: Root"),
			[]string{`authentication.users[0].role (line 4): must be Administrator, Operator or ReadOnly, not "Root"`},
		},
		"bad hash": {
			user("username: a, password: {hash: secret}, chassis: [lab]"),
			[]string{"authentication.users[0].password (line 4): not a bcrypt hash ($2a$, $2b$ or $2y$ and 60 characters)"},
		},
		"hash as the password": {
			user("username: a, password: '" + hash + "', chassis: [lab]"),
			[]string{"authentication.users[0].password (line 4): is a hash; write it as password: {hash: ...}"},
		},
		"unknown key of a user": {
			user("username: a, password: b, chassis: [lab], roles: ReadOnly"),
			[]string{"authentication.users[0].roles (line 4): unknown key; did you mean authentication.users[0].role?"},
		},
		"unknown key of TLS": {
			minimal + "server: {tls: {enable: true}}\n",
			[]string{"server.tls.enable (line 10): unknown key; did you mean server.tls.enabled?"},
		},
		"unknown key of a chassis": {
			chassis("- {name: a, namespace: n, vm_selector: {label: {x: y}}}\n"),
			[]string{"chassis[0].vm_selector.label (line 2): unknown key; did you mean chassis[0].vm_selector.labels?"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, _, err := Load(Source{Path: written(t, test.content)})
			require.Nil(t, c)
			var problems Problems
			require.ErrorAs(t, err, &problems)
			got := make([]string, len(problems))
			for i := range problems {
				got[i] = problems[i].String()
			}
			require.Equal(t, test.want, got)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), hash)
		})
	}
}

func TestUnknownKeysWarnWithTheNearestKnownOne(t *testing.T) {
	content := minimal + "servers: {}\ncert_file: x\nserver: {prot: 1, quite_different: 1}\n"
	want := []string{
		"servers (line 10): unknown key; did you mean server?",
		"cert_file (line 11): unknown key; did you mean server.tls.cert_file?",
		"server.prot (line 12): unknown key; did you mean server.port?",
		"server.quite_different (line 12): unknown key; known here are host, port, test_mode, tls",
	}
	_, warnings, err := Load(Source{Path: written(t, content)})
	require.NoError(t, err)
	require.Equal(t, strings.Join(want, "; "), warnings.Error())

	path := written(t, content)
	_, warnings, err = Load(Source{Path: path, Strict: true})
	require.Empty(t, warnings)
	require.EqualError(t, err, path+": "+strings.Join(want, "; "))
}

func TestMissingFileIsAClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	_, _, err := Load(Source{Path: path})
	require.EqualError(t, err, path+": the file does not exist")
	_, _, err = Load(Source{Path: t.TempDir()})
	require.ErrorContains(t, err, "cannot be read")
}

func TestWhereTheFileIsLookedFor(t *testing.T) {
	t.Chdir(t.TempDir())
	none := environment(nil)
	_, err := FindFile("", none)
	require.ErrorContains(t, err, "no configuration file: give --config or CONFIG_PATH")
	for _, step := range []struct{ create, flag, env, want string }{
		{create: "config/config.yaml", want: "config/config.yaml"},
		{create: "config.yaml", want: "config.yaml"},
		{env: "/from/env", want: "/from/env"},
		{env: "/from/env", flag: "/from/flag", want: "/from/flag"},
	} {
		if step.create != "" {
			require.NoError(t, os.MkdirAll(filepath.Dir(step.create), 0o700))
			require.NoError(t, os.WriteFile(step.create, nil, 0o600))
		}
		path, err := FindFile(step.flag, environment(map[string]string{"CONFIG_PATH": step.env}))
		require.NoError(t, err)
		require.Equal(t, step.want, path)
	}
}

func TestOldAliasesAndAnchorsWork(t *testing.T) {
	c, _, err := Load(Source{Strict: true, Path: written(t, `
chassis:
- {name: a, namespace: &ns vms, vm_selector: &sel {labels: {x: "y"}}}
- {name: b, namespace: *ns, vm_selector: *sel}
authentication: {users: [{username: u, password: 123456, chassis: [a]}]}
`)})
	require.NoError(t, err)
	require.Equal(t, "vms", c.Chassis[1].Namespace)
	require.Equal(t, c.Chassis[0].VMSelector, c.Chassis[1].VMSelector)
	require.Equal(t, "123456", c.Authentication.Users[0].Password.Plain)
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(minimal))
	for _, name := range []string{"testdata/documented.yaml", "testdata/quoted.yaml"} {
		content, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(content)
	}
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? {a: b}\n: c\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, _, err := Source{Strict: true}.parse(content)
		if err != nil {
			require.Nil(t, c)
			return
		}
		require.NoError(t, c.Validate())
		_, err = c.Directory()
		require.NoError(t, err, "what is accepted can be used")
	})
}
