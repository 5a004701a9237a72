package sim_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

const account = "system:serviceaccount:bmc:bmc"

func limited(t *testing.T) (admin, bmc cluster) {
	t.Helper()
	admin = start(t, sim.Options{Fleet: sim.DefaultFleet(), Delays: immediate(), Users: []sim.User{{Name: account, Token: "bmc-token", Rights: []sim.Right{
		{Groups: []string{"kubevirt.io"}, Resources: []string{"virtualmachines"}, Verbs: []string{"get", "list", "watch"}},
		{Groups: []string{"subresources.kubevirt.io"}, Resources: []string{"virtualmachines/start"}, Verbs: []string{"update"}, Namespaces: []string{"cp1"}},
	}}}})
	return admin, clients(t, admin.Server, account)
}

func (c cluster) may(t *testing.T, verb, group, resource, sub string) bool {
	t.Helper()
	r, err := c.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: sub, Namespace: "cp1"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return r.Status.Allowed
}

func TestUsersHaveTheirRightsOnly(t *testing.T) {
	admin, bmc := limited(t)
	require.Len(t, mustList(t, bmc), 3)
	require.NoError(t, bmc.virt.KubevirtV1().VirtualMachines("cp1").Start(t.Context(), "node-1", &kubevirtv1.StartOptions{}))
	require.True(t, bmc.may(t, "update", "subresources.kubevirt.io", "virtualmachines", "start"))
	require.False(t, bmc.may(t, "update", "subresources.kubevirt.io", "virtualmachines", "stop"))
	require.True(t, admin.may(t, "delete", "", "namespaces", ""))

	err := bmc.virt.KubevirtV1().VirtualMachines("cp1").Stop(t.Context(), "node-0", &kubevirtv1.StopOptions{})
	require.True(t, apierrors.IsForbidden(err))
	require.Equal(t, `virtualmachines.subresources.kubevirt.io "node-0" is forbidden: User "system:serviceaccount:bmc:bmc" cannot update resource "virtualmachines/stop" in API group "subresources.kubevirt.io" in the namespace "cp1"`, err.Error())
	_, err = bmc.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.Equal(t, `nodes is forbidden: User "system:serviceaccount:bmc:bmc" cannot list resource "nodes" in API group "" at the cluster scope`, err.Error())

	_, err = clients(t, admin.Server, "nobody").kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err), err)
}

func mustList(t *testing.T, c cluster) []kubevirtv1.VirtualMachine {
	t.Helper()
	vms, err := c.virt.KubevirtV1().VirtualMachines("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return vms.Items
}

func TestFaultsHitWhatTheyNameUntilRemoved(t *testing.T) {
	admin, bmc := limited(t)
	get := func(c cluster) error {
		_, err := c.virt.KubevirtV1().VirtualMachines("cp1").Get(t.Context(), "node-0", metav1.GetOptions{})
		return err
	}
	for name, tc := range map[string]struct {
		rule  sim.Rule
		check func(error) bool
	}{
		"unavailable": {sim.Rule{Verb: "get", Resource: "virtualmachines", Status: http.StatusServiceUnavailable}, apierrors.IsServiceUnavailable},
		"throttled":   {sim.Rule{Verb: "get", Status: http.StatusTooManyRequests}, apierrors.IsTooManyRequests},
		"conflict":    {sim.Rule{Verb: "get", Status: http.StatusConflict}, apierrors.IsConflict},
		"gone":        {sim.Rule{Verb: "get", Status: http.StatusGone}, apierrors.IsResourceExpired},
		"internal":    {sim.Rule{Status: http.StatusInternalServerError}, apierrors.IsInternalError},
		"denied":      {sim.Rule{Group: "kubevirt.io", Deny: true}, apierrors.IsForbidden},
		"403":         {sim.Rule{Group: "kubevirt.io", Status: http.StatusForbidden}, apierrors.IsForbidden},
		"dropped":     {sim.Rule{Resource: "virtualmachines", Drop: true}, func(err error) bool { return err != nil && status(err).Code == 0 }},
		"other verb":  {sim.Rule{Verb: "list", Status: 500}, func(err error) bool { return err == nil }},
		"other user":  {sim.Rule{User: account, Status: 500}, func(err error) bool { return err == nil }},
		"other sub":   {sim.Rule{Resource: "virtualmachines/start", Status: 500}, func(err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			remove := admin.Faults().Add(tc.rule)
			err := get(admin)
			require.True(t, tc.check(err), err)
			remove()
			require.NoError(t, get(admin))
		})
	}
	remove := admin.Faults().Add(sim.Rule{User: account, Group: "subresources.kubevirt.io", Deny: true})
	require.False(t, bmc.may(t, "update", "subresources.kubevirt.io", "virtualmachines", "start"), "a review agrees with the request")
	remove()
	require.True(t, bmc.may(t, "update", "subresources.kubevirt.io", "virtualmachines", "start"))
}

func TestFaultCanBeLimitedToSomeRequests(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	c.Faults().Add(sim.Rule{Verb: "get", Status: http.StatusConflict, Times: 2})
	codes := []int32{}
	for range 3 {
		_, err := c.virt.KubevirtV1().VirtualMachines("cp1").Get(t.Context(), "node-0", metav1.GetOptions{})
		codes = append(codes, status(err).Code)
	}
	require.Equal(t, []int32{409, 409, 0}, codes)
}

func TestRetryAfterIsSent(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	c.Faults().Add(sim.Rule{Verb: "get", Status: http.StatusTooManyRequests, RetryAfter: time.Second, Times: 1})
	began := time.Now()
	_, err := c.virt.KubevirtV1().VirtualMachines("cp1").Get(t.Context(), "node-0", metav1.GetOptions{})
	require.NoError(t, err, "client-go waits and tries again")
	require.GreaterOrEqual(t, time.Since(began), time.Second)
}

func TestLatencyDelaysARequest(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	const latency = 200 * time.Millisecond
	c.Faults().Add(sim.Rule{Resource: "virtualmachines", Latency: latency})
	began := time.Now()
	mustList(t, c)
	require.GreaterOrEqual(t, time.Since(began), latency)
}

func TestDroppedAnswerIsOfARequestThatWasDone(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet(), Delays: immediate()})
	remove := c.Faults().Add(sim.Rule{Verb: "patch", DropAnswer: true})
	_, err := c.virt.KubevirtV1().VirtualMachines("cp1").Patch(t.Context(), "node-1", types.MergePatchType, []byte(`{"metadata":{"labels":{"done":"yes"}}}`), metav1.PatchOptions{})
	require.Error(t, err)
	remove()
	require.Equal(t, "yes", c.vm(t, "node-1").Labels["done"])
}
