package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// drainTimeout is how long an orderly end waits for running requests; the kubelet gives 30 s in all.
	drainTimeout = 20 * time.Second
	// Limits against slow clients. A change may take as long as the service's own limit and a little.
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = time.Minute
	// idleTimeout outlasts the usual minute between two polls, so that these need no new handshake.
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
)

// endpoint is one listener with its HTTP server.
type endpoint struct {
	listener net.Listener
	server   *http.Server
}

// endpoints are the listeners of the program.
type endpoints struct{ redfish, metrics *endpoint }

// endpoints opens both listeners. Nothing is served yet.
func (s *serving) endpoints(ctx context.Context, t *target, running *sync.WaitGroup) (*endpoints, error) {
	listener, err := listen(ctx, s.config.Server.Listen())
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	ends := &endpoints{redfish: &endpoint{listener, newServer(s.service(t, port), s.logger)}}
	if s.config.Server.TLS.Enabled {
		certificates, err := s.certificates(ctx, t)
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		running.Go(func() { certificates.Run(ctx) })
		ends.redfish.server.TLSConfig = certificates.TLSConfig()
	}
	if listener, err = listen(ctx, s.config.Metrics.Listen); err != nil {
		return nil, errors.Join(err, ends.redfish.listener.Close())
	}
	ends.metrics = &endpoint{listener, newServer(s.operations(), s.logger)}
	return ends, nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	return listener, nil
}

func newServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		// The protocol forbids a path to be rewritten, which the default handler for OPTIONS * would not do either.
		DisableGeneralOptionsHandler: true,
	}
}

// operations serves metrics and health.
func (s *serving) operations() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }
	mux.HandleFunc("GET /healthz", ok)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if !s.backend.Ready() {
			http.Error(w, "the machines have not been read yet", http.StatusServiceUnavailable)
			return
		}
		ok(w, r)
	})
	return mux
}

// address is host:port of the listener.
func (e *endpoint) address() string { return e.listener.Addr().String() }

// run serves until shutdown.
func (e *endpoint) run() error {
	serve := e.server.Serve
	if e.server.TLSConfig != nil {
		serve = func(l net.Listener) error { return e.server.ServeTLS(l, "", "") }
	}
	if err := serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", e.address(), err)
	}
	return nil
}

// serve answers requests until ctx ends or a listener fails; running requests are finished first.
func (ends *endpoints) serve(ctx context.Context, logger *slog.Logger) error {
	failed := make(chan error, 2)
	var running sync.WaitGroup
	for _, e := range []*endpoint{ends.redfish, ends.metrics} {
		running.Go(func() { failed <- e.run() })
	}
	var err error
	select {
	case <-ctx.Done():
		logger.Info("ending: running requests are finished")
	case err = <-failed:
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err = errors.Join(err, ends.redfish.shutdown(drain, logger), ends.metrics.shutdown(drain, logger))
	running.Wait()
	return err
}

// shutdown finishes the running requests, and cuts off those that have not ended with ctx: a client that does
// not get on is no failure of the service.
func (e *endpoint) shutdown(ctx context.Context, logger *slog.Logger) error {
	err := e.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		logger.Warn("requests that do not end are cut off", "address", e.address())
		err = e.server.Close()
	}
	return err //nolint:wrapcheck // of a listener that is ours
}
