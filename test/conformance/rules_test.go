package conformance

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func crawlService(t *testing.T, s *service) *Report {
	t.Helper()
	client := Client{Base: "http://service.test", HTTP: &http.Client{Transport: s}}
	report, err := Crawl(t.Context(), client, root, Options{Schemas: FromEnv(t)})
	require.NoError(t, err)
	return report
}

func TestCorrectServiceHasNoFindings(t *testing.T) {
	schemas := FromEnv(t)
	server := httptest.NewServer(newService())
	defer server.Close()
	report, err := Crawl(t.Context(), Client{Base: server.URL}, root, Options{Schemas: schemas})
	require.NoError(t, err)
	require.Empty(t, report.String())
	require.Equal(t, map[string]string{
		root:        "#ServiceRoot.v1_20_0.ServiceRoot",
		systemsURI:  "#ComputerSystemCollection.ComputerSystemCollection",
		systemURI:   "#ComputerSystem.v1_27_0.ComputerSystem",
		sessionsURI: "#SessionCollection.SessionCollection",
		sessionURI:  "#Session.v1_8_0.Session",
	}, report.Types)
}

func TestDescribedByMayLeaveOutTheVersion(t *testing.T) {
	s := newService()
	onRead(systemURI, func(h http.Header) { h.Set("Link", `</schemas/ComputerSystem.json#/definitions>; rel="describedby"`) })(s)
	require.Empty(t, crawlService(t, s).String())
}

// fault breaks one rule of the correct service, in one place.
type fault struct {
	apply  func(s *service)
	uri    string
	rule   Rule
	detail string // part of what the finding says
}

