package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/klog/v2"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/cli"
	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/config"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// Programs are the two programs behind the command line.
type Programs struct {
	Out, Err io.Writer
	Env      config.LookupEnv
	Version  string
}

// serving is a server while it is put together and runs.
type serving struct {
	Programs
	options  cli.ServeOptions
	logger   *slog.Logger
	registry *prometheus.Registry
	config   *config.Config
	source   *config.Source // nil when the configuration comes from no file
	backend  *kubevirt.Backend
	accounts *auth.Authenticator
	reloads  *prometheus.CounterVec
	password string // of the simulation's user, for the greeting
}

// Serve runs the Redfish service until ctx ends. It returns nil after an orderly end.
func (p Programs) Serve(ctx context.Context, o cli.ServeOptions) error {
	logging, warnings := config.LoggingFrom(p.Env)
	logger, flush := newLogger(p.Err, logging)
	defer flush()
	s := &serving{Programs: p, options: o, logger: logger, registry: prometheus.NewRegistry()}
	klog.SetSlogLogger(slog.New(demoted{s.logger.Handler()}))
	s.warn(warnings)
	s.reloads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kubevirt_redfish_config_reloads_total", Help: "Changes of the configuration file, by whether the new one could be used.",
	}, []string{"result"})
	s.registry.MustRegister(s.reloads, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(p.Version))

	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	target, err := s.target(background)
	if err != nil {
		return err
	}
	defer target.close()
	if err := s.configure(ctx, target); err != nil {
		return err
	}
	if err := s.assemble(target); err != nil {
		return err
	}
	ends, err := s.endpoints(background, target, &running)
	if err != nil {
		return err
	}
	running.Go(func() { s.backend.Run(background) })
	if s.source != nil {
		running.Go(func() { config.Watch(background, *s.source, s.config, s.reload) })
	}
	if target.simulated {
		s.greet(background, ends.redfish, target)
	}
	s.logger.Info("serving", "config", s.file(), "address", ends.redfish.address(), "metrics", ends.metrics.address(), "version", p.Version)
	return ends.serve(ctx, s.logger)
}

// configure reads the configuration file, or makes a configuration for the simulator when there is none.
func (s *serving) configure(ctx context.Context, t *target) error {
	source := config.Source{Env: s.Env, Listen: s.options.Listen, MetricsListen: s.options.MetricsListen}
	if _, set := s.Env("CONFIG_PATH"); t.simulated && s.options.Config == "" && !set {
		return s.configureSimulation(ctx, t, source)
	}
	path, err := config.FindFile(s.options.Config, s.Env)
	if err != nil {
		return err //nolint:wrapcheck // says what it is about
	}
	source.Path = path
	loaded, warnings, err := config.Load(source)
	if err != nil {
		return err //nolint:wrapcheck // says what it is about
	}
	s.warn(warnings)
	s.config, s.source = loaded, &source
	return nil
}

// assemble makes the parts that answer requests.
func (s *serving) assemble(t *target) error {
	directory, err := s.config.Directory()
	if err != nil {
		return err //nolint:wrapcheck // says what it is about
	}
	if s.accounts, err = auth.NewAuthenticator(auth.Options{}); err != nil {
		return fmt.Errorf("accounts: %w", err)
	}
	s.accounts.SetDirectory(directory)
	s.backend, err = kubevirt.New(kubevirt.Options{
		Config: t.config, Exposure: s.config.Exposure(), Convention: kubevirt.Convention(s.config.SystemIDConvention),
		Logger: s.logger, Metrics: s.registry, OnReady: s.relax,
	})
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// servingGCPercent lets the heap grow to three times what is in use once the machines have been read, which saves a
// tenth of the CPU of a request. The start itself, when the most memory is used, keeps to the default of 100.
const servingGCPercent = 200

// relax is for after the start. It leaves alone what the environment says.
func (s *serving) relax() {
	if _, set := s.Env("GOGC"); !set {
		debug.SetGCPercent(servingGCPercent)
	}
}

// service is the Redfish service as it is reached at the listener.
func (s *serving) service(t *target, port int) *redfish.Service {
	name, _ := os.Hostname()
	return redfish.New(redfish.Options{
		Backend: s.backend, Authenticator: s.accounts, Logger: s.logger, Metrics: s.registry, UUID: t.uuid, Version: s.Version,
		Host: redfish.Host{Name: name, Addresses: addressTexts(), Port: port, TLS: s.config.Server.TLS.Enabled},
	})
}

// reload takes over what can be changed while the server runs: who may do what, and which machines there are.
func (s *serving) reload(change config.Change) {
	s.warn(change.Warnings)
	var directory *auth.Directory
	err := change.Err
	if err == nil {
		directory, err = change.Config.Directory()
	}
	if err != nil {
		s.reloads.WithLabelValues("refused").Inc()
		s.logger.Error("the configuration stays as it was: the new file is not usable", "err", err)
		return
	}
	s.reloads.WithLabelValues("used").Inc()
	s.accounts.SetDirectory(directory)
	s.backend.Expose(change.Config.Exposure())
	s.logger.Info("configuration reloaded", "file", s.source.Path)
	if keys := needRestart(s.config, change.Config); len(keys) > 0 {
		s.logger.Warn("a restart is needed for some keys of the file", "keys", keys)
	}
}

// needRestart names the keys in which the file differs from what the process was started with and which it cannot
// change while it runs.
func needRestart(started, file *config.Config) []string {
	var keys []string
	for _, key := range []struct {
		name    string
		differs bool
	}{
		{"server", started.Server != file.Server},
		{"system_id_convention", started.SystemIDConvention != file.SystemIDConvention},
		{"metrics", started.Metrics != file.Metrics},
		{"kubevirt", started.KubeVirt != file.KubeVirt},
	} {
		if key.differs {
			keys = append(keys, key.name)
		}
	}
	return keys
}

// file is the path of the configuration file; empty when there is none.
func (s *serving) file() string {
	if s.source == nil {
		return ""
	}
	return s.source.Path
}

func (s *serving) warn(problems config.Problems) {
	for _, problem := range problems {
		s.logger.Warn("configuration", "problem", problem.String())
	}
}

func buildInfo(version string) prometheus.Collector {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubevirt_redfish_build_info", Help: "1, with the version of this program."}, []string{"version"})
	info.WithLabelValues(version).Set(1)
	return info
}
