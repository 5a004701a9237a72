package redfish_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/conformance"
)

// failure is all that a client sees of a failed request: the status, every header but the length, and of each
// message its key and its arguments.
type failure struct {
	status   int
	headers  map[string]string
	messages [][]string
}

// failed is a failure with the headers that every one has.
func failed(status int, messages ...[]string) failure {
	return failure{status, map[string]string{
		"Cache-Control": "no-store", "Content-Type": "application/json", "Odata-Version": "4.0", "X-Request-Id": "0123456789abcdef",
	}, messages}
}

func (f failure) with(header, value string) failure { f.headers[header] = value; return f }

func failureOf(t *testing.T, resp *httptest.ResponseRecorder) failure {
	t.Helper()
	text := resp.Body.String()
	if os.Getenv(conformance.EnvDir) != "" {
		require.NoError(t, conformance.FromEnv(t).ErrorBody([]byte(text)))
	}
	var body struct {
		Error struct {
			Code string
			Info []redfish.Message `json:"@Message.ExtendedInfo"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &body))
	require.Equal(t, body.Error.Info[0].MessageID, body.Error.Code)
	got := failure{status: resp.Code, headers: map[string]string{}}
	for name, values := range resp.Header() {
		require.Len(t, values, 1, name)
		got.headers[name] = values[0]
	}
	require.Equal(t, fmt.Sprint(len(text)), got.headers["Content-Length"])
	delete(got.headers, "Content-Length")
	for _, m := range body.Error.Info {
		got.messages = append(got.messages, append([]string{strings.TrimPrefix(m.MessageID, "Base.1.22.")}, m.MessageArgs...))
	}
	return got
}

const (
	node0 = "/redfish/v1/Systems/cp1.node-0"
	reset = "/Actions/ComputerSystem.Reset"
	on    = `{"ResetType":"On"}`
)

// errSecret stands in causes that only the log may have.
var errSecret = errors.New("token=hunter2")

// failureCase is a request that fails, on a service that setup may have prepared for it.
type failureCase struct {
	request *http.Request
	setup   func(*redfish.Options, *fleet)
	want    failure
}

func post(as, uri, body string) *http.Request { return request(http.MethodPost, uri, as, body) }
func get(as, uri string) *http.Request        { return request(http.MethodGet, uri, as, "") }

// broken is a request whose body breaks off, as it does when it comes too slowly.
func broken(r *http.Request) *http.Request {
	r.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	return r
}

func header(r *http.Request, name, value string) *http.Request { r.Header.Set(name, value); return r }

func bodyFailures() map[string]failureCase {
	const action = "ComputerSystem.Reset"
	parameter := func(message ...string) failure { return failed(400, message) }
	return map[string]failureCase{
		"400 malformed JSON":    {post("admin", node0+reset, `{"ResetType":`), nil, failed(400, []string{"MalformedJSON"})},
		"400 no JSON object":    {post("admin", node0+reset, `["On"]`), nil, failed(400, []string{"UnrecognizedRequestBody"})},
		"400 null":              {post("admin", node0+reset, `null`), nil, failed(400, []string{"UnrecognizedRequestBody"})},
		"400 two documents":     {post("admin", node0+reset, on+on), nil, failed(400, []string{"MalformedJSON"})},
		"400 missing parameter": {post("admin", node0+reset, `{}`), nil, parameter("ActionParameterMissing", action, "ResetType")},
		"400 no body":           {post("admin", node0+reset, ""), nil, parameter("ActionParameterMissing", action, "ResetType")},
		"400 unknown parameter": {post("admin", node0+reset, `{"ResetType":"On","Delay":1}`), nil, parameter("ActionParameterUnknown", action, "Delay")},
		"400 number":            {post("admin", node0+reset, `{"ResetType":7}`), nil, parameter("ActionParameterValueTypeError", "7", "ResetType", action)},
		"400 null parameter":    {post("admin", node0+reset, `{"ResetType":null}`), nil, parameter("ActionParameterValueTypeError", "null", "ResetType", action)},
		"400 unlisted value":    {post("admin", node0+reset, `{"ResetType":"Nmi"}`), nil, parameter("ActionParameterValueNotInList", "Nmi", "ResetType", action)},
		"400 other case":        {post("admin", node0+reset, `{"ResetType":"on"}`), nil, parameter("ActionParameterValueNotInList", "on", "ResetType", action)},
		"400 long value is cut": {post("admin", node0+reset, `{"ResetType":"`+strings.Repeat("x", 9999)+`"}`), nil, parameter("ActionParameterValueNotInList", strings.Repeat("x", 64)+"…", "ResetType", action)},
		"400 broken body":       {broken(post("admin", node0+reset, "")), nil, failed(400, []string{"MalformedJSON"})},
		"413 large body":        {post("admin", node0+reset, `{"ResetType":"`+strings.Repeat("x", 200_000)+`"}`), nil, failed(413, []string{"PayloadTooLarge"})},
		"415 form":              {header(post("admin", node0+reset, on), "Content-Type", "application/x-www-form-urlencoded"), nil, failed(415, []string{"UnrecognizedRequestBody"})},
	}
}

func callerFailures() map[string]failureCase {
	unauthorized := failed(401, []string{"AccessUnauthorized"}).with("Www-Authenticate", `Basic realm="KubeVirt Redfish", charset="UTF-8"`)
	return map[string]failureCase{
		"401 without credentials":      {get("", "/redfish/v1/Systems"), nil, unauthorized},
		"401 with wrong ones":          {get("stranger", node0), nil, unauthorized},
		"401 before 404":               {get("", "/redfish/v1/Nonsense"), nil, unauthorized},
		"401 before 304":               {header(get("", node0), "If-None-Match", "*"), nil, unauthorized},
		"401 before 405":               {request(http.MethodDelete, "/redfish/v1", "", ""), nil, unauthorized},
		"401 before the body is read":  {post("", node0+reset, `{`), nil, unauthorized},
		"401 at an alias":              {get("", "/redfish/v1/Chassis/cp1/Systems/node-0"), nil, unauthorized},
		"403 for no role":              {get("norole", node0), nil, failed(403, []string{"InsufficientPrivilege"})},
		"403 for a role without right": {post("reader", "/redfish/v1/Systems/cp2.node-0"+reset, on), nil, failed(403, []string{"InsufficientPrivilege"})},
		"403 before the body is read":  {post("reader", "/redfish/v1/Systems/cp2.node-0"+reset, `{`), nil, failed(403, []string{"InsufficientPrivilege"})},
	}
}

func uriFailures() map[string]failureCase {
	missing := func(uri string) failure { return failed(404, []string{"ResourceMissingAtURI", uri}) }
	return map[string]failureCase{
		"404 hidden, not 403":         {post("reader", node0+reset, on), nil, missing(node0 + reset)},
		"404 hidden machine":          {get("reader", node0), nil, missing(node0)},
		"404 hidden chassis":          {get("reader", "/redfish/v1/Chassis/cp1"), nil, missing("/redfish/v1/Chassis/cp1")},
		"404 hidden task":             {get("reader", "/redfish/v1/TaskService/Tasks/cp1.held.a1"), nil, missing("/redfish/v1/TaskService/Tasks/cp1.held.a1")},
		"404 hidden task monitor":     {get("reader", "/redfish/v1/TaskService/TaskMonitors/cp1.held.a1"), nil, missing("/redfish/v1/TaskService/TaskMonitors/cp1.held.a1")},
		"404 hidden at an alias":      {get("reader", "/redfish/v1/Chassis/cp1/Systems/node-0"), nil, missing("/redfish/v1/Chassis/cp1/Systems/node-0")},
		"404 reset of an unknown one": {post("admin", "/redfish/v1/Systems/cp1.nope"+reset, on), nil, missing("/redfish/v1/Systems/cp1.nope" + reset)},
		"404 PATCH of an unknown one": {request(http.MethodPatch, "/redfish/v1/Systems/cp1.nope", "admin", "{}"), nil, missing("/redfish/v1/Systems/cp1.nope")},
		"404 unknown URI":             {get("admin", "/redfish/v1/Nonsense"), nil, missing("/redfish/v1/Nonsense")},
		"404 double slash":            {get("admin", "/redfish/v1//Systems"), nil, missing("/redfish/v1//Systems")},
		"404 unknown action":          {post("admin", node0+"/Actions/ComputerSystem.Explode", "{}"), nil, failed(404, []string{"ActionNotSupported", "ComputerSystem.Explode"})},
		"404 unknown media action":    {post("admin", node0+"/VirtualMedia/Floppy/Actions/VirtualMedia.InsertMedia", "{}"), nil, failed(404, []string{"ActionNotSupported", "VirtualMedia.InsertMedia"})},
	}
}

func protocolFailures() map[string]failureCase {
	notAllowed := func(allow string) failure { return failed(405, []string{"OperationNotAllowed"}).with("Allow", allow) }
	return map[string]failureCase{
		"405 DELETE of a system":  {request(http.MethodDelete, node0, "admin", ""), nil, notAllowed("GET, HEAD")},
		"405 PUT of a system":     {request(http.MethodPut, node0, "admin", "{}"), nil, notAllowed("GET, HEAD")},
		"405 GET of an action":    {get("admin", node0+reset), nil, notAllowed("POST")},
		"405 POST to sessions":    {post("admin", "/redfish/v1/SessionService/Sessions", "{}"), nil, notAllowed("GET, HEAD")},
		"412 other OData version": {header(get("admin", node0), "OData-Version", "4.1"), nil, failed(412, []string{"HeaderInvalid", "OData-Version"})},
		"501 invented method":     {request("BREW", node0, "admin", ""), nil, failed(501, []string{"OperationNotAllowed"})},
		"501 unsupported query":   {get("admin", "/redfish/v1/Systems?$filter=Name%20eq%20x"), nil, failed(501, []string{"QueryParameterUnsupported", "$filter"})},
		"501 encoded dollar":      {get("admin", "/redfish/v1/Systems?a=b&%24top=1"), nil, failed(501, []string{"QueryParameterUnsupported", "$top"})},
	}
}

func platformFailures() map[string]failureCase {
	reading := func(err error) func(*redfish.Options, *fleet) {
		return func(_ *redfish.Options, f *fleet) { f.err = err }
	}
	resetting := func(err error) func(*redfish.Options, *fleet) {
		return func(_ *redfish.Options, f *fleet) {
			f.machines[0].reset = func(context.Context, redfish.ResetType) (redfish.TaskID, error) { return "", err }
		}
	}
	later := failed(503, []string{"ServiceTemporarilyUnavailable", "5"}).with("Retry-After", "5")
	laterWithReason := failed(503, []string{"ServiceTemporarilyUnavailable", "5"}, []string{"GeneralError"}).with("Retry-After", "5")
	return map[string]failureCase{
		"409 not in this state":     {post("admin", node0+reset, on), resetting(refused(redfish.ErrConflict)), failed(409, []string{"ActionParameterValueConflict", "ResetType", "On"}, []string{"GeneralError"})},
		"500 panic":                 {get("admin", node0), func(o *redfish.Options, _ *fleet) { o.Backend = nil }, failed(500, []string{"InternalError"})},
		"500 unknown cause":         {get("admin", node0), reading(errSecret), failed(500, []string{"InternalError"})},
		"503 state not known yet":   {get("admin", node0), reading(redfish.ErrNotReady), later},
		"503 collection":            {get("admin", "/redfish/v1/Chassis"), reading(redfish.ErrNotReady), later},
		"503 platform down":         {post("admin", node0+reset, on), resetting(refused(redfish.ErrUnavailable)), laterWithReason},
		"503 service lacks a right": {post("admin", node0+reset, on), resetting(refused(redfish.ErrForbidden)), laterWithReason},
		"503 platform too slow":     {post("admin", node0+reset, on), resetting(fmt.Errorf("call: %w", context.DeadlineExceeded)), later},
	}
}

func refused(kind error) error {
	return &redfish.Refusal{Kind: kind, Reason: "The cluster says no.", Err: errSecret}
}

func TestEveryFailureIsARedfishError(t *testing.T) { // HTTP-07, HTTP-14, AUTH-05
	tests := map[string]failureCase{}
	for _, group := range []map[string]failureCase{bodyFailures(), callerFailures(), uriFailures(), protocolFailures(), platformFailures()} {
		maps.Copy(tests, group)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := odd()
			opts := options(f)
			if test.setup != nil {
				test.setup(&opts, f)
			}
			resp := serve(redfish.New(opts), test.request)
			require.Equal(t, test.want, failureOf(t, resp))
			if test.setup == nil {
				require.Empty(t, f.machines[0].resets, "refused requests do nothing")
			}
		})
	}
}

func TestOnlyReasonsAreTold(t *testing.T) {
	for name, err := range map[string]error{"refusal": refused(redfish.ErrConflict), "cause": errSecret, "panic": nil} {
		f := odd()
		f.machines[0].reset = func(context.Context, redfish.ResetType) (redfish.TaskID, error) {
			if err == nil {
				panic(errSecret)
			}
			return "", err
		}
		text := serve(redfish.New(options(f)), post("admin", node0+reset, on)).Body.String()
		require.NotContains(t, text, "hunter2", name)
		require.Equal(t, name == "refusal", strings.Contains(text, "The cluster says no."), name)
	}
}

func TestAFailedHEADHasNoBody(t *testing.T) {
	s := redfish.New(options(odd()))
	get := serve(s, request(http.MethodGet, "/redfish/v1/Nonsense", "admin", ""))
	head := serve(s, request(http.MethodHead, "/redfish/v1/Nonsense", "admin", ""))
	require.Equal(t, http.StatusNotFound, head.Code)
	require.Empty(t, head.Body.String())
	require.True(t, maps.EqualFunc(get.Header(), head.Header(), func(a, b []string) bool { return a[0] == b[0] }))
}

func TestTheServiceLivesOnAfterAPanic(t *testing.T) {
	f := odd()
	f.machines[0].reset = func(context.Context, redfish.ResetType) (redfish.TaskID, error) { panic("defect") }
	s := redfish.New(options(f))
	require.Equal(t, http.StatusInternalServerError, serve(s, post("admin", node0+reset, on)).Code)
	require.Equal(t, http.StatusOK, serve(s, get("admin", node0)).Code)
}
