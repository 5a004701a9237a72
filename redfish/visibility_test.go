package redfish_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// members are the URIs in a collection, which must be one.
func members(t *testing.T, s http.Handler, uri, as string) []string {
	t.Helper()
	resp := serve(s, request(http.MethodGet, uri, as, ""))
	require.Equal(t, http.StatusOK, resp.Code)
	var body struct {
		Count   *int                `json:"Members@odata.count"`
		Members []map[string]string `json:"Members"`
	}
	require.NoError(t, json.Unmarshal(resp.Body.Bytes(), &body))
	require.NotNil(t, body.Members, "[] and never null")
	require.Equal(t, len(body.Members), *body.Count)
	uris := make([]string, 0, len(body.Members))
	for _, m := range body.Members {
		require.Len(t, m, 1)
		uris = append(uris, m["@odata.id"])
	}
	return uris
}

func TestCollectionsOfEverySize(t *testing.T) { // HTTP-13
	for _, size := range []int{0, 1, 300} {
		f := &fleet{}
		var ids []string
		for i := range size {
			m := anyMachine("cp1", fmt.Sprintf("node-%03d", i))
			f.machines = append(f.machines, m)
			ids = append(ids, string(m.ID()))
		}
		s := redfish.New(options(f))
		for _, uri := range []string{"/redfish/v1/Systems", "/redfish/v1/Managers", "/redfish/v1/Chassis"} {
			want := make([]string, 0, size)
			for _, id := range ids {
				want = append(want, uri+"/"+id)
			}
			for range 2 {
				require.Equal(t, want, members(t, s, uri, "admin"))
			}
		}
		for _, uri := range []string{"/redfish/v1/SessionService/Sessions", "/redfish/v1/TaskService/Tasks"} {
			require.Empty(t, members(t, s, uri, "admin"))
		}
	}
}

func TestCollectionsFollowTheListing(t *testing.T) {
	f := odd()
	s := redfish.New(options(f))
	before := members(t, s, "/redfish/v1/Systems", "admin")
	f.machines = f.machines[1:]
	f.version.Object++
	require.Equal(t, before[1:], members(t, s, "/redfish/v1/Systems", "admin"))
}

func TestCallersSeeWhatTheyAreGranted(t *testing.T) { // HTTP-15
	s := redfish.New(options(odd()))
	require.Len(t, members(t, s, "/redfish/v1/Systems", "admin"), 22)
	require.Len(t, members(t, s, "/redfish/v1/Systems", "operator"), 21)
	require.Empty(t, members(t, s, "/redfish/v1/Systems", "nobody"))
	require.Equal(t, []string{"/redfish/v1/Systems/cp2.node-0"}, members(t, s, "/redfish/v1/Systems", "reader"))
	require.Equal(t, []string{"/redfish/v1/Managers/cp2.node-0"}, members(t, s, "/redfish/v1/Managers", "reader"))
	require.Equal(t, []string{"/redfish/v1/Chassis/cp2", "/redfish/v1/Chassis/cp2.node-0"}, members(t, s, "/redfish/v1/Chassis", "reader"))
	require.Equal(t, []string{"/redfish/v1/TaskService/Tasks/cp2.node-0.b1"}, members(t, s, "/redfish/v1/TaskService/Tasks", "reader"))
}

func TestNobodyCanReachWhatIsHidden(t *testing.T) {
	s := redfish.New(options(odd()))
	all := everywhere(t, s, "admin")
	seen := everywhere(t, s, "reader")
	require.Greater(t, len(all), 10*len(seen))
	for uri := range all {
		want := http.StatusNotFound
		if _, granted := seen[uri]; granted {
			want = http.StatusOK
		}
		require.Equal(t, want, serve(s, request(http.MethodGet, uri, "reader", "")).Code, uri)
	}
	for uri, body := range seen {
		require.NotContains(t, body, "cp1", uri)
	}
}

