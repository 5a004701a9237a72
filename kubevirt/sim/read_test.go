package sim_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

// settings are n ConfigMaps c-000 … in namespace default.
func settings(t *testing.T, n int) cluster {
	t.Helper()
	c := start(t, sim.Options{})
	for i := range n {
		_, err := c.kube.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%03d", i), Labels: map[string]string{"odd": fmt.Sprint(i % 2)}}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return c
}

func TestPagesOfAListShowOneRevision(t *testing.T) {
	c := settings(t, 25)
	api := c.kube.CoreV1().ConfigMaps("default")
	first, err := api.List(t.Context(), metav1.ListOptions{Limit: 10})
	require.NoError(t, err)
	require.Len(t, first.Items, 10)
	require.Equal(t, int64(15), *first.RemainingItemCount)
	require.NoError(t, api.Delete(t.Context(), "c-015", metav1.DeleteOptions{}))
	require.NoError(t, api.Delete(t.Context(), "c-001", metav1.DeleteOptions{}))

	second, err := api.List(t.Context(), metav1.ListOptions{Limit: 10, Continue: first.Continue})
	require.NoError(t, err)
	require.Equal(t, first.ResourceVersion, second.ResourceVersion)
	require.Equal(t, "c-015", second.Items[5].Name, "deleted after the first page")
	third, err := api.List(t.Context(), metav1.ListOptions{Limit: 10, Continue: second.Continue})
	require.NoError(t, err)
	require.Len(t, third.Items, 5)
	require.Empty(t, third.Continue)

	fresh, err := api.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, fresh.Items, 23)
}

func TestSelectorsOfAList(t *testing.T) {
	c := settings(t, 10)
	for name, tc := range map[string]struct {
		opts  metav1.ListOptions
		count int
		bad   bool
	}{
		"label":             {metav1.ListOptions{LabelSelector: "odd=1"}, 5, false},
		"label set":         {metav1.ListOptions{LabelSelector: "odd in (0,1)"}, 10, false},
		"label absent":      {metav1.ListOptions{LabelSelector: "!odd"}, 0, false},
		"name":              {metav1.ListOptions{FieldSelector: "metadata.name=c-003"}, 1, false},
		"namespace":         {metav1.ListOptions{FieldSelector: "metadata.namespace=other"}, 0, false},
		"both, paged":       {metav1.ListOptions{LabelSelector: "odd=1", Limit: 3}, 3, false},
		"unknown field":     {metav1.ListOptions{FieldSelector: "spec.x=1"}, 0, true},
		"broken label":      {metav1.ListOptions{LabelSelector: "=="}, 0, true},
		"broken continue":   {metav1.ListOptions{Continue: "%%%"}, 0, true},
		"invented revision": {metav1.ListOptions{ResourceVersion: "x"}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := c.kube.CoreV1().ConfigMaps("").List(t.Context(), tc.opts)
			if tc.bad {
				require.True(t, apierrors.IsBadRequest(err), err)
				return
			}
			require.NoError(t, err)
			require.Len(t, list.Items, tc.count)
		})
	}
}

func TestFieldsOfPodsAndEventsAreSelectable(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	for selector, want := range map[string]int{"status.phase=Running": 1, "status.phase=Failed": 0, "spec.nodeName!=": 1} {
		pods, err := c.kube.CoreV1().Pods("cp1").List(t.Context(), metav1.ListOptions{FieldSelector: selector})
		require.NoError(t, err)
		require.Len(t, pods.Items, want, selector)
	}
	_, err := c.kube.CoreV1().Events("cp1").Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "VirtualMachine", Name: "node-0"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	events, err := c.kube.CoreV1().Events("cp1").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=VirtualMachine,involvedObject.name=node-0"})
	require.NoError(t, err)
	require.Len(t, events.Items, 1)
}

func TestListPagesExpire(t *testing.T) {
	c := settings(t, 5)
	api := c.kube.CoreV1().ConfigMaps("default")
	first, err := api.List(t.Context(), metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	c.Faults().Expire("configmaps")
	_, err = api.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: first.Continue})
	require.True(t, apierrors.IsResourceExpired(err), err)
}

func TestMetadataOnlyForm(t *testing.T) {
	c := settings(t, 3)
	m, err := metadata.NewForConfig(c.RESTConfig())
	require.NoError(t, err)
	list, err := m.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).List(t.Context(), metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	require.Equal(t, "c-000", list.Items[0].Name)
	require.NotEmpty(t, list.Continue)
}

func TestTableForm(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	b, err := c.virt.KubevirtV1().RESTClient().Get().AbsPath("/apis/kubevirt.io/v1/namespaces/cp1/virtualmachines").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	require.NoError(t, err)
	var table metav1.Table
	require.NoError(t, json.Unmarshal(b, &table))
	var names []string
	for _, col := range table.ColumnDefinitions {
		names = append(names, col.Name)
	}
	require.Equal(t, []string{"Name", "Age", "Status", "Ready"}, names)
	require.Equal(t, "node-0", table.Rows[0].Cells[0])
	require.Equal(t, []any{"Running", "True"}, table.Rows[0].Cells[2:])
	require.Equal(t, []any{"Stopped", "False"}, table.Rows[1].Cells[2:])
}

func TestDiscoveryNamesEverything(t *testing.T) {
	c := start(t, sim.Options{})
	_, lists, err := c.kube.Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	found := map[string]bool{}
	for _, l := range lists {
		for _, r := range l.APIResources {
			found[l.GroupVersion+"/"+r.Name] = true
		}
	}
	for _, want := range []string{"v1/pods", "v1/pods/status", "kubevirt.io/v1/virtualmachines", "cdi.kubevirt.io/v1beta1/datavolumes",
		"subresources.kubevirt.io/v1/virtualmachines/start", "subresources.kubevirt.io/v1/virtualmachineinstances/pause",
		"authorization.k8s.io/v1/selfsubjectaccessreviews", "coordination.k8s.io/v1/leases"} {
		require.True(t, found[want], want)
	}
	v, err := c.kube.Discovery().ServerVersion()
	require.NoError(t, err)
	require.Equal(t, "1", v.Major)
}

func TestUnservedPathsAreNotFound(t *testing.T) {
	c := start(t, sim.Options{})
	for _, path := range []string{"/nothing", "/apis/nothing.io", "/apis/kubevirt.io/v7", "/apis/kubevirt.io/v1/nothings", "/api/v1/namespaces/default/pods/x/log",
		"/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes/x/scale", "/api" + "/v9/pods"} {
		_, err := c.kube.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		require.True(t, apierrors.IsNotFound(err), "%s: %v", path, err)
	}
}
