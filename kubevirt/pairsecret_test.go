package kubevirt

import (
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

func secretsOf(t *testing.T) (*sim.Server, corev1client.SecretInterface) {
	t.Helper()
	cluster, err := sim.Start(t.Context(), sim.Options{Fleet: sim.DefaultFleet()})
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	require.NoError(t, err)
	return cluster, client.CoreV1().Secrets("cp1")
}

func pair(name string) auth.Pair {
	return auth.Pair{Certificate: []byte("certificate " + name), Key: []byte("key " + name)}
}

// Replicas that start at the same moment end up with one pair, and so do later ones.
func TestReplicasAgreeOnOnePair(t *testing.T) {
	_, secrets := secretsOf(t)
	kept := make([]auth.Pair, 8)
	var group sync.WaitGroup
	for i := range kept {
		group.Go(func() {
			store := NewPairSecret(secrets, "pair", slog.New(slog.DiscardHandler))
			var err error
			kept[i], err = store.Save(t.Context(), auth.Pair{}, pair(string(rune('a'+i))))
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range kept {
		require.Equal(t, kept[0], kept[i])
	}
	store := NewPairSecret(secrets, "pair", slog.New(slog.DiscardHandler))
	loaded, err := store.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, kept[0], loaded)

	renewed, err := store.Save(t.Context(), loaded, pair("renewed"))
	require.NoError(t, err)
	require.Equal(t, pair("renewed"), renewed)
	late, err := store.Save(t.Context(), loaded, pair("late"))
	require.NoError(t, err)
	require.Equal(t, pair("renewed"), late, "another replica was first")

	secret, err := secrets.Get(t.Context(), "pair", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "kubevirt-redfish", secret.Labels["app.kubernetes.io/managed-by"])
}

// Without the right to Secrets the pair lives in memory; with a failing API server there is an error and no pair.
func TestThePairLivesInMemoryWithoutRights(t *testing.T) {
	cluster, secrets := secretsOf(t)
	for name, verb := range map[string]string{"nothing allowed": "", "read only": "create"} {
		t.Run(name, func(t *testing.T) {
			defer cluster.Faults().Add(sim.Rule{Verb: verb, Resource: "secrets", Deny: true})()
			store := NewPairSecret(secrets, "pair", slog.New(slog.DiscardHandler))
			_, err := store.Load(t.Context())
			require.ErrorIs(t, err, auth.ErrNoPair)
			saved, err := store.Save(t.Context(), auth.Pair{}, pair("mine"))
			require.NoError(t, err)
			require.Equal(t, pair("mine"), saved)
			loaded, err := store.Load(t.Context())
			require.NoError(t, err)
			require.Equal(t, pair("mine"), loaded)
		})
	}
	cluster.Faults().Add(sim.Rule{Resource: "secrets", Status: http.StatusInternalServerError})
	store := NewPairSecret(secrets, "pair", slog.New(slog.DiscardHandler))
	_, err := store.Load(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, auth.ErrNoPair)
}
