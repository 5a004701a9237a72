package sim

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// TestBookmarksTellHowFarAWatchIs uses a clock of its own for the connection, since bookmarks are rare.
func TestBookmarksTellHowFarAWatchIs(t *testing.T) {
	wall := testingclock.NewFakeClock(time.Unix(1_800_000_000, 0))
	st := store.New(wall)
	a := &api{store: st, users: &users{[]User{{Name: DefaultUser, Token: "t"}}}, faults: newFaults(st), wall: wall, log: slog.New(slog.DiscardHandler)}
	srv := httptest.NewServer(a)
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/api/v1/configmaps?watch=true&resourceVersion=1&allowWatchBookmarks=true", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer t")
	resp, err := srv.Client().Do(req)
	require.NoError(t, err)
	defer func() { _, _ = io.Copy(io.Discard, resp.Body) }()
	defer func() { _ = resp.Body.Close() }()
	defer srv.CloseClientConnections()
	events := json.NewDecoder(resp.Body)

	_, err = st.Create(resource.Secrets, &store.Draft{Meta: metav1.ObjectMeta{Namespace: "n", Name: "other-kind"}}, store.Options{})
	require.NoError(t, err)
	_, err = st.Create(resource.ConfigMaps, &store.Draft{Meta: metav1.ObjectMeta{Namespace: "n", Name: "c"}}, store.Options{})
	require.NoError(t, err)
	var f frame
	require.NoError(t, events.Decode(&f))
	require.Equal(t, watch.Added, f.Type)
	_, err = st.Create(resource.Secrets, &store.Draft{Meta: metav1.ObjectMeta{Namespace: "n", Name: "later"}}, store.Options{})
	require.NoError(t, err)
	wall.Step(bookmarkInterval)
	require.NoError(t, events.Decode(&f))
	require.Equal(t, watch.Bookmark, f.Type)
	var mark metav1.PartialObjectMetadata
	require.NoError(t, json.Unmarshal(f.Object, &mark))
	require.Equal(t, "ConfigMap", mark.Kind)
	require.Equal(t, "4", mark.ResourceVersion, "changes of other kinds count")
}
