package redfish_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/conformance"
)

// accepted are the deviations that clients need.
func accepted(f conformance.Finding) bool {
	return f.Rule == "deprecated" && strings.Contains(f.Detail, "VirtualMedia") && strings.HasPrefix(f.URI, "/redfish/v1/Managers/")
}

func TestEveryResourceConforms(t *testing.T) {
	schemas := conformance.FromEnv(t)
	for _, name := range []string{"admin", "operator", "reader", "nobody"} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(redfish.New(options(odd())))
			defer server.Close()
			r := request(http.MethodGet, "/", name, "")
			report, err := conformance.Crawl(t.Context(), conformance.Client{Base: server.URL, Header: r.Header}, "/redfish/v1/", conformance.Options{Schemas: schemas})
			require.NoError(t, err)
			var findings []string
			for _, f := range report.Findings {
				if !accepted(f) {
					findings = append(findings, f.String())
				}
			}
			require.Empty(t, findings)
			t.Logf("%d resources", len(report.Types))
		})
	}
}
