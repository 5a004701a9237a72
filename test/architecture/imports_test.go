// Package architecture holds the rules of who may import what.
package architecture

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/kubevirt-redfish/kubevirt-redfish/"

// The direction of imports: what each package must not depend on, directly or through others.
func TestImportsPointInTheAgreedDirection(t *testing.T) {
	rules := map[string]struct{ packages, forbidden []string }{
		"the protocol does not know the platform": {
			[]string{"redfish", "auth"}, []string{"k8s.io/", "kubevirt.io/", "sigs.k8s.io/", module + "kubevirt", module + "cmd"},
		},
		"accounts know nothing of the protocol": {[]string{"auth"}, []string{module + "redfish"}},
		"the simulator imitates the cluster, not the product": {
			[]string{"kubevirt/sim"}, []string{module + "redfish", module + "auth", module + "kubevirt/markers", module + "cmd", module + "test"},
		},
		"the guest model stands alone":     {[]string{"kubevirt/guest"}, []string{"k8s.io/", "kubevirt.io/", module}},
		"markers stand alone":              {[]string{"kubevirt/markers"}, []string{"k8s.io/", "kubevirt.io/", module}},
		"the product does not need itself": {[]string{"kubevirt", "redfish", "auth"}, []string{module + "kubevirt/sim", module + "test", module + "cmd"}},
		"the conformance checks talk HTTP": {[]string{"test/conformance"}, []string{module + "redfish", module + "kubevirt", module + "auth"}},
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, pkg := range rule.packages {
				for _, dep := range dependencies(t, module+pkg) {
					for _, prefix := range rule.forbidden {
						require.False(t, dep == strings.TrimSuffix(prefix, "/") || strings.HasPrefix(dep, prefix), "%s depends on %s", pkg, dep)
					}
				}
			}
		})
	}
}

// dependencies are all packages that pkg is built from, itself excepted.
func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
	require.NoError(t, err)
	var others []string
	for dep := range strings.FieldsSeq(string(text)) {
		if dep != pkg && !strings.HasPrefix(dep, pkg+"/internal/") {
			others = append(others, dep)
		}
	}
	return others
}
