package kubevirt

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
)

// cache keeps the store up to date: it watches the machines and claims of each exposed namespace.
type cache struct {
	backend *Backend
	changed chan struct{}
	pages   chan struct{} // see source

	mu      sync.Mutex
	wanted  []string
	watched map[string]*watched
	failing map[string]time.Time // path of each watch that fails, and since when
	told    map[string]bool      // paths whose failure has been logged
	once    sync.Once            // for OnReady
	wasUp   bool                 // every namespace had been read once
}

// watched is a namespace under watch.
type watched struct {
	stop    context.CancelFunc
	running sync.WaitGroup
	synced  map[string]bool // paths that have been answered once, and whether they may be read
}

// known reports whether there is enough to show the machines of the namespace. Without the right to read the
// instances running machines would look as if they were off; without that to read machines there is none to show.
func (w *watched) known(namespace string) bool {
	return len(w.synced) == machineKinds && (w.synced[instancePath(namespace)] || !w.synced[vmPath(namespace)])
}

func instancePath(namespace string) string {
	return "/apis/kubevirt.io/v1/namespaces/" + namespace + "/virtualmachineinstances"
}

// machineKinds is how many of a namespace's watches must have been read before its machines are known.
const machineKinds = 2

// lostAfter is how long the API server may fail to answer before machines say so.
const lostAfter = 5 * time.Second

func newCache(b *Backend) *cache {
	return &cache{
		backend: b, changed: make(chan struct{}, 1), pages: make(chan struct{}, pagesAtOnce), wanted: b.Exposure.Namespaces(),
		watched: map[string]*watched{}, failing: map[string]time.Time{}, told: map[string]bool{},
	}
}

// follow replaces the set of watched namespaces.
func (c *cache) follow(namespaces []string) {
	c.mu.Lock()
	c.wanted = namespaces
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default: // it will see this one too
	}
}

// run watches until ctx ends, then waits for the watches to end.
func (c *cache) run(ctx context.Context) {
	for {
		c.adjust(ctx)
		select {
		case <-ctx.Done():
			for _, w := range c.unwanted(nil) {
				w.running.Wait()
			}
			return
		case <-c.changed:
		}
	}
}

// adjust ends the watches of namespaces that are no longer exposed and starts those that are missing.
func (c *cache) adjust(ctx context.Context) {
	c.mu.Lock()
	wanted := c.wanted
	c.mu.Unlock()
	for namespace, w := range c.unwanted(wanted) {
		w.stop()
		w.running.Wait() // nothing may arrive after it is forgotten
		c.forget(namespace)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, namespace := range wanted {
		if c.watched[namespace] == nil {
			ctx, stop := context.WithCancel(ctx)
			w := &watched{stop: stop, synced: map[string]bool{}}
			c.watched[namespace] = w
			c.start(ctx, namespace, &w.running)
		}
	}
}

// unwanted are the watched namespaces that are not wanted.
func (c *cache) unwanted(wanted []string) map[string]*watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := maps.Clone(c.watched)
	for _, namespace := range wanted {
		delete(left, namespace)
	}
	return left
}

// forget drops all that is known of a namespace, also that its watches failed.
func (c *cache) forget(namespace string) {
	s := c.backend.store
	for _, k := range s.keys(namespace, func(*machine) bool { return true }) {
		s.setVM(k, nil)
		s.setVMI(k, nil)
	}
	for _, k := range s.claimsOf(namespace) {
		s.setClaim(k, nil)
	}
	s.setKnown(namespace, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watched, namespace)
	maps.DeleteFunc(c.failing, func(path string, _ time.Time) bool { return namespaceIn(path) == namespace })
	c.backend.notice(c.longestFailure(), nil)
}

func (c *cache) start(ctx context.Context, namespace string, running *sync.WaitGroup) {
	s := c.backend.store
	virt, core := c.backend.actor.raw, c.backend.actor.kube.CoreV1().RESTClient()
	instances := instancePath(namespace)
	claims := "/api/v1/namespaces/" + namespace + "/persistentvolumeclaims"
	hasVM := func(m *machine) bool { return m.vm != nil }
	hasVMI := func(m *machine) bool { return m.vmi != nil }
	watchKind[wireVM](ctx, c, virt, running, vmPath(namespace), &table[*vmRecord]{
		set: s.setVM, present: func() []key { return s.keys(namespace, hasVM) },
		read:   func() { c.synced(namespace, vmPath(namespace), true) },
		denied: func() { c.synced(namespace, vmPath(namespace), false) },
	})
	watchKind[wireVMI](ctx, c, virt, running, instances, &table[*vmiRecord]{
		set: s.setVMI, present: func() []key { return s.keys(namespace, hasVMI) },
		read:   func() { c.synced(namespace, instances, true) },
		denied: func() { c.synced(namespace, instances, false) },
	})
	watchKind[wirePVC](ctx, c, core, running, claims, &table[*claimRecord]{
		set: s.setClaim, present: func() []key { return s.claimsOf(namespace) }, read: func() {}, denied: func() {},
	})
}

