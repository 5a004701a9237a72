package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

func (c cluster) watch(t *testing.T, opts metav1.ListOptions) watch.Interface {
	t.Helper()
	w, err := c.kube.CoreV1().ConfigMaps("default").Watch(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return w
}

// next is the next event as TYPE name.
func next(t *testing.T, w watch.Interface) (string, metav1.Object) {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		require.True(t, ok, "the watch has ended")
		if s, isStatus := e.Object.(*metav1.Status); isStatus {
			return string(e.Type) + " " + string(s.Reason), nil
		}
		o := e.Object.(metav1.Object) // everything else has metadata
		return string(e.Type) + " " + o.GetName(), o
	case <-time.After(patience):
		require.Fail(t, "no event")
	}
	return "", nil
}

func requireNext(t *testing.T, w watch.Interface, want string) metav1.Object {
	t.Helper()
	got, o := next(t, w)
	require.Equal(t, want, got)
	return o
}

func (c cluster) label(t *testing.T, name, odd string) *corev1.ConfigMap {
	t.Helper()
	cm, err := c.kube.CoreV1().ConfigMaps("default").Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"odd":"`+odd+`"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	return cm
}

func TestWatchResumesWhereAListEnded(t *testing.T) {
	c := settings(t, 3)
	list, err := c.kube.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	c.label(t, "c-000", "7")
	require.NoError(t, c.kube.CoreV1().ConfigMaps("default").Delete(t.Context(), "c-002", metav1.DeleteOptions{}))
	w := c.watch(t, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	requireNext(t, w, "MODIFIED c-000")
	gone := requireNext(t, w, "DELETED c-002")
	require.NotEqual(t, list.Items[2].ResourceVersion, gone.GetResourceVersion(), "a deletion has a revision of its own")
	last := c.label(t, "c-001", "8")
	require.Equal(t, last.ResourceVersion, requireNext(t, w, "MODIFIED c-001").GetResourceVersion())
}

func TestWatchWithSelectorShowsObjectsEnterAndLeave(t *testing.T) {
	c := settings(t, 2)
	w := c.watch(t, metav1.ListOptions{LabelSelector: "odd=1"})
	requireNext(t, w, "ADDED c-001")
	c.label(t, "c-000", "1")
	requireNext(t, w, "ADDED c-000")
	c.label(t, "c-001", "2")
	requireNext(t, w, "DELETED c-001")
	c.label(t, "c-001", "3")
	c.label(t, "c-000", "1") // no change, no event
	require.NoError(t, c.kube.CoreV1().ConfigMaps("default").Delete(t.Context(), "c-000", metav1.DeleteOptions{}))
	requireNext(t, w, "DELETED c-000")
}

func TestWatchListEndsItsInitialEventsWithABookmark(t *testing.T) {
	c := settings(t, 2)
	w := c.watch(t, metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
	requireNext(t, w, "ADDED c-000")
	requireNext(t, w, "ADDED c-001")
	mark := requireNext(t, w, "BOOKMARK ")
	require.Equal(t, "true", mark.GetAnnotations()[metav1.InitialEventsAnnotationKey])
	resumed := c.watch(t, metav1.ListOptions{ResourceVersion: mark.GetResourceVersion()})
	c.label(t, "c-000", "5")
	requireNext(t, w, "MODIFIED c-000")
	requireNext(t, resumed, "MODIFIED c-000")
}

func TestWatchFromATooOldRevisionIsGone(t *testing.T) {
	c := settings(t, 2)
	list, err := c.kube.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	c.label(t, "c-000", "5")
	c.Faults().Expire("configmaps")
	requireNext(t, c.watch(t, metav1.ListOptions{ResourceVersion: list.ResourceVersion}), "ERROR Expired")
}

func TestHistoryIsBounded(t *testing.T) {
	c := settings(t, 1)
	first := c.label(t, "c-000", "first")
	for i := range 5000 {
		c.label(t, "c-000", string(rune('a'+i%2)))
	}
	requireNext(t, c.watch(t, metav1.ListOptions{ResourceVersion: first.ResourceVersion}), "ERROR Expired")
}

func TestWatchEndsAtItsTimeout(t *testing.T) {
	c := settings(t, 0)
	w := c.watch(t, metav1.ListOptions{TimeoutSeconds: new(int64(1))})
	select {
	case _, ok := <-w.ResultChan():
		require.False(t, ok)
	case <-time.After(patience):
		require.Fail(t, "still open")
	}
}

func TestWatchFaults(t *testing.T) {
	c := settings(t, 1)
	list, err := c.kube.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	w := c.watch(t, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	const lag = 300 * time.Millisecond
	remove := c.Faults().Add(sim.Rule{Resource: "configmaps", WatchLag: lag})
	began := time.Now()
	c.label(t, "c-000", "2")
	c.label(t, "c-000", "3")
	requireNext(t, w, "MODIFIED c-000")
	requireNext(t, w, "MODIFIED c-000")
	require.GreaterOrEqual(t, time.Since(began), lag)
	require.Less(t, time.Since(began), 2*lag, "events wait side by side, not one after the other")
	remove()

	c.Faults().DropWatches("configmaps")
	until(t, func() bool {
		select {
		case _, ok := <-w.ResultChan():
			return !ok
		default:
			return false
		}
	})
}

func TestInformerSurvivesDropsAndExpiry(t *testing.T) {
	c := settings(t, 3)
	f := informers.NewSharedInformerFactory(c.kube, 0)
	in := f.Core().V1().ConfigMaps()
	_ = in.Informer()
	f.Start(t.Context().Done())
	t.Cleanup(f.Shutdown)
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), in.Informer().HasSynced))
	for _, value := range []string{"11", "12"} {
		c.Faults().DropWatches("configmaps")
		c.label(t, "c-001", value)
		c.Faults().Expire("configmaps")
		until(t, func() bool {
			cm, err := in.Lister().ConfigMaps("default").Get("c-001")
			return err == nil && cm.Labels["odd"] == value
		})
	}
}
