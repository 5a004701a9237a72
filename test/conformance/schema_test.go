package conformance

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const system = `{"@odata.id":"/redfish/v1/Systems/1","@odata.type":"#ComputerSystem.v1_27_0.ComputerSystem","Id":"1","Name":"n"`

func TestValidateNamesPlaceAndReason(t *testing.T) {
	tests := map[string]struct {
		body string
		want string // empty means valid
	}{
		"valid":                  {system + `}`, ""},
		"null where allowed":     {system + `,"SerialNumber":null}`, ""},
		"open OEM member":        {system + `,"Oem":{"X":{"Anything":[1]}}}`, ""},
		"annotation":             {system + `,"Boot":{"BootSourceOverrideTarget@Redfish.AllowableValues":["Cd"]}}`, ""},
		"no JSON":                {`{`, "not valid JSON"},
		"two values":             {`{} {}`, "not valid JSON"},
		"an array":               {`[]`, "not a JSON object"},
		"no type":                {`{"Id":"1"}`, `@odata.type "" is not of the form`},
		"a version not in here":  {`{"@odata.type":"#ComputerSystem.v1_0_0.ComputerSystem"}`, `the bundle has "#ComputerSystem.v1_27_0.ComputerSystem"`},
		"a type not in here":     {`{"@odata.type":"#Toaster.v1_0_0.Toaster"}`, "no schema in the bundle"},
		"null where not allowed": {system + `,"Status":null}`, "/Status: got null, want object"},
		"unknown property":       {system + `,"Color":"red"}`, "additional properties 'Color' not allowed"},
		"unknown nested":         {system + `,"Boot":{"Color":"red"}}`, "/Boot: additional properties 'Color' not allowed"},
		"wrong type":             {system + `,"SerialNumber":1}`, "/SerialNumber: got number, want null or string"},
		"wrong enumeration":      {system + `,"Status":{"Health":"Fine"}}`, "/Status/Health: value must be one of 'OK', 'Warning', 'Critical'"},
		"time without a zone":    {system + `,"LastResetTime":"2026-01-02T03:04:05"}`, "/LastResetTime: '2026-01-02T03:04:05' is not valid date-time"},
		"missing":                {`{"@odata.id":"/x","@odata.type":"#ComputerSystem.v1_27_0.ComputerSystem","Id":"1"}`, "missing property Name"},
		"missing in a collection": {
			`{"@odata.id":"/x","@odata.type":"#ChassisCollection.ChassisCollection","Name":"n","Members@odata.count":0}`, "missing property Members",
		},
		"reference with more":    {system + `,"Storage":{"@odata.id":"/x","Name":"n"}}`, "/Storage: additional properties 'Name' not allowed"},
		"annotation of one type": {system + `,"Boot":{"X@Redfish.AllowableValues":"Cd"}}`, "/Boot/X@Redfish.AllowableValues: got string, want array"},
		"annotation by schema":   {system + `,"@Redfish.Settings":{"SettingsObject":1}}`, "/@Redfish.Settings/SettingsObject: got number, want object"},
	}
	schemas := FromEnv(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := schemas.Validate([]byte(tt.body))
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestValidateTellsEveryProblem(t *testing.T) {
	err := FromEnv(t).Validate([]byte(system + `,"Status":{"Health":"Fine"},"PowerState":1}`))
	var problems Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 2)
}

// The count is in the schema of the collection and in that of the annotations.
func TestValidateTellsAProblemOnce(t *testing.T) {
	err := FromEnv(t).Validate([]byte(`{"@odata.id":"/x","@odata.type":"#ChassisCollection.ChassisCollection","Name":"n","Members":[],"Members@odata.count":"0"}`))
	require.EqualError(t, err, "/Members@odata.count: got string, want integer")
}

// What links may lead to is there as a type, but in no version: nothing but a reference is valid.
func TestAVersionThatIsNotInTheBundleAcceptsNothing(t *testing.T) {
	const chassis = `{"@odata.id":"/c","@odata.type":"#Chassis.v1_28_0.Chassis","Id":"1","Name":"n","ChassisType":"Rack","PowerSubsystem":`
	schemas := FromEnv(t)
	require.NoError(t, schemas.Validate([]byte(chassis+`{"@odata.id":"/c/p"}}`)))
	require.Error(t, schemas.Validate([]byte(chassis+`{"@odata.id":"/c/p","@odata.type":"#PowerSubsystem.v1_0_0.PowerSubsystem","Id":"1","Name":"n"}}`)))
}

func TestEveryTypeOfTheManifestCompiles(t *testing.T) {
	schemas := FromEnv(t)
	for name, entry := range schemas.manifest {
		if len(entry.Required) == 0 { // only parts of resources, no type of its own
			continue
		}
		pointer, err := schemas.pointer(map[string]any{"@odata.type": entry.Type})
		require.NoError(t, err, name)
		_, err = schemas.compile(pointer)
		require.NoError(t, err, name)
	}
}

func TestManifestMatchesWholeURIs(t *testing.T) {
	entry := FromEnv(t).manifest["VirtualMedia"]
	for uri, want := range map[string]bool{
		"/redfish/v1/Systems/a.b/VirtualMedia/Cd":      true,
		"/redfish/v1/Managers/a/VirtualMedia/Cd":       true,
		"/redfish/v1/Systems/a/b/VirtualMedia/Cd":      false,
		"/redfish/v1/Systems/a.b/VirtualMedia/Cd/more": false,
		"/x/redfish/v1/Systems/a.b/VirtualMedia/Cd":    false,
	} {
		require.Equal(t, want, entry.matches(uri), uri)
	}
	require.True(t, FromEnv(t).manifest["Bios"].matches("/redfish/v1/Systems/a/Bios/Settings"))
}

// outcome records what FromEnv does with a test.
type outcome struct {
	testing.TB
	end string
}

func (o *outcome) Errorf(string, ...any) {}
func (o *outcome) Skipf(string, ...any)  { o.end = "skipped"; runtime.Goexit() }
func (o *outcome) FailNow()              { o.end = "failed"; runtime.Goexit() }

func TestFromEnvSkipsOnlyWhenTheVariableIsNotSet(t *testing.T) {
	tests := map[string]struct{ dir, want string }{
		"not set":          {"", "skipped"},
		"missing":          {filepath.Join(t.TempDir(), "none"), "failed"},
		"without manifest": {dirWithJSON(t), "failed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(EnvDir, tt.dir)
			got := outcome{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				FromEnv(&got) //nolint:testifylint // it ends this goroutine, which is what the test looks at
			}()
			<-done
			require.Equal(t, tt.want, got.end)
		})
	}
}

func TestValidateCompilesWhileOthersValidate(t *testing.T) {
	FromEnv(t)
	schemas, err := Load(os.Getenv(EnvDir))
	require.NoError(t, err)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for _, entry := range schemas.manifest {
				_ = schemas.ValidateObject(map[string]any{"@odata.type": entry.Type})
			}
		})
	}
	work.Wait()
	require.NoError(t, schemas.Validate([]byte(system+`}`)))
}

func TestFromEnvLoadsADirectoryOnce(t *testing.T) {
	first := FromEnv(t)
	require.Same(t, first, FromEnv(t))
}

func dirWithJSON(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "json"), 0o755))
	return dir
}
