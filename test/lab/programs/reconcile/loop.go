// Package reconcile runs a function for the keys of changed objects, and again when the function asks for it.
package reconcile

import (
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Func looks at one object, "namespace/name". It returns when it wants to see it again without an event; 0 is never. After an
// error it is called again with a growing delay.
type Func func(ctx context.Context, key string) (again time.Duration, err error)

// Loop is the queue in front of a Func.
type Loop struct {
	name  string
	sync  Func
	queue workqueue.TypedRateLimitingInterface[string]
}

// New makes a Loop; the name is for its log.
func New(name string, sync Func) *Loop {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 2*time.Second)
	return &Loop{name: name, sync: sync, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
}

// Add asks for a look at an object of an informer, also at a deleted one.
func (l *Loop) Add(object any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
		l.queue.Add(key)
	}
}

// AddKey asks for a look at "namespace/name".
func (l *Loop) AddKey(key string) { l.queue.Add(key) }

// Handler adds every object that an informer reports.
func (l *Loop) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: l.Add, UpdateFunc: func(_, o any) { l.Add(o) }, DeleteFunc: l.Add}
}

// Run works until ctx ends and the running calls have returned.
func (l *Loop) Run(ctx context.Context, workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
	wg.Wait()
}

func (l *Loop) next(ctx context.Context) bool {
	key, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.queue.Done(key)
	again, err := l.sync(ctx, key)
	if err != nil {
		// a conflict only means that the cache is behind
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			slog.Error("reconcile", "loop", l.name, "key", key, "err", err)
		}
		l.queue.AddRateLimited(key)
		return true
	}
	l.queue.Forget(key)
	if again > 0 {
		l.queue.AddAfter(key, again)
	}
	return true
}

// Sooner is the shorter of two delays of which 0 means never.
func Sooner(a, b time.Duration) time.Duration {
	if a <= 0 || (b > 0 && b < a) {
		return max(b, 0)
	}
	return a
}
