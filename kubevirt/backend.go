package kubevirt

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kubevirtclient "kubevirt.io/client-go/kubevirt"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// Options configures a [Backend].
type Options struct {
	// Config reaches the API server. Its rate limit is replaced unless it is set.
	Config *rest.Config
	// Exposure is what is served; it can be replaced later.
	Exposure *auth.Exposure
	// Convention of canonical ids; default [Enhanced].
	Convention Convention
	Logger     *slog.Logger
	Metrics    prometheus.Registerer
	// OnReady, if set, is called once, when the state of all machines has been read for the first time.
	OnReady func()
	// Now is the clock; default time.Now.
	Now func() time.Time
	// NewID makes the random part of task ids, lower-case hexadecimal; default from crypto/rand.
	NewID func() string
}

// Backend answers for the machines of a cluster. It implements [redfish.Backend].
type Backend struct {
	Options
	store    *store
	cache    *cache
	listings listings
	actor    *actor
	worker   *worker
	rights   *knownRights
	metrics  *metrics
}

// Rate limit of calls to the API server, per second: client-go's default of 5 would throttle a server.
const (
	callsPerSecond = 100
	callsBurst     = 200
)

// New makes a backend. Nothing is read before Run.
func New(opts Options) (*Backend, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.NewID == nil {
		opts.NewID = newID
	}
	if opts.Convention == "" {
		opts.Convention = Enhanced
	}
	config := rest.CopyConfig(opts.Config)
	if config.QPS == 0 {
		config.QPS, config.Burst = callsPerSecond, callsBurst
	}
	config.DisableCompression = true // costs more CPU than it saves inside a cluster
	b := &Backend{Options: opts, store: newStore(opts.Exposure), rights: newKnownRights(opts.Logger, opts.Metrics), metrics: newMetrics(opts.Metrics)}
	config.Wrap(b.metrics.countCalls)
	var err error
	if b.actor, err = newActor(config, b.store); err != nil {
		return nil, err
	}
	b.cache, b.worker = newCache(b), newWorker(b)
	b.store.changed = b.worker.noticed
	return b, nil
}

func newActor(config *rest.Config, s *store) (*actor, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	a := &actor{store: s}
	if a.virt, err = kubevirtclient.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("client of KubeVirt: %w", err)
	}
	if a.kube, err = kubernetes.NewForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("client of Kubernetes: %w", err)
	}
	a.raw = a.virt.KubevirtV1().RESTClient()
	return a, nil
}

// Run watches the cluster and does the background work until ctx ends.
func (b *Backend) Run(ctx context.Context) {
	var working sync.WaitGroup
	working.Go(func() { b.worker.run(ctx) })
	b.cache.run(ctx)
	working.Wait()
}

// Expose replaces what is served, within a moment.
func (b *Backend) Expose(exposure *auth.Exposure) {
	b.store.expose(exposure)
	b.cache.follow(exposure.Namespaces())
}

// Ready reports whether the state of all machines has been read once. It stays true when the API server is
// lost later.
func (b *Backend) Ready() bool { return b.cache.ready() }

// Machine is part of [redfish.Backend].
func (b *Backend) Machine(who auth.Principal, id redfish.SystemID) (redfish.Machine, error) {
	f := b.store.find(who, string(id), b.Convention)
	if f.machine == nil {
		return nil, b.missing(who)
	}
	if !f.known {
		return nil, redfish.ErrNotReady
	}
	return &handle{found: f, backend: b, now: b.Now()}, nil
}

// missing is why the caller sees nothing: there is nothing, or it has not been read yet.
func (b *Backend) missing(who auth.Principal) error {
	if !b.store.knowsAll(who) {
		return redfish.ErrNotReady
	}
	return redfish.ErrNotFound
}

// Machines is part of [redfish.Backend].
func (b *Backend) Machines(who auth.Principal) (*redfish.Listing, error) {
	if !b.store.knowsAll(who) {
		return nil, redfish.ErrNotReady
	}
	return b.listings.of(b.store, who, auth.AllChassis, b.Convention), nil
}

// Resolve is part of [redfish.Backend].
func (b *Backend) Resolve(who auth.Principal, in auth.ChassisName, name string) (redfish.SystemID, error) {
	if id := b.store.resolve(who, in, name, b.Convention); id != "" {
		return id, nil
	}
	return "", b.missing(who)
}

// Chassis is part of [redfish.Backend].
func (b *Backend) Chassis(who auth.Principal) ([]redfish.Chassis, error) {
	if !b.store.knowsAll(who) {
		return nil, redfish.ErrNotReady
	}
	configured := b.store.granted(who)
	granted := make([]redfish.Chassis, len(configured))
	for i, c := range configured {
		granted[i] = redfish.Chassis{Name: c.Name, Description: c.Description, Machines: b.listings.of(b.store, who, c.Name, b.Convention)}
	}
	return granted, nil
}

// Tasks is part of [redfish.Backend].
func (b *Backend) Tasks(who auth.Principal) ([]redfish.Task, error) {
	if !b.store.knowsAll(who) {
		return nil, redfish.ErrNotReady
	}
	return b.store.tasks(who, b.Now(), b.Convention), nil
}

// newID is short because it is unique per machine only.
func newID() string {
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic(err) // never fails on supported systems
	}
	return hex.EncodeToString(random[:])
}
