package redfish_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

func withoutETag(t *testing.T, text string) string {
	t.Helper()
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &body))
	delete(body, "@odata.etag")
	bare, err := json.Marshal(body)
	require.NoError(t, err)
	return string(bare)
}

// everywhere are the URIs of every resource that the caller can reach by following links.
func everywhere(t *testing.T, s http.Handler, as string) map[string]string {
	t.Helper()
	bodies := map[string]string{}
	for queue := []string{"/redfish/v1/"}; len(queue) > 0; queue = queue[1:] {
		uri := queue[0]
		if bodies[uri] != "" {
			continue
		}
		resp := serve(s, request(http.MethodGet, uri, as, ""))
		require.Equal(t, http.StatusOK, resp.Code, uri)
		bodies[uri] = resp.Body.String()
		for _, part := range strings.Split(bodies[uri], `"@odata.id":"`)[1:] {
			linked, _, _ := strings.Cut(part, `"`)
			queue = append(queue, linked)
		}
	}
	return bodies
}

func TestOpenURIsNeedNoCredentials(t *testing.T) { // AUTH-05
	f := odd()
	f.err = redfish.ErrNotReady
	s := redfish.New(options(f))
	for _, uri := range []string{"/redfish", "/redfish/", "/redfish/v1", "/redfish/v1/", "/redfish/v1/odata", "/redfish/v1/$metadata"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			resp := serve(s, request(method, uri, "", ""))
			require.Equal(t, http.StatusOK, resp.Code, uri)
			require.Equal(t, "GET, HEAD", resp.Header().Get("Allow"), uri)
		}
	}
	resp := serve(s, request(http.MethodGet, "/redfish", "", ""))
	require.JSONEq(t, `{"v1":"/redfish/v1/"}`, resp.Body.String())
}

func TestMetadataNamesEverySchema(t *testing.T) {
	s := redfish.New(options(odd()))
	resp := serve(s, request(http.MethodGet, "/redfish/v1/$metadata", "", ""))
	require.Equal(t, "application/xml", resp.Header().Get("Content-Type"))
	var doc struct {
		References []struct {
			URI     string `xml:"Uri,attr"`
			Include []struct {
				Namespace string `xml:",attr"`
			}
		} `xml:"Reference"`
		Schemas []struct {
			EntityContainer struct {
				Name, Extends string `xml:",attr"`
			}
		} `xml:"DataServices>Schema"`
	}
	require.NoError(t, xml.Unmarshal(resp.Body.Bytes(), &doc))
	require.Equal(t, "ServiceRoot.v1_19_0.ServiceContainer", doc.Schemas[0].EntityContainer.Extends)
	included := map[string]bool{}
	for _, ref := range doc.References {
		for _, include := range ref.Include {
			included[include.Namespace] = true
		}
	}
	for uri, body := range everywhere(t, s, "admin") {
		var head struct {
			Type string `json:"@odata.type"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &head))
		namespace := head.Type[1:strings.LastIndexByte(head.Type, '.')]
		require.True(t, included[namespace], "%s of %s", namespace, uri)
	}
}

func TestASlashAtTheEndMakesNoDifference(t *testing.T) { // HTTP-06
	s := redfish.New(options(odd()))
	for uri := range everywhere(t, s, "reader") {
		plain := strings.TrimSuffix(uri, "/")
		a := serve(s, request(http.MethodGet, plain, "reader", ""))
		b := serve(s, request(http.MethodGet, plain+"/", "reader", ""))
		require.Equal(t, http.StatusOK, a.Code, uri)
		require.Equal(t, a.Code, b.Code, uri)
		require.Equal(t, a.Header(), b.Header(), uri)
		require.Equal(t, a.Body.String(), b.Body.String(), uri)
		require.True(t, uri == "/redfish/v1/" || uri == plain, "%s ends with a slash", uri)
	}
}

func TestHEADIsGETWithoutItsBody(t *testing.T) { // HTTP-07
	s := redfish.New(options(odd()))
	for uri := range everywhere(t, s, "reader") {
		get := serve(s, request(http.MethodGet, uri, "reader", ""))
		head := serve(s, request(http.MethodHead, uri, "reader", ""))
		require.Equal(t, get.Code, head.Code, uri)
		require.Equal(t, get.Header(), head.Header(), uri)
		require.Empty(t, head.Body.String(), uri)
	}
}

func TestURIsAreRelativeWhateverTheRequestSays(t *testing.T) { // HTTP-11, HTTP-12
	s := redfish.New(options(odd()))
	for uri, want := range everywhere(t, s, "reader") {
		r := request(http.MethodGet, uri, "reader", "")
		r.Host = "[2001:db8::7]:8443"
		for name, value := range map[string]string{
			"X-Forwarded-Proto": "https", "X-Forwarded-Host": "bmc.apps.example.test", "X-Forwarded-For": "198.51.100.1",
			"X-Forwarded-User": "admin", "Forwarded": "for=198.51.100.1;host=evil.example.test",
		} {
			r.Header.Set(name, value)
		}
		got := serve(s, r).Body.String()
		require.Equal(t, want, got, uri)
		require.NotContains(t, got, "://", uri)
	}
}

func TestParallelReadsAnswerAsOne(t *testing.T) {
	want := everywhere(t, redfish.New(options(odd())), "admin")
	s := redfish.New(options(odd())) // with nothing rendered yet
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for uri, body := range want {
				if got := serve(s, request(http.MethodGet, uri, "admin", "")).Body.String(); got != body {
					t.Errorf("%s answers %s", uri, got)
				}
			}
		})
	}
	group.Wait()
}

func TestConditionalGET(t *testing.T) {
	s := redfish.New(options(odd()))
	full := serve(s, request(http.MethodGet, node0, "admin", ""))
	etag := full.Header().Get("ETag")
	require.Contains(t, full.Body.String(), `"@odata.etag":"\"`+strings.Trim(etag, `"`)+`\""`)
	tests := map[string]struct {
		sent []string
		want int
	}{
		"the ETag":          {[]string{etag}, http.StatusNotModified},
		"weakly":            {[]string{"W/" + etag}, http.StatusNotModified},
		"in a list":         {[]string{`"a", ` + etag + ` , "b"`}, http.StatusNotModified},
		"in another header": {[]string{`"a"`, etag}, http.StatusNotModified},
		"any":               {[]string{"*"}, http.StatusNotModified},
		"another":           {[]string{`"a"`}, http.StatusOK},
		"without quotes":    {[]string{strings.Trim(etag, `"`)}, http.StatusOK},
		"empty":             {[]string{""}, http.StatusOK},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				r := request(method, node0, "admin", "")
				r.Header["If-None-Match"] = test.sent
				resp := serve(s, r)
				require.Equal(t, test.want, resp.Code)
				require.Equal(t, etag, resp.Header().Get("ETag"))
				if test.want == http.StatusNotModified {
					require.Empty(t, resp.Body.String())
					require.Empty(t, resp.Header().Get("Content-Length"))
				}
			}
		})
	}
}