var faults = map[string]fault{
	"link to nothing": {
		func(s *service) { delete(s.items, sessionURI) },
		sessionURI, "status", "GET answers 404, linked from " + sessionsURI,
	},
	"body announced as text": {
		onRead(systemURI, func(h http.Header) { h.Set("Content-Type", "text/plain") }),
		systemURI, "content-type", "text/plain",
	},
	"body is an array": {
		instead(http.MethodGet, systemURI, func(_ *service, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("[]"))
		}),
		systemURI, "json-object", "not a JSON object",
	},
	"member twice": {
		func(s *service) { s.items[systemURI].raw = `"Name":"vm1"` },
		systemURI, "json-keys", "/Name stands twice",
	},
	"unknown enumeration value": {
		set(systemURI, "PowerState", "Broken"),
		systemURI, "schema", "/PowerState: value must be one of",
	},
	"required member absent inside": {
		set(systemURI, "Redundancy", []any{without(redundancy(), "Name")}),
		systemURI, "schema", "/Redundancy/0: missing property Name",
	},
	"required member absent": {
		func(s *service) { delete(s.items[sessionURI].body, "Name") },
		sessionURI, "required", "missing property Name",
	},
	"deprecated member": {
		set(systemURI, "IndicatorLED", "Off"),
		systemURI, "deprecated", "/IndicatorLED",
	},
	"deprecated value": {
		set(systemURI, "SystemType", "OS"),
		systemURI, "deprecated", "/SystemType",
	},
	"deprecated member inside": {
		set(systemURI, "MemorySummary", map[string]any{"Status": map[string]any{}}),
		systemURI, "deprecated", "/MemorySummary/Status",
	},
	"read-only empty string": {
		set(systemURI, "SerialNumber", ""),
		systemURI, "empty-string", "/SerialNumber",
	},
	"copyright on a resource": {
		set(systemURI, "@Redfish.Copyright", "ours"),
		systemURI, "copyright", "message registry",
	},
	"another resource's @odata.id": {
		set(sessionURI, "@odata.id", sessionsURI+"/2"),
		sessionURI, "odata-id", sessionsURI + "/2",
	},
	"Id is not the segment": {
		set(systemURI, "Id", "vm2"),
		systemURI, "id-segment", "vm2",
	},
	"count too high": {
		set(systemsURI, "Members@odata.count", 2),
		systemsURI, "count", "/Members@odata.count is 2 for 1",
	},
	"count too low": {
		set(systemsURI, "Members@odata.count", 0),
		systemsURI, "count", "/Members@odata.count is 0 for 1",
	},
	"Id of a member that is linked elsewhere first": {
		both(set(root, "Oem", ref(systemURI)), set(systemURI, "Id", "vm2")),
		systemURI, "id-segment", "vm2",
	},
	"link with a slash": {
		set(systemsURI, "Members", []any{ref(systemURI + "/")}),
		systemsURI, "link-form", "/Members/0 leads to",
	},
	"link to another host": {
		set(root, "SessionService", ref("http://other.test/x")),
		root, "link-form", "/SessionService leads to",
	},
	"link to another type": {
		set(root, "Systems", ref(sessionsURI)),
		root, "link-type", "/Systems leads to a SessionCollection",
	},
	"link in an array to another type": {
		set(systemURI, "Links", map[string]any{"ManagedBy": []any{ref(sessionURI)}}),
		systemURI, "link-type", "/Links/ManagedBy/0 leads to a Session, not a Manager",
	},
	"OEM action somewhere else": {
		set(systemURI, "Actions", map[string]any{"Oem": map[string]any{"#Test.Do": map[string]any{"target": systemURI + "/Do"}}}),
		systemURI, "action-target", systemURI + "/Actions/Oem/Test.Do",
	},
	"session where none may be": {
		other("/redfish/v1/Oem/1", "#Session.v1_8_0.Session", map[string]any{"Id": "1"}),
		"/redfish/v1/Oem/1", "uri-pattern", "/redfish/v1/SessionService/Sessions/{SessionId}",
	},
	"password shown": {
		other(accountURI, "#ManagerAccount.v1_14_1.ManagerAccount", map[string]any{"Id": "1", "AccountTypes": []any{"Redfish"}, "Password": "x"}),
		accountURI, "write-only", "/Password",
	},
	"expanded member": {
		func(s *service) { s.items[sessionsURI].body["Members"] = []any{s.items[sessionURI].body} },
		sessionsURI, "reference", "/Members/0 holds more",
	},
	"action somewhere else": {
		action("target", systemURI+"/Reset"),
		systemURI, "action-target", "ComputerSystem.Reset has another target",
	},
	"action with a foreign member": {
		action("@Message.Note", "x"),
		systemURI, "action-members", "@Message.Note",
	},
	"no OData-Version": {
		onRead(systemURI, func(h http.Header) { h.Del("OData-Version") }),
		systemURI, "odata-version", `""`,
	},
	"no Cache-Control": {
		onRead(systemURI, func(h http.Header) { h.Del("Cache-Control") }),
		systemURI, "cache-control", "no Cache-Control",
	},
	"no link to the schema": {
		onRead(systemURI, func(h http.Header) { h.Del("Link") }),
		systemURI, "described-by", "no Link",
	},
	"link to another version": {
		onRead(systemURI, func(h http.Header) { h.Set("Link", "</s/ComputerSystem.v1_1_0.json>; rel=describedby") }),
		systemURI, "described-by", "described by ComputerSystem.v1_1_0",
	},
	"weak ETag": {
		func(s *service) { s.items[systemURI].tag = `W/"1"` },
		systemURI, "etag", "not strong",
	},
	"@odata.etag of its own": {
		set(systemURI, "@odata.etag", `"1"`),
		systemURI, "etag", `@odata.etag is "1"`,
	},
	"Allow has PATCH": {
		func(s *service) { s.items[sessionURI].allow += ", PATCH" },
		sessionURI, "allow", "Allow has PATCH",
	},
	"Allow has PUT": {
		func(s *service) { s.items[sessionURI].allow += ", PUT" },
		sessionURI, "allow", "Allow has PUT",
	},
	"Allow has POST": {
		func(s *service) { s.items[systemURI].allow += ", POST" },
		systemURI, "allow", "Allow has POST",
	},
	"Allow has DELETE": {
		func(s *service) { s.items[systemsURI].allow += ", DELETE" },
		systemsURI, "allow", "Allow has DELETE",
	},
	"Allow without HEAD": {
		onRead(sessionURI, func(h http.Header) { h.Set("Allow", "GET, DELETE") }),
		sessionURI, "allow", "Allow lacks HEAD",
	},
	"HEAD without Link": {
		func(s *service) { s.header = headWithoutLink },
		systemURI, "head", "another Link",
	},
	"HEAD with a body": {
		instead(http.MethodHead, systemURI, asMethod(http.MethodGet)),
		systemURI, "head", "with a body",
	},
	"HEAD refused": {
		instead(http.MethodHead, systemURI, asMethod(http.MethodPut)),
		systemURI, "head", "HEAD answers 405",
	},
	"If-None-Match ignored": {
		func(s *service) { s.fault = ignoreIfNoneMatch },
		systemURI, "not-modified", ": 200,",
	},
	"304 with a body": {
		func(s *service) { s.fault = notModifiedWith(systemTag(), "{}") },
		systemURI, "not-modified", "304, 2 bytes",
	},
	"304 with another ETag": {
		func(s *service) { s.fault = notModifiedWith(`"1"`, "") },
		systemURI, "not-modified", `ETag "1"`,
	},
	"redirect from the slash": {
		instead(http.MethodGet, systemURI+"/", redirect),
		systemURI, "trailing-slash", "answers 301",
	},
	"another answer with the slash": {
		instead(http.MethodGet, systemURI+"/", asPath(systemsURI)),
		systemURI, "trailing-slash", "something else",
	},
	"anything is a child": {
		instead(http.MethodGet, systemURI+"/NoSuchChild", asPath(systemURI)),
		systemURI, "unknown-child", "answers 200, not 404",
	},
	"anything is an action": {
		instead(http.MethodPost, systemURI+"/Actions/ComputerSystem.NoSuchAction", noContent),
		systemURI, "unknown-action", "answers 204, not 404",
	},
	"method accepted after all": {
		instead(http.MethodDelete, systemURI, noContent),
		systemURI, "wrong-method", "DELETE " + systemURI + " answers 204, not 405",
	},
	"405 without Allow": {
		func(s *service) { s.header = deleteWithoutAllow },
		systemURI, "wrong-method", "no Allow header",
	},
	"405 without Cache-Control": {
		func(s *service) { s.header = deleteWithoutCacheControl },
		systemURI, "wrong-method", "no Cache-Control",
	},
}

func TestEachFaultGivesExactlyItsFinding(t *testing.T) {
	FromEnv(t)
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			s := newService()
			f.apply(s)
			report := crawlService(t, s)
			require.Len(t, report.Findings, 1, report.String())
			require.Equal(t, f.uri, report.Findings[0].URI)
			require.Equal(t, f.rule, report.Findings[0].Rule)
			require.Contains(t, report.Findings[0].Detail, f.detail)
		})
	}
}

func TestEveryRuleHasAFault(t *testing.T) {
	broken := map[Rule]bool{}
	for _, f := range faults {
		broken[f.rule] = true
	}
	rules := slices.Concat(slices.Collect(maps.Keys(answerRules)), slices.Collect(maps.Keys(bodyRules)), slices.Collect(maps.Keys(probeRules)))
	require.ElementsMatch(t, rules, slices.Collect(maps.Keys(broken)))
}
