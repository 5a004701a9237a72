package conformance_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/conformance"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/e2e"
)

// Every resource that the product serves is valid, and every link in it leads to one, whatever state the
// machines are in and whoever asks.
func TestProductConforms(t *testing.T) {
	schemas := conformance.FromEnv(t)
	cases := map[string]struct {
		user       auth.UserName
		convention kubevirt.Convention
		least      int // resources; fewer mean that the crawl did not get far
	}{
		"administrator, enhanced ids": {e2e.Admin, kubevirt.Enhanced, 300},
		"administrator, legacy ids":   {e2e.Admin, kubevirt.Legacy, 300},
		"one chassis":                 {e2e.Operator, kubevirt.Enhanced, 30},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, _ := e2e.Odd(t, func(config *e2e.Config) { config.Convention = c.convention })
			p.SettleOdd(t)
			credentials := base64.StdEncoding.EncodeToString([]byte(string(c.user) + ":" + e2e.Password))
			client := conformance.Client{Base: p.URL, HTTP: p.Client(), Header: http.Header{"Authorization": {"Basic " + credentials}}}
			report, err := conformance.Crawl(t.Context(), client, "/redfish/v1/", conformance.Options{Schemas: schemas})
			require.NoError(t, err)
			require.Greater(t, len(report.Types), c.least)
			require.Empty(t, without(report, "Manager", "VirtualMedia"))
		})
	}
}

// without renders the findings except the deprecation of one property: Manager.VirtualMedia is deprecated in
// the schema, and what most installers use.
func without(report *conformance.Report, resource, property string) string {
	var left strings.Builder
	for line := range strings.Lines(report.String()) {
		if strings.Contains(line, "deprecated") && strings.Contains(line, "/"+resource+"s/") && strings.Contains(line, property) {
			continue
		}
		left.WriteString(line)
	}
	return left.String()
}
