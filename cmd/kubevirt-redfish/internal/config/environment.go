package config

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// LookupEnv is os.LookupEnv, or what a test puts in its place.
type LookupEnv func(name string) (string, bool)

const environmentPrefix = "KUBEVIRT_REDFISH_"

// environment sets the keys outside of lists that have a variable. The variables are looked up one by one: the
// kubelet adds KUBEVIRT_REDFISH_PORT and others for a Service of that name, which must not count as unknown keys.
func (d *decoder) environment(section reflect.Value, path string, lookup LookupEnv) {
	keys := keysOf(section.Type())
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		field, at := section.Field(keys[key]), join(path, key)
		if field.Kind() == reflect.Struct {
			d.environment(field, at, lookup)
			continue
		}
		if field.Kind() == reflect.Slice || field.Kind() == reflect.Map {
			continue
		}
		name := environmentPrefix + strings.ToUpper(strings.ReplaceAll(at, ".", "_"))
		text, set := lookup(name)
		switch {
		case !set || text == "":
		case strings.HasPrefix(text, "tcp://") || strings.HasPrefix(text, "udp://"):
			d.warnings.add(name, "ignored: it is the address of a Service")
		default:
			if err := setScalar(field, text); err != nil {
				d.problems.add(name, "%s", err)
			}
		}
	}
}

// Logging is the log settings, which come from the environment alone.
type Logging struct {
	Level slog.Level
	// Off silences everything below an error.
	Off bool
}

// LoggingFrom reads REDFISH_LOG_LEVEL, else LOG_LEVEL (debug, info, warn, error; default info), and
// REDFISH_LOGGING_ENABLED (default true). What cannot be understood is a warning: a server without a wanted log level
// is better than none.
func LoggingFrom(lookup LookupEnv) (Logging, Problems) {
	var logging Logging
	var warnings Problems
	for _, name := range []string{"REDFISH_LOG_LEVEL", "LOG_LEVEL"} {
		text, _ := lookup(name)
		if text == "" {
			continue
		}
		if strings.EqualFold(text, "warning") {
			text = "warn"
		}
		if err := logging.Level.UnmarshalText([]byte(text)); err != nil {
			warnings.add(name, "must be debug, info, warn or error, not %q", text)
			continue
		}
		break
	}
	if text, _ := lookup("REDFISH_LOGGING_ENABLED"); text != "" {
		enabled, err := parseBool(text)
		if err != nil {
			warnings.add("REDFISH_LOGGING_ENABLED", "%s", err)
		}
		logging.Off = err == nil && !enabled
	}
	return logging, warnings
}