func TestETagsIgnoreClocksAndFollowChanges(t *testing.T) { // HTTP-01
	f := odd()
	opts := options(f)
	now := then
	opts.Now = func() time.Time { return now }
	s := redfish.New(opts)
	look := func(uri string) (string, string) {
		resp := serve(s, request(http.MethodGet, uri, "admin", ""))
		return resp.Header().Get("ETag"), resp.Body.String()
	}
	const manager = "/redfish/v1/Managers/cp1.node-0"
	managerTag, managerBody := look(manager)
	systemTag, systemBody := look(node0)

	now = now.Add(5 * time.Second)
	tag, body := look(manager)
	require.Equal(t, managerTag, tag)
	require.NotEqual(t, managerBody, body)
	require.Contains(t, body, "12:00:05Z")
	tag, body = look(node0)
	require.Equal(t, systemTag, tag)
	require.Equal(t, systemBody, body)

	f.machines[0].Power = redfish.PowerOff
	f.machines[0].version.Object += 100
	tag, body = look(node0)
	require.NotEqual(t, systemTag, tag)
	require.Contains(t, body, `"PowerState":"Off"`)

	f.machines[0].Power = redfish.PowerPaused
	f.machines[0].version.Service++
	_, body = look(node0)
	require.Contains(t, body, `"PowerState":"Paused"`)
}

func TestRequestIDs(t *testing.T) {
	tests := map[string]struct {
		sent []string
		want string
	}{
		"none":         {nil, "0123456789abcdef"},
		"given":        {[]string{"a-B_9.z"}, "a-B_9.z"},
		"longest":      {[]string{strings.Repeat("x", 64)}, strings.Repeat("x", 64)},
		"too long":     {[]string{strings.Repeat("x", 65)}, "0123456789abcdef"},
		"empty":        {[]string{""}, "0123456789abcdef"},
		"two":          {[]string{"a", "b"}, "0123456789abcdef"},
		"with a space": {[]string{"a b"}, "0123456789abcdef"},
		"line break":   {[]string{"a\nb"}, "0123456789abcdef"},
		"no ASCII":     {[]string{"ä"}, "0123456789abcdef"},
	}
	s := redfish.New(options(odd()))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(http.MethodGet, "/redfish", "", "")
			if test.sent != nil {
				r.Header["X-Request-Id"] = test.sent
			}
			require.Equal(t, []string{test.want}, serve(s, r).Header()["X-Request-Id"])
		})
	}
}

func TestGeneratedRequestIDsDiffer(t *testing.T) {
	opts := options(odd())
	opts.NewRequestID = nil
	s := redfish.New(opts)
	seen := map[string]bool{}
	for range 100 {
		id := serve(s, request(http.MethodGet, "/redfish", "", "")).Header().Get("X-Request-Id")
		require.Regexp(t, "^[0-9a-f]{16}$", id)
		seen[id] = true
	}
	require.Len(t, seen, 100)
}

func TestUnknownQueryParametersAreIgnored(t *testing.T) {
	s := redfish.New(options(odd()))
	want := serve(s, request(http.MethodGet, node0, "admin", "")).Body.String()
	for _, query := range []string{"?unknown", "?a=1&b=$c", "?only", "?$expand=.($levels=1)", "?%24expand=*", "?&&", "?a%"} {
		r := request(http.MethodGet, node0, "admin", "")
		r.URL.RawQuery = query[1:]
		require.Equal(t, want, serve(s, r).Body.String(), query)
	}
}
