package config

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrecedenceFlagEnvironmentFileDefault(t *testing.T) {
	path := written(t, minimal+"server: {port: 1001, host: 192.0.2.1}\n")
	tests := map[string]struct {
		env    map[string]string
		listen string
		want   string
	}{
		"file over default":         {nil, "", "192.0.2.1:1001"},
		"environment over file":     {map[string]string{"KUBEVIRT_REDFISH_SERVER_PORT": "1002"}, "", "192.0.2.1:1002"},
		"flag over environment":     {map[string]string{"KUBEVIRT_REDFISH_SERVER_PORT": "1002"}, "[::1]:1003", "[::1]:1003"},
		"empty variable is not set": {map[string]string{"KUBEVIRT_REDFISH_SERVER_PORT": ""}, "", "192.0.2.1:1001"},
		"flag may ask for any port": {nil, "127.0.0.1:0", "127.0.0.1:0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, warnings, err := Load(Source{Path: path, Env: environment(test.env), Listen: test.listen})
			require.NoError(t, err)
			require.Empty(t, warnings)
			require.Equal(t, test.want, c.Server.Listen())
		})
	}
}

func TestEnvironmentOfEachKind(t *testing.T) {
	c, _, err := Load(Source{Path: written(t, minimal), MetricsListen: ":1", Env: environment(map[string]string{
		"KUBEVIRT_REDFISH_SERVER_TLS_ENABLED":              "False",
		"KUBEVIRT_REDFISH_SYSTEM_ID_CONVENTION":            "enhanced",
		"KUBEVIRT_REDFISH_DATAVOLUME_ISO_DOWNLOAD_TIMEOUT": "5m",
		"KUBEVIRT_REDFISH_METRICS_LISTEN":                  ":2",
		"KUBEVIRT_REDFISH_PORT":                            "tcp://10.0.0.1:8443",
		"KUBEVIRT_REDFISH_AUTHENTICATION_USERS_0_PASSWORD": "no",
		"KUBEVIRT_REDFISH_CHASSIS":                         "no",
	})})
	require.NoError(t, err)
	want := Default()
	want.Chassis, want.Authentication, want.content = c.Chassis, c.Authentication, c.content
	want.Server.TLS.Enabled = false
	want.SystemIDConvention = Enhanced
	want.DataVolume.ISODownloadTimeout = 5 * 60 * 1e9
	want.Metrics.Listen = ":1"
	require.Equal(t, want, c)
	require.Equal(t, "pw-A", c.Authentication.Users[0].Password.Plain)
}

func TestEnvironmentAndFlagProblems(t *testing.T) {
	source := Source{Path: written(t, minimal), Listen: "8443", MetricsListen: "x", Env: environment(map[string]string{
		"KUBEVIRT_REDFISH_SERVER_TLS_ENABLED": "maybe",
	})}
	_, _, err := Load(source)
	require.EqualError(t, err, source.Path+`: KUBEVIRT_REDFISH_SERVER_TLS_ENABLED: must be true or false, not "maybe"; `+
		`--listen: must be host:port or :port, not "8443"; --metrics-listen: must be host:port or :port, not "x"`)
}

func TestVariablesOfTheKubeletAreNotOurs(t *testing.T) {
	c, warnings, err := Load(Source{Path: written(t, minimal), Env: environment(map[string]string{
		"KUBEVIRT_REDFISH_SERVER_PORT": "tcp://10.0.0.1:8443", // a Service named kubevirt-redfish-server
	})})
	require.NoError(t, err)
	require.Equal(t, 8443, c.Server.Port)
	require.EqualError(t, warnings, "KUBEVIRT_REDFISH_SERVER_PORT: ignored: it is the address of a Service")
}

func TestLogging(t *testing.T) {
	tests := map[string]struct {
		env      map[string]string
		want     Logging
		warnings int
	}{
		"nothing":            {nil, Logging{}, 0},
		"documented":         {map[string]string{"LOG_LEVEL": "info"}, Logging{Level: slog.LevelInfo}, 0},
		"older name first":   {map[string]string{"LOG_LEVEL": "info", "REDFISH_LOG_LEVEL": "DEBUG"}, Logging{Level: slog.LevelDebug}, 0},
		"warning":            {map[string]string{"LOG_LEVEL": "Warning"}, Logging{Level: slog.LevelWarn}, 0},
		"not understood":     {map[string]string{"LOG_LEVEL": "loud"}, Logging{}, 1},
		"off":                {map[string]string{"REDFISH_LOGGING_ENABLED": "False"}, Logging{Off: true}, 0},
		"on":                 {map[string]string{"REDFISH_LOGGING_ENABLED": "true"}, Logging{}, 0},
		"off not understood": {map[string]string{"REDFISH_LOGGING_ENABLED": "?"}, Logging{}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			logging, warnings := LoggingFrom(environment(test.env))
			require.Equal(t, test.want, logging)
			require.Len(t, warnings, test.warnings)
		})
	}
}
