package lab_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

func TestServiceAccountTokenHasTheRightsOfItsRole(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	s.create(core, "serviceaccounts", kube.Object{"metadata": map[string]any{"name": "bmc"}})
	s.create(rbac, "roles", kube.Object{"metadata": map[string]any{"name": "bmc"}, "rules": []any{
		map[string]any{"apiGroups": []any{"kubevirt.io"}, "resources": []any{"virtualmachines"}, "verbs": []any{"list"}},
	}})
	s.create(rbac, "rolebindings", kube.Object{"metadata": map[string]any{"name": "bmc"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "bmc"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "bmc", "namespace": s.name}},
	})
	var request kube.Object
	_, err := s.Do(t.Context(), http.MethodPost, s.path(core, "serviceaccounts", "bmc")+"/token",
		kube.Object{"spec": map[string]any{"expirationSeconds": 3600}}, &request)
	require.NoError(t, err)

	config, err := kube.ReadConfig(suite.kubeconfig)
	require.NoError(t, err)
	bmc := kube.WithToken(config, request.Text("status", "token"))
	var review kube.Object
	_, err = bmc.Do(t.Context(), http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", kube.Object{}, &review)
	require.NoError(t, err)
	require.Equal(t, "system:serviceaccount:"+s.name+":bmc", review.Text("status", "userInfo", "username"))
	for path, want := range map[string]int{
		s.path(kubevirt, "virtualmachines", ""):         http.StatusOK,
		s.path(kubevirt, "virtualmachineinstances", ""): http.StatusForbidden,
		kubevirt + "/virtualmachines":                   http.StatusForbidden,
	} {
		s.eventually(path, http.StatusText(want), func() string { // the authorizer's cache follows the binding
			code, _ := bmc.Do(t.Context(), http.MethodGet, path, nil, nil)
			return http.StatusText(code)
		})
	}
	code, _ := kube.WithToken(config, "forged").Do(t.Context(), http.MethodGet, kubevirt+"/virtualmachines", nil, nil)
	require.Equal(t, http.StatusUnauthorized, code)
}
