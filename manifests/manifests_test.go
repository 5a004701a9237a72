package manifests_test

import (
	"bytes"
	"io/fs"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubevirt-redfish/kubevirt-redfish/manifests"
)

// object is the part of a manifest that these tests look at.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Rules    []rbacv1.PolicyRule `json:"rules"`
	RoleRef  rbacv1.RoleRef      `json:"roleRef"`
	Subjects []rbacv1.Subject    `json:"subjects"`
}

func objects(t *testing.T) []object {
	t.Helper()
	names, err := fs.Glob(manifests.Files, "rbac/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var all []object
	for _, name := range names {
		text, err := manifests.Files.ReadFile(name)
		require.NoError(t, err)
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var o object
			require.NoError(t, yaml.Unmarshal(document, &o), name)
			all = append(all, o)
		}
	}
	return all
}

// A service that is taken over must not hand out the cluster: no right is general, and Secrets can be read by
// name alone, in the service's own namespace.
func TestRightsAreNarrow(t *testing.T) {
	for _, o := range objects(t) {
		for _, rule := range o.Rules {
			require.Empty(t, rule.NonResourceURLs, o.Metadata.Name)
			for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames} {
				require.NotContains(t, part, "*", o.Metadata.Name)
			}
			for _, verb := range rule.Verbs {
				require.NotContains(t, []string{"escalate", "bind", "impersonate", "deletecollection"}, verb, o.Metadata.Name)
			}
			if slices.Contains(rule.Resources, "secrets") {
				require.Equal(t, "Role", o.Kind)
				require.Equal(t, "kubevirt-redfish", o.Metadata.Namespace)
				require.True(t, len(rule.ResourceNames) > 0 || slices.Equal(rule.Verbs, []string{"create"}), "secrets by name only")
				require.Subset(t, []string{"create", "get", "update"}, rule.Verbs)
			}
		}
	}
}

func TestBindingsConnectWhatThereIs(t *testing.T) {
	all := objects(t)
	exists := func(kind, namespace, name string) bool {
		return slices.ContainsFunc(all, func(o object) bool {
			return o.Kind == kind && o.Metadata.Namespace == namespace && o.Metadata.Name == name
		})
	}
	var bound int
	for _, o := range all {
		if o.RoleRef.Name == "" {
			continue
		}
		bound++
		namespace := map[string]string{"Role": "kubevirt-redfish"}[o.RoleRef.Kind]
		require.True(t, exists(o.RoleRef.Kind, namespace, o.RoleRef.Name), "%s %s binds a role that is not there", o.Kind, o.Metadata.Name)
		require.Len(t, o.Subjects, 1)
		require.True(t, exists("ServiceAccount", o.Subjects[0].Namespace, o.Subjects[0].Name), "%s binds nobody", o.Metadata.Name)
	}
	require.Equal(t, 4, bound)
}
