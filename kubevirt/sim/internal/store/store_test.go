package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

const (
	writers    = 4
	operations = 2000
	names      = 20
)

// TestRandomWritesLeaveAWatcherWithWhatAListShows runs concurrent writers beside a watcher: revisions only grow, and
// the events replayed give exactly the final list.
func TestRandomWritesLeaveAWatcherWithWhatAListShows(t *testing.T) {
	s := store.New(testingclock.NewFakePassiveClock(time.Unix(1_800_000_000, 0)))
	begin := s.List(resource.ConfigMaps).Revision
	stop := make(chan struct{})
	replayed := make(chan map[store.Key]string, 1)
	go func() { replayed <- replay(t, s, begin, stop) }()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { scribble(t, s, rand.New(rand.NewPCG(uint64(w), 7))) })
	}
	wg.Wait()
	close(stop)
	want := map[store.Key]string{}
	for _, o := range s.List(resource.ConfigMaps).Objects {
		want[o.Key()] = string(o.JSON)
	}
	require.Equal(t, want, <-replayed)
}

// scribble creates, changes and deletes objects at random; conflicts are part of it.
func scribble(t *testing.T, s *store.Store, r *rand.Rand) {
	t.Helper()
	for i := range operations {
		key := store.Key{Namespace: "n", Name: fmt.Sprint("c", r.IntN(names))}
		o, err := s.Get(resource.ConfigMaps, key)
		switch {
		case err != nil:
			d := &store.Draft{Meta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Fields: map[string]json.RawMessage{}}
			if r.IntN(4) == 0 {
				d.Meta.Finalizers = []string{"x.io/hold"}
			}
			_, err = s.Create(resource.ConfigMaps, d, store.Options{})
		case r.IntN(4) == 0:
			_, _, err = s.Delete(resource.ConfigMaps, key, metav1.DeleteOptions{})
		default:
			var d *store.Draft
			if d, err = o.Draft(); err == nil {
				d.Fields["data"] = fmt.Appendf(nil, `{"i":"%d"}`, i)
				if o.Meta.DeletionTimestamp != nil {
					d.Meta.Finalizers = nil
				}
				_, err = s.Update(o, d, store.Options{})
			}
		}
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			t.Errorf("unexpected: %v", err)
		}
	}
}

// replay follows the events until stop and nothing is left.
func replay(t *testing.T, s *store.Store, seen uint64, stop <-chan struct{}) map[store.Key]string {
	t.Helper()
	state := map[store.Key]string{}
	last := seen
	for {
		stopped := false
		select {
		case <-stop:
			stopped = true
		default:
		}
		events, upTo, changed, err := s.Changes(resource.ConfigMaps, seen)
		if err != nil {
			t.Errorf("fell behind: %v", err)
			return state
		}
		for _, e := range events {
			if e.Revision <= last || (e.Type == watch.Added) == (state[e.Object.Key()] != "") {
				t.Errorf("%s of %v at %d after %d", e.Type, e.Object.Key(), e.Revision, last)
			}
			last = e.Revision
			state[e.Object.Key()] = string(e.Object.JSON)
			if e.Type == watch.Deleted {
				delete(state, e.Object.Key())
			}
		}
		seen = upTo
		if stopped {
			return state
		}
		select {
		case <-changed:
		case <-stop:
		}
	}
}

func TestSecondDeletionMayOnlyShortenTheGracePeriod(t *testing.T) {
	c := testingclock.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	s := store.New(c)
	key := store.Key{Namespace: "n", Name: "p"}
	_, err := s.Create(resource.Pods, &store.Draft{Meta: metav1.ObjectMeta{Namespace: "n", Name: "p"}}, store.Options{})
	require.NoError(t, err)
	for _, step := range []struct {
		grace, want int64
	}{{60, 60}, {90, 60}, {10, 10}, {30, 10}} {
		o, gone, err := s.Delete(resource.Pods, key, metav1.DeleteOptions{GracePeriodSeconds: &step.grace})
		require.NoError(t, err)
		require.False(t, gone)
		require.Equal(t, step.want, *o.Meta.DeletionGracePeriodSeconds)
		require.WithinDuration(t, c.Now().Add(time.Duration(step.want)*time.Second), o.Meta.DeletionTimestamp.Time, 0)
	}
	_, gone, err := s.Delete(resource.Pods, key, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	require.NoError(t, err)
	require.True(t, gone)
}

func TestConcurrentUpdatesAreNeverLost(t *testing.T) {
	s := store.New(testingclock.NewFakePassiveClock(time.Unix(1_800_000_000, 0)))
	key := store.Key{Namespace: "n", Name: "counter"}
	_, err := s.Create(resource.ConfigMaps, &store.Draft{Meta: metav1.ObjectMeta{Namespace: "n", Name: "counter"}, Fields: map[string]json.RawMessage{"data": []byte("0")}}, store.Options{})
	require.NoError(t, err)
	const each = 300
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < each; {
				if increment(t, s, key) {
					done++
				}
			}
		})
	}
	wg.Wait()
	o, err := s.Get(resource.ConfigMaps, key)
	require.NoError(t, err)
	d, err := o.Draft()
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(writers*each), string(d.Fields["data"]))
}

// increment is false after a conflict.
func increment(t *testing.T, s *store.Store, key store.Key) bool {
	t.Helper()
	o, err := s.Get(resource.ConfigMaps, key)
	if err != nil {
		t.Error(err)
		return true
	}
	d, err := o.Draft()
	if err != nil {
		t.Error(err)
		return true
	}
	var n int
	_ = json.Unmarshal(d.Fields["data"], &n) // always a number
	d.Fields["data"] = fmt.Append(nil, n+1)
	runtime.Gosched()
	_, err = s.Update(o, d, store.Options{})
	if err != nil && !apierrors.IsConflict(err) {
		t.Error(err)
		return true
	}
	return err == nil
}
