package sim

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/virt"
)

const readHeaderTimeout = 10 * time.Second

// Delays are how long things take in the simulated cluster.
type Delays = virt.Delays

// DefaultDelays are quick, but long enough to see every state.
func DefaultDelays() Delays {
	return Delays{
		Schedule: 50 * time.Millisecond, Launch: 100 * time.Millisecond, Import: 300 * time.Millisecond, BackOff: 10 * time.Second,
		Boot: 300 * time.Millisecond, Agent: 200 * time.Millisecond, Shutdown: 500 * time.Millisecond,
	}
}

// Options of Start. The zero value serves an empty cluster on a free loopback port.
type Options struct {
	// Listen is the address to serve on; the default is 127.0.0.1:0.
	Listen string
	// Fleet is what the cluster contains at the start; see DefaultFleet, ParseFleet and Generate.
	Fleet Fleet
	// Delays default to DefaultDelays. A pointer to a zero value makes everything immediate.
	Delays *Delays
	// Clock drives the objects and their delays; the default is real time. Connections always use real time.
	Clock clock.WithTicker
	// Logger defaults to silence.
	Logger *slog.Logger
	// Token is the bearer token of DefaultUser; the default is generated.
	Token string
	// Users are further users of the API, with their own tokens and rights.
	Users []User
	// Certificate and CA, which is PEM, are what the server shows and what clients trust; the default is a
	// generated pair for loopback.
	Certificate *tls.Certificate
	CA          []byte
}

// Server is a running simulated cluster.
type Server struct {
	api      *api
	ca       []byte
	url      string
	http     *http.Server
	cancel   context.CancelFunc
	finished sync.WaitGroup

	mu     sync.Mutex
	closed bool // no request may be counted any more
}

// Start serves a simulated cluster until ctx ends or Close is called.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	st := store.New(o.Clock)
	v := virt.New(virt.Options{Store: st, Clock: o.Clock, Delays: *o.Delays, Log: o.Logger, Jitter: jitter})
	if err := o.Fleet.seed(v); err != nil {
		return nil, fmt.Errorf("load fleet: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for the simulated API: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Server{
		api: &api{store: st, virt: v, faults: newFaults(st), wall: clock.RealClock{}, log: o.Logger,
			users: &users{append([]User{{Name: DefaultUser, Token: o.Token}}, o.Users...)}},
		ca: o.CA, url: "https://" + listener.Addr().String(), cancel: cancel,
	}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: readHeaderTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
		TLSConfig:   &tls.Config{Certificates: []tls.Certificate{*o.Certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:    log.New(logWriter{o.Logger}, "", 0),
	}
	s.finished.Go(func() { v.Run(ctx) })
	s.finished.Go(func() {
		if err := s.http.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			o.Logger.Error("simulated API ended", "err", err)
		}
	})
	context.AfterFunc(ctx, func() { _ = s.http.Close() }) // the listener's error has no reader
	return s, nil
}

func (o *Options) complete() error {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Delays == nil {
		d := DefaultDelays()
		o.Delays = &d
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Token == "" {
		o.Token = rand.Text()
	}
	if o.Certificate != nil {
		return nil
	}
	c, ca, err := newCertificate()
	o.Certificate, o.CA = &c, ca
	return err
}

func jitter(limit time.Duration) time.Duration { return mathrand.N(limit) } //nolint:gosec // spreads retries

// serve counts the requests in flight, so that Close can wait for them.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.finished.Done()
	s.api.ServeHTTP(w, r)
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.finished.Add(1)
	}
	return !s.closed
}

// Close ends the cluster and waits for all its goroutines.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel() // ends watches, waits and, by closing it, the HTTP server
	s.finished.Wait()
}

// URL is the address of the API.
func (s *Server) URL() string { return s.url }

// Faults are the faults that can be injected.
func (s *Server) Faults() *Faults { return s.api.faults }

// RESTConfig is the client configuration of DefaultUser, without a rate limit of its own.
func (s *Server) RESTConfig() *rest.Config { return s.RESTConfigFor(DefaultUser) }

// RESTConfigFor is the client configuration of a user. An unknown user gets no token, and so 401.
func (s *Server) RESTConfigFor(user string) *rest.Config {
	c := &rest.Config{Host: s.url, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca}, QPS: -1}
	for _, u := range s.api.users.all {
		if u.Name == user {
			c.BearerToken = u.Token
		}
	}
	return c
}

// Kubeconfig is a kubeconfig file for DefaultUser.
func (s *Server) Kubeconfig() ([]byte, error) {
	const name = "simulator"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: s.url, CertificateAuthorityData: s.ca}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: s.RESTConfig().BearerToken}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	c.CurrentContext = name
	b, err := clientcmd.Write(*c)
	if err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return b, nil
}

// logWriter passes the HTTP server's complaints about connections on.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.Debug("connection", "err", string(b))
	return len(b), nil
}
