package e2e

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt"
)

const (
	missingRights = "kubevirt_redfish_missing_rights"
	lacksARight   = "the service lacks a right on the cluster"
)

// exercise makes use of every right: it reads a machine of an instance type and resets it in all ways.
func (s *Space) exercise(t *testing.T, p *Product) {
	t.Helper()
	s.createInstancetype(t)
	id := s.create(t, "node-0", machine{strategy: byHand, change: ofInstancetype})
	s.shows(t, p, id, "Off Enabled OK")
	for _, step := range []struct{ how, end string }{
		{"On", "On"}, {"Pause", "Paused"}, {"Resume", "On"}, {"ForceRestart", "On"}, {"GracefulRestart", "On"}, {"GracefulShutdown", "Off"}, {"On", "On"}, {"ForceOff", "Off"},
	} {
		s.accepted(t, p, id, step.how)
		s.shows(t, p, id, step.end+" Enabled OK")
		s.settled(t, "node-0")
	}
}

// With our rights nothing is missing.
func TestLabOurRightsAreEnough(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, OurRights)
	p := s.Serve(t)
	s.exercise(t, p)
	require.Empty(t, p.Log.Records(lacksARight))
	require.Zero(t, testutil.CollectAndCount(p.Metrics, missingRights))
}

// With the documented rights everything works as well; each right that is missing is logged once and shown.
func TestLabMissingRightsAreShownOnce(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, DocumentedRights)
	p := s.Serve(t)
	s.exercise(t, p)
	var lines []string
	for _, right := range []string{"get virtualmachines/expand-spec", "update virtualmachines/restart", "update virtualmachines/start", "update virtualmachines/stop"} {
		lines = append(lines, missingRights+`{namespace="`+s.Name+`",right="`+right+`"} 1`)
		var logged int
		for _, record := range p.Log.Records(lacksARight) {
			if record["right"] == right {
				logged++
			}
		}
		require.Equal(t, 1, logged, right)
	}
	require.Len(t, p.Log.Records(lacksARight), len(lines))
	want := "# HELP " + missingRights + " 1 for each right on the cluster that was refused to the service.\n# TYPE " + missingRights + " gauge\n" + strings.Join(lines, "\n") + "\n"
	require.NoError(t, testutil.GatherAndCompare(p.Metrics, strings.NewReader(want), missingRights))
}

// A namespace that the service may not read is empty; the others are served.
func TestLabUnreadableNamespaceIsEmpty(t *testing.T) {
	t.Parallel()
	s, other := NewSpace(t, OurRights), NewSpace(t, OurRights)
	id, hidden := s.create(t, "node-0", machine{}), other.create(t, "node-0", machine{})
	p := Start(t, Config{
		Cluster: s.Account,
		Chassis: []auth.Chassis{{Name: "ours", Namespace: s.Name}, {Name: "theirs", Namespace: other.Name}},
		Users:   []auth.Account{User(t, Admin, auth.Administrator, auth.AllChassis)},
	})
	s.shows(t, p, id, "Off Enabled OK")
	require.Equal(t, []string{id}, members(t, p, Admin, "/redfish/v1/Systems"))
	require.Equal(t, http.StatusNotFound, p.Do(t, Admin, http.MethodGet, "/redfish/v1/Systems/"+hidden, nil).Status)
	require.NotEmpty(t, p.Log.Records(lacksARight))
	s.accepted(t, p, id, "On")
	s.shows(t, p, id, "On Enabled OK")
}

// The rights reach no further than they have to.
func TestLabOurRightsAreNarrow(t *testing.T) {
	t.Parallel()
	s, other := NewSpace(t, OurRights), NewSpace(t, OurRights)
	require.NoError(t, s.apply(t.Context(), s.moved(manifest("identity"))))
	client, err := kubernetes.NewForConfig(s.Account)
	require.NoError(t, err)
	may := func(a authorizationv1.ResourceAttributes) bool {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &a}}
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		require.NoError(t, err)
		return answer.Status.Allowed
	}
	eventually(t, "the cluster's identity can be read", func() bool {
		return may(authorizationv1.ResourceAttributes{Verb: "get", Resource: "namespaces", Namespace: metav1.NamespaceSystem, Name: metav1.NamespaceSystem})
	})
	require.True(t, may(authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: s.Name, Name: "kubevirt-redfish-tls"}))
	require.True(t, may(authorizationv1.ResourceAttributes{Verb: "patch", Group: "kubevirt.io", Resource: "virtualmachines", Namespace: s.Name}))
	for what, a := range map[string]authorizationv1.ResourceAttributes{
		"other Secrets":         {Verb: "get", Resource: "secrets", Namespace: s.Name, Name: "other"},
		"all Secrets":           {Verb: "list", Resource: "secrets", Namespace: s.Name},
		"Secrets elsewhere":     {Verb: "create", Resource: "secrets", Namespace: other.Name},
		"machines elsewhere":    {Verb: "list", Group: "kubevirt.io", Resource: "virtualmachines", Namespace: other.Name},
		"deleting machines":     {Verb: "delete", Group: "kubevirt.io", Resource: "virtualmachines", Namespace: s.Name},
		"making machines":       {Verb: "create", Group: "kubevirt.io", Resource: "virtualmachines", Namespace: s.Name},
		"changing instances":    {Verb: "patch", Group: "kubevirt.io", Resource: "virtualmachineinstances", Namespace: s.Name},
		"pods":                  {Verb: "list", Resource: "pods", Namespace: s.Name},
		"running commands":      {Verb: "create", Resource: "pods", Subresource: "exec", Namespace: s.Name},
		"other namespaces":      {Verb: "get", Resource: "namespaces", Namespace: "default", Name: "default"},
		"the guest's console":   {Verb: "get", Group: "subresources.kubevirt.io", Resource: "virtualmachineinstances", Subresource: "vnc", Namespace: s.Name},
		"rights of its own":     {Verb: "update", Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Namespace: s.Name},
		"tokens of its account": {Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: s.Name},
	} {
		require.False(t, may(a), what)
	}
}

// The generated key pair is kept in its Secret, with our rights and with the documented ones.
func TestLabKeyPairIsKept(t *testing.T) {
	bothRights(t, func(t *testing.T, s *Space) {
		client, err := kubernetes.NewForConfig(s.Account)
		require.NoError(t, err)
		log := &Log{}
		store := func() *kubevirt.PairSecret {
			return kubevirt.NewPairSecret(client.CoreV1().Secrets(s.Name), "kubevirt-redfish-tls", slog.New(slog.NewJSONHandler(log, nil)))
		}
		_, err = store().Load(t.Context())
		require.ErrorIs(t, err, auth.ErrNoPair)
		first := auth.Pair{Certificate: []byte("certificate 1"), Key: []byte("key 1")}
		second := auth.Pair{Certificate: []byte("certificate 2"), Key: []byte("key 2")}
		kept, err := store().Save(t.Context(), auth.Pair{}, first)
		require.NoError(t, err)
		require.Equal(t, first, kept)
		kept, err = store().Save(t.Context(), auth.Pair{}, second)
		require.NoError(t, err)
		require.Equal(t, first, kept, "the first replica's pair wins")
		kept, err = store().Save(t.Context(), first, second)
		require.NoError(t, err)
		require.Equal(t, second, kept)
		kept, err = store().Load(t.Context())
		require.NoError(t, err)
		require.Equal(t, second, kept)
		require.Empty(t, log.String())
	})
}