// TestOneURIManyMachines: with legacy ids two callers may mean different machines by one URI.
func TestOneURIManyMachines(t *testing.T) {
	named := func(namespace string, version uint64) *machine {
		return anyMachine(namespace, "node-0").with(func(m *machine) {
			m.System.ID, m.SerialNumber, m.version.Object = "node-0", namespace, version
		})
	}
	s := redfish.New(options(&fleet{machines: []*machine{named("cp1", 1), named("cp2", 2)}}))
	for range 2 {
		for as, serial := range map[string]string{"operator": "cp1", "reader": "cp2"} {
			body := serve(s, request(http.MethodGet, "/redfish/v1/Systems/node-0", as, "")).Body.String()
			require.Contains(t, body, `"SerialNumber":"`+serial+`"`)
		}
	}
}

// personal is a fleet whose machines have another canonical id for each caller.
type personal struct{ *fleet }

func (p personal) Machine(who auth.Principal, id redfish.SystemID) (redfish.Machine, error) {
	found, err := p.fleet.Machine(who, id)
	if err != nil {
		return nil, err
	}
	own := *found.(*machine)
	own.System.ID = redfish.SystemID("cp1.node-0")
	if who.User == "operator" {
		own.System.ID = "node-0"
	}
	return &own, nil
}

func TestCanonicalIDsAreTheCallersOwn(t *testing.T) {
	s := redfish.New(options(personal{odd()}))
	for range 2 {
		for as, id := range map[string]string{"operator": "node-0", "admin": "cp1.node-0"} {
			body := serve(s, request(http.MethodGet, node0, as, "")).Body.String()
			require.Contains(t, body, `"Id":"`+id+`"`)
		}
	}
}

// Chassis names each caller's machines as Machine does.
func (p personal) Chassis(who auth.Principal) ([]redfish.Chassis, error) {
	id := redfish.SystemID("cp1.node-0")
	if who.User == "operator" {
		id = "node-0"
	}
	return []redfish.Chassis{{Name: "cp1", Machines: &redfish.Listing{IDs: []redfish.SystemID{id}}}}, nil
}

func TestAConfiguredChassisNamesMachinesAsTheCallerDoes(t *testing.T) {
	s := redfish.New(options(personal{&fleet{}}))
	for range 2 {
		for as, id := range map[string]string{"operator": "node-0", "admin": "cp1.node-0"} {
			for _, uri := range []string{"/redfish/v1/Chassis/cp1", "/redfish/v1/Chassis/cp1/Systems"} {
				body := serve(s, request(http.MethodGet, uri, as, "")).Body.String()
				require.Contains(t, body, `{"@odata.id":"/redfish/v1/Systems/`+id+`"}`, uri)
			}
		}
	}
}

func TestAChassisIsNotTakenForAMachineOfItsName(t *testing.T) {
	m := anyMachine("cp1", "cp2").with(func(m *machine) { m.System.ID = "cp2" })
	s := redfish.New(options(&fleet{machines: []*machine{m}, chassis: []auth.Chassis{{Name: "cp1"}, {Name: "cp2"}}}))
	for range 2 {
		for as, kind := range map[string]string{"operator": "StandAlone", "reader": "RackMount"} {
			body := serve(s, request(http.MethodGet, "/redfish/v1/Chassis/cp2", as, "")).Body.String()
			require.Contains(t, body, `"ChassisType":"`+kind+`"`)
		}
	}
}

