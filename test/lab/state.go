package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// state is the folder of a lab.
type state string

func (s state) pki(name string) string { return filepath.Join(string(s), "pki", name) }
func (s state) logs() string           { return filepath.Join(string(s), "logs") }
func (s state) processes() string      { return filepath.Join(string(s), "processes") }
func (s state) manifests() string      { return filepath.Join(string(s), "manifests") }
func (s state) etcd() string           { return filepath.Join(string(s), "etcd") }
func (s state) options() string        { return filepath.Join(string(s), "lab.json") }
func (s state) kubeconfig() string     { return filepath.Join(string(s), "kubeconfig") }

func openState(dir string) (state, error) {
	dir, err := filepath.Abs(dir)
	return state(dir), err
}

func (s state) make() error {
	for _, d := range []string{filepath.Dir(s.pki("x")), s.logs(), s.processes(), s.manifests()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// saved returns the options of the lab whose data the folder holds; nil when there is none.
func (s state) saved() (*Options, error) {
	raw, err := os.ReadFile(s.options())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var o Options
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", s.options(), err)
	}
	return &o, nil
}

func (s state) save(o Options) error {
	raw, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.options(), raw, 0o600)
}

// clean removes everything but the logs.
func (s state) clean() error {
	var errs []error
	for _, path := range []string{s.etcd(), filepath.Dir(s.pki("x")), s.manifests(), s.processes(), s.options(), s.kubeconfig()} {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}
