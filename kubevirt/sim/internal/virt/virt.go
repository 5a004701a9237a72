package virt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// workers is how many keys are reconciled at the same time.
const workers = 2

// Delays are how long things take. Guests override the last three by annotation.
type Delays struct {
	Schedule time.Duration // from the launcher pod to a node
	Launch   time.Duration // from there until the instance is Running
	Import   time.Duration // of a DataVolume
	BackOff  time.Duration // unit of the back-off after failed starts; KubeVirt's is 10 s
	Boot     time.Duration // of the guest
	Agent    time.Duration // from booted to the guest agent
	Shutdown time.Duration // of the guest
}

// Options of New. All fields are needed.
type Options struct {
	Store  *store.Store
	Clock  clock.WithTicker
	Delays Delays
	Log    *slog.Logger
	// Jitter returns a number of seconds below max, for the back-off.
	Jitter func(limit time.Duration) time.Duration
}

// Virt is the imitation of KubeVirt on one store.
type Virt struct {
	Options
	queue  workqueue.TypedDelayingInterface[item]
	guests guests
	users  volumeUsers
	seeded uint64 // the revision after the last Seed: what is older needs no look
}

// item is one object to reconcile.
type item struct {
	typ *resource.Type
	key store.Key
}

// New returns a Virt that answers admission and subresources; Run makes it act.
func New(o Options) *Virt {
	return &Virt{
		Options: o,
		seeded:  o.Store.Revision(),
		queue:   workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[item]{Clock: o.Clock}),
		guests:  guests{byUID: map[types.UID]*instance{}, byKey: map[store.Key]types.UID{}},
		users:   volumeUsers{byVolume: map[store.Key]map[store.Key]struct{}{}},
	}
}

// Run reconciles until ctx ends, and returns when all its goroutines have ended.
func (v *Virt) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, t := range resource.All {
		if watched[t] != nil {
			wg.Go(func() { v.pump(ctx, t) })
		}
	}
	for range workers {
		wg.Go(v.work)
	}
	<-ctx.Done()
	v.queue.ShutDown()
	wg.Wait()
}

// watched says which keys an event of a kind concerns.
var watched = map[*resource.Type]func(*Virt, store.Event){
	resource.VirtualMachines: func(v *Virt, e store.Event) { v.enqueue(resource.VirtualMachines, e.Object.Key()) },
	resource.VirtualMachineInstances: func(v *Virt, e store.Event) {
		v.enqueue(resource.VirtualMachineInstances, e.Object.Key())
		v.enqueue(resource.VirtualMachines, e.Object.Key())
	},
	resource.Pods:                   (*Virt).podChanged,
	resource.DataVolumes:            (*Virt).volumeChanged,
	resource.PersistentVolumeClaims: (*Virt).volumeChanged,
	resource.Namespaces:             func(v *Virt, e store.Event) { v.enqueue(resource.Namespaces, e.Object.Key()) },
	resource.Nodes:                  func(v *Virt, _ store.Event) { v.enqueueAll(resource.VirtualMachineInstances) },
}

func (v *Virt) enqueue(t *resource.Type, key store.Key) { v.queue.Add(item{t, key}) }

func (v *Virt) enqueueAfter(t *resource.Type, key store.Key, d time.Duration) {
	v.queue.AddAfter(item{t, key}, d)
}

func (v *Virt) enqueueAll(t *resource.Type) {
	for _, o := range v.Store.List(t).Objects {
		v.enqueue(t, o.Key())
	}
}

// pump turns store events into work.
func (v *Virt) pump(ctx context.Context, t *resource.Type) {
	seen := v.seeded
	for {
		events, upTo, changed, err := v.Store.Changes(t, seen)
		if err != nil { // fell behind the history: look at everything again
			v.enqueueAll(t)
			seen = v.Store.Revision()
			continue
		}
		for _, e := range events {
			watched[t](v, e)
		}
		seen = max(seen, upTo)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (v *Virt) work() {
	for {
		it, shutdown := v.queue.Get()
		if shutdown {
			return
		}
		if err := v.reconcile(it); err != nil {
			if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				v.Log.Error("reconcile failed", "kind", it.typ.Kind, "namespace", it.key.Namespace, "name", it.key.Name, "err", err)
			}
			v.enqueueAfter(it.typ, it.key, 10*time.Millisecond)
		}
		v.queue.Done(it)
	}
}

func (v *Virt) reconcile(it item) error {
	switch it.typ {
	case resource.VirtualMachines:
		return v.reconcileVM(it.key)
	case resource.VirtualMachineInstances:
		return v.reconcileVMI(it.key)
	case resource.Pods:
		return v.reconcilePod(it.key)
	case resource.DataVolumes:
		return v.reconcileDataVolume(it.key)
	case resource.Namespaces:
		return v.reconcileNamespace(it.key)
	}
	return nil
}

func (v *Virt) now() metav1.Time { return metav1.NewTime(v.Clock.Now()).Rfc3339Copy() }

// part is what of an object a change may write.
type part int

const (
	meta part = 1 << iota
	spec
	status
)

// load returns a decoded object, nil when it does not exist.
func load[T any](s *store.Store, t *resource.Type, key store.Key) (*T, *store.Object, error) {
	o, err := s.Get(t, key)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil, nil
		}
		return nil, nil, err
	}
	v := new(T)
	return v, o, o.Into(v)
}

// errStop leaves an object unchanged.
var errStop = errors.New("no change")

// change applies f to the current object until no concurrent writer interferes, and writes the given parts.
// The object's other parts keep their bytes. It returns what f left, nil when the object does not exist.
func change[T any](s *store.Store, t *resource.Type, key store.Key, parts part, f func(*T) error) (*T, error) {
	for {
		v, base, err := load[T](s, t, key)
		if err != nil || v == nil {
			return nil, err
		}
		if err := f(v); err != nil {
			if errors.Is(err, errStop) {
				return v, nil
			}
			return nil, err
		}
		d, err := merge(base, v, parts)
		if err != nil {
			return nil, err
		}
		if _, err = s.Update(base, d, store.Options{}); err == nil {
			return v, nil
		}
		if !apierrors.IsConflict(err) {
			return nil, err
		}
	}
}

func merge(base *store.Object, v any, parts part) (*store.Draft, error) {
	changed, err := store.DraftOf(v)
	if err != nil {
		return nil, err
	}
	d, err := base.Draft()
	if err != nil {
		return nil, err
	}
	if parts&meta != 0 {
		d.Meta = changed.Meta
	}
	for name, p := range map[string]part{"spec": spec, "status": status} {
		if parts&p != 0 {
			d.Fields[name] = changed.Fields[name]
		}
	}
	return d, nil
}

// create stores a new object.
func create(s *store.Store, t *resource.Type, v any) error {
	d, err := store.DraftOf(v)
	if err != nil {
		return err
	}
	if _, err := s.Create(t, d, store.Options{}); err != nil {
		return fmt.Errorf("create %s: %w", t.Kind, err)
	}
	return nil
}