func TestAliasesAnswerAsTheCanonicalURI(t *testing.T) {
	s := redfish.New(options(odd()))
	for alias, canonical := range map[string]string{
		"/redfish/v1/Systems/cp1.legacy":                         "/redfish/v1/Systems/legacy",
		"/redfish/v1/Systems/cp1.legacy/Processors":              "/redfish/v1/Systems/legacy/Processors",
		"/redfish/v1/Managers/cp1.legacy":                        "/redfish/v1/Managers/legacy",
		"/redfish/v1/Chassis/cp1.legacy":                         "/redfish/v1/Chassis/legacy",
		"/redfish/v1/Chassis/cp1/Systems/legacy":                 "/redfish/v1/Systems/legacy",
		"/redfish/v1/Chassis/cp1/Systems/node-0":                 node0,
		"/redfish/v1/Chassis/cp1/Systems/node-0/":                node0,
		"/redfish/v1/Chassis/cp1/Systems/node-0/VirtualMedia/Cd": node0 + "/VirtualMedia/Cd",
		"/redfish/v1/Chassis/cp1/Systems/dotted.name.v1":         "/redfish/v1/Systems/cp1.dotted.name.v1",
		node0 + "/VirtualMedia/cdrom0":                           node0 + "/VirtualMedia/Cd",
		"/redfish/v1/Managers/cp1.node-0/VirtualMedia/cdrom0":    "/redfish/v1/Managers/cp1.node-0/VirtualMedia/Cd",
	} {
		got := serve(s, request(http.MethodGet, alias, "admin", ""))
		want := serve(s, request(http.MethodGet, canonical, "admin", ""))
		require.Equal(t, http.StatusOK, got.Code, alias)
		require.Equal(t, want.Header(), got.Header(), alias)
		require.Equal(t, want.Body.String(), got.Body.String(), alias)
	}
}

func TestChassisCollection(t *testing.T) {
	f := &fleet{
		machines: []*machine{anyMachine("a", "b"), anyMachine("x", "y")},
		chassis:  []auth.Chassis{{Name: "x"}, {Name: "a.b"}, {Name: "a"}},
	}
	s := redfish.New(options(f))
	const uri = "/redfish/v1/Chassis/"
	require.Equal(t, []string{uri + "x", uri + "a", uri + "a.b", uri + "x.y"}, members(t, s, "/redfish/v1/Chassis", "admin"))
	require.Contains(t, serve(s, request(http.MethodGet, uri+"a.b", "admin", "")).Body.String(), "StandAlone", "the machine wins")

	f.chassis = f.chassis[:1]
	require.Equal(t, []string{uri + "x", uri + "a.b", uri + "x.y"}, members(t, s, "/redfish/v1/Chassis", "admin"))
}

func TestNamesWithDots(t *testing.T) { // HTTP-10
	long := "cp1." + strings.Repeat("a", 60) + ".b.c"
	m := anyMachine("cp1", long[4:])
	s := redfish.New(options(&fleet{machines: []*machine{m}}))
	require.Equal(t, []string{"/redfish/v1/Systems/" + long}, members(t, s, "/redfish/v1/Systems", "admin"))
	resp := serve(s, request(http.MethodPost, "/redfish/v1/Systems/"+long+reset, "admin", on))
	require.Equal(t, http.StatusNoContent, resp.Code)
}

func TestSystemManagerAndChassisNameEachOther(t *testing.T) { // INV-04
	s := redfish.New(options(odd()))
	bodies := everywhere(t, s, "admin")
	for uri, body := range bodies {
		id, ok := strings.CutPrefix(uri, "/redfish/v1/Systems/")
		if !ok || strings.Contains(id, "/") {
			continue
		}
		require.Contains(t, body, `"Links":{"Chassis":[{"@odata.id":"/redfish/v1/Chassis/`+id+`"}],"ManagedBy":[{"@odata.id":"/redfish/v1/Managers/`+id+`"}]}`)
		require.Contains(t, bodies["/redfish/v1/Managers/"+id], `"ManagerForServers":[{"@odata.id":"`+uri+`"}]`)
		require.Contains(t, bodies["/redfish/v1/Chassis/"+id], `"ComputerSystems":[{"@odata.id":"`+uri+`"}],"ManagedBy":[{"@odata.id":"/redfish/v1/Managers/`+id+`"}]`)
	}
}
