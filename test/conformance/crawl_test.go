package conformance

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	infoURI     = systemURI + "/ResetActionInfo"
	nextURI     = systemsURI + "?$skip=1"
	secondURI   = systemsURI + "/vm2"
	fileURI     = "/redfish/v1/Registries/Base"
	registryURI = "/redfish/v1/Registries/Base/Base.json"
)

// withEveryLink adds a resource behind each kind of link to the correct service.
func withEveryLink() *service {
	s := newService()
	action("@Redfish.ActionInfo", infoURI)(s)
	set(systemURI, "Redundancy", []any{redundancy()})(s)
	s.items[infoURI] = newItem("GET, HEAD", infoURI, "#ActionInfo.v1_5_0.ActionInfo", map[string]any{"Id": "ResetActionInfo"})

	set(systemsURI, "Members@odata.count", 2)(s)
	set(systemsURI, "Members@odata.nextLink", nextURI)(s)
	s.items[nextURI] = newItem("GET, HEAD", systemsURI, "#ComputerSystemCollection.ComputerSystemCollection", map[string]any{
		"Members": []any{ref(secondURI)}, "Members@odata.count": 2,
	})
	s.items[secondURI] = newItem("GET, HEAD, PATCH", secondURI, "#ComputerSystem.v1_27_0.ComputerSystem", map[string]any{"Id": "vm2"})

	set(root, "Oem", map[string]any{
		"File":      map[string]any{"@odata.id": fileURI, "Note": "OEM members are free"},
		"Elsewhere": ref("/elsewhere"), "Root": ref(root),
	})(s)
	s.items[fileURI] = newItem("GET, HEAD", fileURI, "#MessageRegistryFile.v1_1_5.MessageRegistryFile", map[string]any{
		"Id": "Base", "Registry": "Base.1.22", "Languages": []any{"en"},
		"Location": []any{
			map[string]any{"Language": "en", "Uri": registryURI, "PublicationUri": "/published"},
			map[string]any{"Language": "de", "Uri": "http://other.test/Base.json"},
		},
	})
	s.items[registryURI] = newItem("GET, HEAD", registryURI, "#MessageRegistry.v1_7_0.MessageRegistry", map[string]any{
		"Id": "Base.1.22.1", "Language": "en", "OwningEntity": "DMTF", "RegistryPrefix": "Base", "RegistryVersion": "1.22.1",
		"@Redfish.Copyright": "theirs",
		"Messages": map[string]any{"Success": map[string]any{
			"Description": "d", "Message": "m", "MessageSeverity": "OK", "Severity": "OK", "NumberOfArgs": 0, "Resolution": "None.",
		}},
	})
	return s
}

func TestCrawlFollowsEveryKindOfLink(t *testing.T) {
	report := crawlService(t, withEveryLink())
	require.Empty(t, report.String())
	require.Subset(t, slices.Collect(maps.Keys(report.Types)), []string{infoURI, nextURI, secondURI, fileURI, registryURI})
	require.NotContains(t, report.Types, "/elsewhere")
	require.NotContains(t, report.Types, "/published")
}

func TestCrawlLeavesTheOriginOfALogEntryAlone(t *testing.T) {
	const uri = "/redfish/v1/Systems/vm1/LogServices/Log/Entries/1"
	s := newService()
	other(uri, "#LogEntry.v1_21_0.LogEntry", map[string]any{
		"Id": "1", "EntryType": "Event", "Links": map[string]any{"OriginOfCondition": ref(systemsURI + "/gone")},
	})(s)
	require.Empty(t, crawlService(t, s).String())
}

func TestCrawlDoesNotLookIntoSchemaFiles(t *testing.T) {
	const uri = "/redfish/v1/JsonSchemas/System"
	s := newService()
	other(uri, "#JsonSchemaFile.v1_1_5.JsonSchemaFile", map[string]any{
		"Id": "System", "Schema": "#System.v1_0_0.System", "Languages": []any{"en"},
		"Location": []any{map[string]any{"Language": "en", "Uri": "/schemas/System.json"}},
	})(s)
	require.Empty(t, crawlService(t, s).String())
}

func TestCrawlDoesNotProbeFurtherPages(t *testing.T) {
	s := withEveryLink()
	var requests []string
	s.fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.RawQuery != "" {
			requests = append(requests, r.Method+" "+r.URL.RequestURI())
		}
		return false
	}
	crawlService(t, s)
	require.Equal(t, []string{"GET " + nextURI}, requests)
}

func TestCrawlReadsEachResourceOnceBeforeItProbes(t *testing.T) {
	s := newService()
	var requests []string
	s.fault = func(_ http.ResponseWriter, r *http.Request) bool {
		requests = append(requests, r.Method+" "+r.URL.Path)
		return false
	}
	crawlService(t, s)
	var want []string
	for uri := range s.items {
		want = append(want, "GET "+uri)
	}
	require.ElementsMatch(t, want, requests[:len(want)])
}

// A service that does not say what it allows might allow anything.
func TestCrawlSendsNoWriteToAResourceWithoutAllow(t *testing.T) {
	s := newService()
	onRead(systemURI, func(h http.Header) { h.Del("Allow") })(s)
	s.fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == systemURI && r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("%s was sent", r.Method)
		}
		return false
	}
	require.Equal(t, []Finding{
		{systemURI, "allow", "Allow lacks GET"},
		{systemURI, "allow", "Allow lacks HEAD"},
	}, crawlService(t, s).Findings)
}

func TestCrawlSendsTheHeadersOfTheClient(t *testing.T) {
	authorization := "Basic " + base64.StdEncoding.EncodeToString([]byte("a:b"))
	s := newService()
	s.fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if got := r.Header.Get("Authorization"); got != authorization {
			t.Errorf("Authorization is %q", got)
		}
		return false
	}
	client := Client{Base: "http://service.test", HTTP: &http.Client{Transport: s}, Header: http.Header{"Authorization": {authorization}}}
	report, err := Crawl(t.Context(), client, root, Options{Schemas: FromEnv(t)})
	require.NoError(t, err)
	require.Empty(t, report.String())
}

type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

func TestCrawlFailsWhenItCannotBeDone(t *testing.T) {
	tests := map[string]struct {
		transport http.RoundTripper
		opts      Options
		want      string
	}{
		"no schemas":         {newService(), Options{}, "no schemas"},
		"no service":         {unreachable{}, Options{Schemas: FromEnv(t)}, "connection refused"},
		"too many resources": {newService(), Options{Schemas: FromEnv(t), Limit: 3}, "more than 3 resources"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			client := Client{Base: "http://service.test", HTTP: &http.Client{Transport: tt.transport}}
			_, err := Crawl(t.Context(), client, root, tt.opts)
			require.ErrorContains(t, err, tt.want)
		})
	}
}