// watchKind runs one reflector.
func watchKind[W any, R record, P wire[W, R]](ctx context.Context, c *cache, client rest.Interface, running *sync.WaitGroup, path string, into *table[R]) {
	from := &source[W, R, P]{client: client, path: path, pages: c.pages, contact: func(err error) { c.contact(path, err, into.denied) }}
	reflector := clientcache.NewReflectorWithOptions(from.listWatch(), runtime.Object(R(nil)), into, clientcache.ReflectorOptions{
		Name: path, Backoff: &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second},
	})
	running.Go(func() { reflector.RunWithContext(ctx) })
}

// synced notes that a resource of a namespace has been read once, or that it may not be read. The machines of a
// namespace are known once both their parts are: from then on they are served, and worked on.
func (c *cache) synced(namespace, path string, readable bool) {
	c.mu.Lock()
	w := c.watched[namespace]
	if w == nil {
		c.mu.Unlock()
		return
	}
	w.synced[path] = readable
	known := w.known(namespace)
	c.mu.Unlock()
	c.backend.store.setKnown(namespace, known)
	if known {
		c.backend.worker.review(namespace)
	}
	if c.ready() && c.backend.OnReady != nil {
		c.once.Do(c.backend.OnReady)
	}
}

// ready reports whether all namespaces have been known at one time.
func (c *cache) ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.wasUp {
		c.wasUp = true
		for _, namespace := range c.wanted {
			if w := c.watched[namespace]; w == nil || len(w.synced) < machineKinds {
				c.wasUp = false
			}
		}
	}
	return c.wasUp
}

// contact notes whether the API server answers. A missing right is an answer: there is nothing to read.
func (c *cache) contact(path string, err error, denied func()) {
	if err != nil && apierrors.IsForbidden(err) {
		c.backend.rights.lacks(right("list and watch "+resourceIn(path)), namespaceIn(path))
		denied()
		err = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && !c.told[path] && !errors.Is(err, context.Canceled) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		c.backend.Logger.Warn("a watch on the cluster fails; it is tried again", "resource", resourceIn(path), "namespace", namespaceIn(path), "err", err)
	}
	c.told[path] = err != nil
	if !unanswered(err) {
		delete(c.failing, path)
	} else if c.failing[path].IsZero() {
		c.failing[path] = c.backend.Now()
	}
	c.backend.notice(c.longestFailure(), err)
}

// longestFailure is since when the API server has not answered, if that is long enough to matter.
func (c *cache) longestFailure() time.Time {
	var since time.Time
	for _, began := range c.failing {
		if since.IsZero() || began.Before(since) {
			since = began
		}
	}
	if since.IsZero() || c.backend.Now().Sub(since) < lostAfter {
		return time.Time{}
	}
	return since
}

// notice tells people and machines when the API server is lost and when it is back.
func (b *Backend) notice(lost time.Time, err error) {
	if lost.IsZero() {
		b.metrics.up.Set(1)
	}
	was := b.store.lostSince()
	if was.IsZero() == lost.IsZero() {
		return
	}
	b.store.setLost(lost)
	if lost.IsZero() {
		b.Logger.Info("the cluster's API answers again", "away", b.Now().Sub(was))
		return
	}
	b.metrics.up.Set(0)
	b.Logger.Error("the cluster's API does not answer; reads go on from memory", "since", lost, "err", err)
}

// unanswered tells errors of the connection and of an ailing server from its considered answers.
func unanswered(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 429 || code >= 500
}

// table is where a reflector puts the objects of one resource of one namespace.
type table[R record] struct {
	set     func(k key, object R) // nil when it is gone
	present func() []key
	read    func() // all is there
	denied  func() // the service may not read it
}

func (t *table[R]) Add(object any) error    { return t.Update(object) }
func (t *table[R]) Resync() error           { return nil }
func (t *table[R]) Update(object any) error { r := object.(R); t.set(r.id().key, r); return nil }
func (t *table[R]) Delete(object any) error { t.set(object.(R).id().key, nil); return nil }

// Replace takes over a complete list: what is not in it is gone.
func (t *table[R]) Replace(objects []any, _ string) error {
	gone := map[key]bool{}
	for _, k := range t.present() {
		gone[k] = true
	}
	for _, object := range objects {
		r := object.(R)
		delete(gone, r.id().key)
		t.set(r.id().key, r)
	}
	for k := range gone {
		t.set(k, nil)
	}
	t.read()
	return nil
}
