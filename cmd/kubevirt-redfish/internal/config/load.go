package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
)

// searched are the files that are tried without --config and CONFIG_PATH.
var searched = []string{"config.yaml", "config/config.yaml", "/etc/kubevirt-redfish/config.yaml"}

// Source is where a configuration comes from.
type Source struct {
	// Path of the file.
	Path string
	// Env is where overrides are looked up; nil means none.
	Env LookupEnv
	// Listen and MetricsListen are flags (host:port); empty when not given.
	Listen, MetricsListen string
	// Strict makes every unknown key an error.
	Strict bool
}

// FindFile is the path of the configuration file: the flag, else CONFIG_PATH, else the first of the default places
// that exists. The error is one that a person can act on.
func FindFile(flag string, lookup LookupEnv) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if path, _ := lookup("CONFIG_PATH"); path != "" {
		return path, nil
	}
	for _, path := range searched {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", Problems{{Text: "no configuration file: give --config or CONFIG_PATH, or put it at " +
		strings.Join(searched, ", ")}}
}

// Load reads, overrides and validates. The second result is what a person should know although it is no error. The
// error names the file and wraps [Problems].
func Load(s Source) (*Config, Problems, error) {
	content, err := os.ReadFile(s.Path)
	c := s.judge(content, err)
	return c.Config, c.Warnings, c.Err
}

// judge makes of one reading of the file what is reported about it.
func (s Source) judge(content []byte, err error) Change {
	var change Change
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = Problems{{Text: "the file does not exist"}}
	case err != nil:
		err = Problems{{Text: fmt.Sprintf("cannot be read: %v", err)}}
	default:
		change.Config, change.Warnings, err = s.parse(content)
	}
	if err != nil {
		change.Err = fmt.Errorf("%s: %w", s.Path, err)
	}
	return change
}

func (s Source) parse(content []byte) (*Config, Problems, error) {
	c := Default()
	c.content = sha256.Sum256(content)
	d := decoder{strict: s.Strict, lines: map[string]int{}}
	if d.document(c, content) {
		s.override(c, &d)
	}
	d.problems.locate(d.lines)
	if err := d.problems.asError(); err != nil {
		return nil, d.warnings, err
	}
	return c, d.warnings, nil
}

// Override applies the environment and the flags to a configuration that comes from no file, and validates it.
func (s Source) Override(c *Config) (Problems, error) {
	var d decoder
	s.override(c, &d)
	return d.warnings, d.problems.asError()
}

func (s Source) override(c *Config, d *decoder) {
	if s.Env != nil {
		d.environment(reflect.ValueOf(c).Elem(), "", s.Env)
	}
	d.problems.addNew(c.validate())
	s.flags(c, &d.problems)
}

// flags applies the flags, after validation: a test may listen on port 0.
func (s Source) flags(c *Config, problems *Problems) {
	if s.Listen != "" {
		host, port, err := splitListen(s.Listen)
		if err != nil {
			problems.add("--listen", "%s", err)
		}
		c.Server.Host, c.Server.Port = host, port
	}
	if s.MetricsListen != "" {
		if _, _, err := splitListen(s.MetricsListen); err != nil {
			problems.add("--metrics-listen", "%s", err)
		}
		c.Metrics.Listen = s.MetricsListen
	}
}

func splitListen(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("must be host:port or :port, not %q", address)
	}
	return host, port, nil
}
