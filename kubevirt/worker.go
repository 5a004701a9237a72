package kubevirt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// worker does what follows from the state of machines and not from a request: it carries out held power-ons
// and finds out what instance types mean. All it needs to know stands on the objects, so that it may be ended
// at any point and go on in another process.
type worker struct {
	backend *Backend
	queue   workqueue.TypedRateLimitingInterface[key]
}

// First and longest pause before a failed step is tried again.
const (
	retryFirst   = 200 * time.Millisecond
	retryLongest = 30 * time.Second
)

// stepTimeout bounds one step of the worker.
const stepTimeout = 30 * time.Second

func newWorker(b *Backend) *worker {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[key](retryFirst, retryLongest)
	return &worker{backend: b, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
}

// noticed is told of every change of a machine.
func (w *worker) noticed(k key, m *machine) {
	if m != nil && m.vm != nil && (m.hold.waiting() || m.needsExpansion()) {
		w.queue.Add(k)
	}
}

// review takes up the machines of a namespace whose machines are known from now on.
func (w *worker) review(namespace string) {
	for _, k := range w.backend.store.keys(namespace, func(m *machine) bool { return m.vm != nil }) {
		w.noticed(k, w.backend.store.get(k))
	}
}

// hands is how many machines are worked on at the same time, so that one slow answer does not hold up the rest.
const hands = 4

// run works until ctx ends.
func (w *worker) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, w.queue.ShutDown)
	defer stop()
	var working sync.WaitGroup
	for range hands {
		working.Go(func() { w.work(ctx) })
	}
	working.Wait()
}

func (w *worker) work(ctx context.Context) {
	for {
		k, over := w.queue.Get()
		if over {
			return
		}
		w.handle(ctx, k)
		w.queue.Done(k)
	}
}

func (w *worker) handle(ctx context.Context, k key) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	m := w.backend.store.get(k)
	if m == nil || m.vm == nil || !w.backend.store.knows(k.namespace) {
		w.queue.Forget(k) // review brings those back that are not known yet
		return
	}
	err := errors.Join(w.backend.finish(ctx, m), w.backend.expand(ctx, m))
	if err != nil {
		w.backend.Logger.Warn("background work is tried again", "namespace", k.namespace, "system", k.enhanced(), "err", err)
		w.queue.AddRateLimited(k)
		return
	}
	w.queue.Forget(k)
}

// finish takes the next step of a held power-on. Each step tests that the power-on is still held as it was
// read, so that a reset in between cancels it, and a step that another replica takes too is taken once.
func (b *Backend) finish(ctx context.Context, m *machine) error {
	if !m.hold.waiting() || m.hold.Version > powerOnVersion || !m.vm.deleted.IsZero() {
		return nil
	}
	c, ok := holdStep(m, b.Now())
	if !ok {
		return nil
	}
	err := b.actor.act(ctx, m, c)
	switch {
	case err == nil:
		b.Logger.Info("held power-on", "system", m.enhanced(), "namespace", m.namespace, "step", string(c.do), "strategy", string(c.to))
		return nil
	case apierrors.IsNotFound(err), overtaken(err):
		return nil // somebody changed the machine; that change brings us back here
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		failed := m.hold.ended(holdFailed, reasonOf(err), b.Now())
		return b.actor.act(ctx, m, call{do: annotate, hold: failed}) //nolint:wrapcheck // only retried
	default:
		return err //nolint:wrapcheck // only retried
	}
}

// holdStep is the next call of a held power-on; none while it has to wait. A call that writes the hold tests it
// too, also where it stays as it is.
func holdStep(m *machine, now time.Time) (call, bool) {
	done := m.hold.ended(holdDone, "", now)
	switch to := m.startStrategy(); {
	case m.live() && !m.ending(), !m.live() && m.wanted(): // it is on, or will be
		return call{do: annotate, hold: done}, true
	case m.live(), m.blocked(), m.vm.strategy == waitAsReceiver:
		return call{}, false
	case m.vm.strategy == once: // somebody gave it back while the ended instance was in the way
		return call{do: setStrategy, to: halted, keep: once, hold: m.hold}, true
	case m.vm.strategy == halted && m.startsByRequest(to): // then a request, see below
		return call{do: setStrategy, to: to, hold: m.hold}, true
	case m.vm.strategy == halted:
		return call{do: setStrategy, to: to, hold: done}, true
	default:
		return call{do: request}, true
	}
}

// expand finds out what the VM's instance type and preference make of it.
func (b *Backend) expand(ctx context.Context, m *machine) error {
	if !m.needsExpansion() || !b.rights.has(rightExpand) {
		return nil
	}
	path := "/apis/subresources.kubevirt.io/v1/namespaces/" + m.namespace + "/virtualmachines/" + m.name + "/expand-spec"
	text, err := answer(b.actor.raw.Get().AbsPath(path).Do(ctx))
	switch {
	case err != nil && refusedByRBAC(err):
		b.rights.lacks(rightExpand, m.namespace)
		return nil
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("expanding the instance type: %w", err)
	}
	var object wireVM
	if err := json.Unmarshal(text, &object); err != nil {
		return fmt.Errorf("decoding an expanded VM: %w", err)
	}
	h := object.Spec.Template.Spec.hardware()
	h.sizesFrom(object.Spec.DataVolumeTemplates)
	b.store.setExpanded(m.vm, &h)
	return nil
}

var _ redfish.Backend = (*Backend)(nil)
