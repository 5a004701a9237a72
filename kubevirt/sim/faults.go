package sim

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// Rule is one fault. The first four fields say which requests it hits; empty ones match everything.
type Rule struct {
	User string
	// Verb is a Kubernetes verb: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// Group is the API group, for example subresources.kubevirt.io.
	Group string
	// Resource is the plural name, with the subresource after a slash: virtualmachines/start.
	Resource string

	// Latency is waited before the request is looked at.
	Latency time.Duration
	// Status answers with this code instead, with RetryAfter in the header if it is not zero.
	Status     int
	RetryAfter time.Duration
	// Deny answers 403 as if the user had no right.
	Deny bool
	// Drop cuts the connection before the request does anything.
	Drop bool
	// DropAnswer cuts the connection after the request has been done.
	DropAnswer bool
	// WatchLag delays the events of watches.
	WatchLag time.Duration

	// Times limits the rule to so many requests; 0 is no limit.
	Times int
}

// Faults are the faults in force. Its methods may be used while the server runs.
type Faults struct {
	store *store.Store

	mu    sync.Mutex
	rules []*active
	drops map[string]chan struct{} // by resource
}

type active struct {
	Rule
	hits int
}

func newFaults(s *store.Store) *Faults {
	return &Faults{store: s, drops: map[string]chan struct{}{}}
}

// Add puts a rule in force until remove is called.
func (f *Faults) Add(r Rule) (remove func()) {
	rule := &active{Rule: r}
	f.mu.Lock()
	f.rules = append(f.rules, rule)
	f.mu.Unlock()
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.rules = slices.DeleteFunc(f.rules, func(a *active) bool { return a == rule })
	}
}

// DropWatches cuts all watches of a resource that are open now.
func (f *Faults) DropWatches(resource string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.drops[resource]; c != nil {
		close(c)
		delete(f.drops, resource)
	}
}

// Expire makes all resource versions of a resource that were handed out until now too old: a watch from
// them and a continued list get 410.
func (f *Faults) Expire(plural string) {
	for _, t := range resource.All {
		if t.Plural == plural {
			f.store.Expire(t)
		}
	}
}

func (f *Faults) dropped(resource string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.drops[resource] == nil {
		f.drops[resource] = make(chan struct{})
	}
	return f.drops[resource]
}

func (f *Faults) watchLag(q *request) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lag time.Duration
	for _, r := range f.rules {
		if r.matches(q) {
			lag = max(lag, r.WatchLag)
		}
	}
	return lag
}

// apply does what the rules say before the request is looked at, and returns the writer to answer with.
func (f *Faults) apply(w http.ResponseWriter, q *request, wall clock.Clock) (http.ResponseWriter, error) {
	for _, r := range f.hit(q) {
		if r.Latency > 0 {
			select {
			case <-wall.After(r.Latency):
			case <-q.http.Context().Done():
				return w, q.http.Context().Err()
			}
		}
		switch {
		case r.Drop:
			panic(http.ErrAbortHandler)
		case r.DropAnswer:
			w = swallow{}
		case r.Deny:
			return w, forbidden(q)
		case r.Status != 0:
			return w, r.failure(q)
		}
	}
	return w, nil
}

func (f *Faults) hit(q *request) []Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	var rules []Rule
	for _, r := range f.rules {
		if r.matches(q) && (r.Times == 0 || r.hits < r.Times) {
			r.hits++
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

func (r Rule) matches(q *request) bool {
	match := func(want, have string) bool { return want == "" || want == have }
	return match(r.User, q.user) && match(r.Verb, q.verb) && match(r.Group, q.group) && match(r.Resource, q.target())
}

func (r Rule) failure(q *request) error {
	err := apierrors.NewGenericServerResponse(r.Status, q.verb, noResource, "", "injected fault", int(r.RetryAfter.Seconds()), false)
	if r.Status == http.StatusForbidden {
		return forbidden(q)
	}
	if r.Status == http.StatusGone {
		err.ErrStatus.Reason = metav1.StatusReasonExpired
		err.ErrStatus.Message = fmt.Sprintf("too old resource version (%s)", q.resource)
	}
	return err
}

// swallow is a connection that is cut when the answer is written.
type swallow struct{}

func (swallow) Header() http.Header       { return http.Header{} }
func (swallow) WriteHeader(int)           { panic(http.ErrAbortHandler) }
func (swallow) Write([]byte) (int, error) { panic(http.ErrAbortHandler) }

func (f *Faults) denied(q *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.rules, func(r *active) bool { return r.Deny && r.matches(q) })
}
