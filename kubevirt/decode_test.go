package kubevirt

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	mebi = 1 << 20
	gibi = 1 << 30
)

// decoded is the record of an object.
func decoded[W any, R record, P wire[W, R]](t testing.TB, text string) R {
	t.Helper()
	var object W
	require.NoError(t, json.Unmarshal([]byte(text), &object))
	r, err := P(&object).record()
	require.NoError(t, err)
	return r
}

func fromFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(text)
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return when
}

func TestVirtualMachineIsKeptAsItIs(t *testing.T) {
	want := &vmRecord{
		identity: identity{
			key: key{"cp1", "node-0.lab"}, uid: "0a1b2c3d-0000-4000-8000-000000000001", version: 812345, created: at(t, "2026-06-30T08:00:00Z"),
		},
		generation: 7, labels: map[string]string{"cluster": "cp1", "role": "control-plane"}, annotated: true,
		annotations: wireAnnotations{
			RunStrategy: rerunOnFailure, StoppedRunStrategy: once,
			PowerOn: `{"v":1,"id":"c0ffee","reset":"On","state":"waiting","since":"2026-07-01T11:00:00Z"}`,
		},
		strategy: rerunOnFailure, statusStrategy: rerunOnFailure, printable: "CrashLoopBackOff", hasInstance: true,
		instancetype: "VirtualMachineClusterInstancetype/u1.large", preference: "fedora", revisions: "spec-type//node-0-type-1",
		template: hardware{
			uuid: "5D307CA9-B3EF-428C-8861-06E72D69F223", serial: "SN-0042", asset: "RACK-7", sku: "CP-1",
			architecture: "amd64", cpuModel: "Cascadelake-Server", topology: topology{2, 4, 1}, memory: 16 * gibi,
			efi: true, secureBoot: true, grace: 300,
			disks: []disk{
				{name: "root", bus: "virtio", serial: "DISK-1", bootOrder: 1, volume: "dataVolume", claim: "node-0-root", bytes: 120 * gibi},
				{name: "data", bus: "sata", volume: "persistentVolumeClaim", claim: "node-0-data", bytes: 1e9},
				{name: "lun", bus: "scsi", volume: "persistentVolumeClaim", claim: "shared"},
				{name: "cd", bus: "sata", cdrom: true, bootOrder: 3, volume: "dataVolume", claim: "iso"},
				{name: "scratch", bus: "virtio", volume: "emptyDisk", bytes: 2 * gibi},
				{name: "host", bus: "virtio", volume: "hostDisk", bytes: 3 * gibi},
				{name: "image", bus: "virtio", volume: "containerDisk"},
				{name: "init", bus: "virtio", volume: "cloudInit"},
				{name: "base", bus: "virtio", volume: "ephemeral", claim: "golden"},
				{name: "notes", bus: "virtio"},
				{name: "tray", bus: "sata", cdrom: true},
			},
			nics: []nic{{name: "machine", mac: "02:00:00:C1:00:00", bootOrder: 2}, {name: "fast", mac: "02-00-00-c1-00-01"}, {name: "pod"}},
		},
		conditions: []condition{
			{"Ready", "False", "VMINotExists", "VMI does not exist", at(t, "2026-07-01T10:00:00Z")},
			{kind: "RestartRequired", status: "True"},
		},
		requests:      []changeRequest{{"Stop", "vmi-1"}, {"Start", ""}},
		startFailures: 3, retryAfter: at(t, "2026-07-01T12:01:00Z"),
	}
	require.Equal(t, want, decoded[wireVM, *vmRecord](t, fromFile(t, "vm-full.json")))
}

func TestInstanceIsKeptAsItIs(t *testing.T) {
	want := &vmiRecord{
		identity: identity{
			key: key{"cp1", "node-0"}, uid: "0a1b2c3d-0000-4000-8000-000000000002", version: 812399,
			created: at(t, "2026-07-01T09:59:00Z"), deleted: at(t, "2026-07-01T12:00:00Z"),
		},
		hardware: hardware{
			uuid: "5d307ca9-b3ef-428c-8861-06e72d69f223", serial: "SN-0042", architecture: "amd64",
			cpuModel: "host-model", topology: topology{1, 8, 1}, memory: 16 * gibi, grace: 0,
			disks: []disk{{name: "root", bus: "virtio", volume: "dataVolume", claim: "node-0-root"}},
			nics:  []nic{{name: "machine", mac: "02:00:00:c1:00:00"}},
		},
		phase: "Running", node: "host-1", running: at(t, "2026-07-01T10:00:00Z"),
		conditions: []condition{
			{kind: "Ready", status: "True", since: at(t, "2026-07-01T10:00:30Z")},
			{kind: "AgentConnected", status: "True"},
		},
		nics: []nicState{
			{name: "machine", mac: "02:00:00:c1:00:00", addresses: []string{"192.0.2.10", "2001:db8::10"}},
			{name: "spare", mac: "02:00:00:c1:00:01", down: true},
			{mac: "6e:00:00:00:00:01"},
		},
		volumes:  []volumeState{{"root", 128 * gibi}, {"image", 44 * mebi}, {"init", mebi}, {"pending", 0}},
		topology: topology{2, 8, 1}, memory: 32 * gibi, guestOS: "Fedora Linux 44",
	}
	require.Equal(t, want, decoded[wireVMI, *vmiRecord](t, fromFile(t, "vmi-running.json")))
}

func TestClaimIsAsLargeAsItsVolume(t *testing.T) {
	bound := decoded[wirePVC, *claimRecord](t, fromFile(t, "pvc.json"))
	require.Equal(t, key{"cp1", "node-0-root"}, bound.key)
	require.EqualValues(t, 128*gibi, bound.bytes)
	pending := decoded[wirePVC, *claimRecord](t, `{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"resources":{"requests":{"storage":"120Gi"}}}}`)
	require.EqualValues(t, 120*gibi, pending.bytes, "what was asked for, until it is bound")
}

func TestHardwareHasKubeVirtsDefaults(t *testing.T) {
	tests := map[string]struct {
		spec string
		want func(h *hardware)
	}{
		"nothing set":               {`{}`, func(*hardware) {}},
		"cores only":                {`{"domain":{"cpu":{"cores":4}}}`, func(h *hardware) { h.topology = topology{1, 4, 1} }},
		"topology before limits":    {`{"domain":{"cpu":{"threads":2},"resources":{"limits":{"cpu":"8"}}}}`, func(h *hardware) { h.topology = topology{1, 1, 2} }},
		"a model alone":             {`{"domain":{"cpu":{"model":"EPYC"},"resources":{"limits":{"cpu":"8"}}}}`, func(h *hardware) { h.topology, h.cpuModel = topology{8, 1, 1}, "EPYC" }},
		"CPUs from limits":          {`{"domain":{"resources":{"limits":{"cpu":"6"},"requests":{"cpu":"2"}}}}`, func(h *hardware) { h.topology = topology{6, 1, 1} }},
		"CPUs from requests":        {`{"domain":{"resources":{"requests":{"cpu":"2500m"}}}}`, func(h *hardware) { h.topology = topology{3, 1, 1} }},
		"memory of the guest first": {`{"domain":{"memory":{"guest":"2Gi"},"resources":{"requests":{"memory":"1Gi"}}}}`, func(h *hardware) { h.memory = 2 * gibi }},
		"memory from requests":      {`{"domain":{"resources":{"requests":{"memory":"1Gi"},"limits":{"memory":"4Gi"}}}}`, func(h *hardware) { h.memory = gibi }},
		"memory from limits":        {`{"domain":{"resources":{"limits":{"memory":"4Gi"}}}}`, func(h *hardware) { h.memory = 4 * gibi }},
		"memory from huge pages":    {`{"domain":{"memory":{"hugepages":{"pageSize":"1Gi"}}}}`, func(h *hardware) { h.memory = gibi }},
		"a page size of nonsense":   {`{"domain":{"memory":{"hugepages":{"pageSize":"huge"}}}}`, func(*hardware) {}},
		"EFI is secure by default":  {`{"domain":{"firmware":{"bootloader":{"efi":{}}}}}`, func(h *hardware) { h.efi, h.secureBoot = true, true }},
		"EFI, secure":               {`{"domain":{"firmware":{"bootloader":{"efi":{"secureBoot":true}}}}}`, func(h *hardware) { h.efi, h.secureBoot = true, true }},
		"EFI, not secure":           {`{"domain":{"firmware":{"bootloader":{"efi":{"secureBoot":false}}}}}`, func(h *hardware) { h.efi = true }},
		"BIOS":                      {`{"domain":{"firmware":{"bootloader":{"bios":{}}}}}`, func(*hardware) {}},
		"arm64 has EFI": {`{"architecture":"arm64"}`, func(h *hardware) {
			h.architecture, h.efi, h.cpuModel = "arm64", true, "host-passthrough"
		}},
		"arm64 is not secure by default": {`{"architecture":"arm64","domain":{"firmware":{"bootloader":{"efi":{}}}}}`, func(h *hardware) {
			h.architecture, h.efi, h.cpuModel = "arm64", true, "host-passthrough"
		}},
		"arm64 has virtio disks": {`{"architecture":"arm64","domain":{"devices":{"disks":[{"name":"a","disk":{}},{"name":"b","cdrom":{}}]}}}`, func(h *hardware) {
			h.architecture, h.efi, h.cpuModel = "arm64", true, "host-passthrough"
			h.disks = []disk{{name: "a", bus: "virtio"}, {name: "b", bus: "virtio", cdrom: true}}
		}},
		"s390x has virtio disks": {`{"architecture":"s390x","domain":{"devices":{"disks":[{"name":"a","lun":{}}]}}}`, func(h *hardware) {
			h.architecture, h.disks = "s390x", []disk{{name: "a", bus: "virtio"}}
		}},
		"amd64 has SATA disks": {`{"domain":{"devices":{"disks":[{"name":"a","disk":{}},{"name":"b","cdrom":{}},{"name":"c","lun":{}}]}}}`, func(h *hardware) {
			h.disks = []disk{{name: "a", bus: "sata"}, {name: "b", bus: "sata", cdrom: true}, {name: "c", bus: "sata"}}
		}},
		"a disk that names no kind":  {`{"domain":{"devices":{"disks":[{"name":"a"}]}}}`, func(h *hardware) { h.disks = []disk{{name: "a", bus: "sata"}} }},
		"no interfaces":              {`{"domain":{"devices":{"interfaces":[]}}}`, func(*hardware) {}},
		"no grace is not the same":   {`{"terminationGracePeriodSeconds":0}`, func(h *hardware) { h.grace = 0 }},
		"an absurd number of CPUs":   {`{"domain":{"resources":{"limits":{"cpu":"9E"}}}}`, func(h *hardware) { h.topology = topology{1 << 16, 1, 1} }},
		"a volume without its disk":  {`{"volumes":[{"name":"a","emptyDisk":{"capacity":"1Gi"}}]}`, func(*hardware) {}},
		"an empty disk of no size":   {`{"domain":{"devices":{"disks":[{"name":"a","disk":{}}]}},"volumes":[{"name":"a","emptyDisk":{}}]}`, func(h *hardware) { h.disks = []disk{{name: "a", bus: "sata", volume: "emptyDisk"}} }},
		"config drive is cloud-init": {`{"domain":{"devices":{"disks":[{"name":"a","disk":{}}]}},"volumes":[{"name":"a","cloudInitConfigDrive":{}}]}`, func(h *hardware) { h.disks = []disk{{name: "a", bus: "sata", volume: "cloudInit"}} }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := hardware{topology: topology{1, 1, 1}, grace: -1, disks: []disk{}, nics: []nic{}}
			tc.want(&want)
			var spec wireSpec
			require.NoError(t, json.Unmarshal([]byte(tc.spec), &spec))
			require.Equal(t, want, spec.hardware())
		})
	}
}

func TestRunStrategyOfBothKindsOfVM(t *testing.T) {
	tests := map[string]struct {
		spec   string
		want   strategy
		legacy bool
	}{
		"run strategy":  {`{"runStrategy":"Manual"}`, manual, false},
		"running":       {`{"running":true}`, always, true},
		"not running":   {`{"running":false}`, halted, true},
		"neither":       {`{}`, halted, true},
		"a newer value": {`{"runStrategy":"OnTuesdays"}`, "OnTuesdays", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			vm := decoded[wireVM, *vmRecord](t, `{"metadata":{"name":"a","resourceVersion":"1"},"spec":`+tc.spec+`}`)
			require.Equal(t, tc.want, vm.strategy)
			require.Equal(t, tc.legacy, vm.legacyRunning)
		})
	}
}

func TestAnnotationsThatAreNotThere(t *testing.T) {
	vm := func(metadata string) *vmRecord {
		return decoded[wireVM, *vmRecord](t, `{"metadata":{"name":"a","resourceVersion":"1"`+metadata+`}}`)
	}
	require.False(t, vm("").annotated, "the map itself has to be made")
	require.True(t, vm(`,"annotations":{}`).annotated)
	require.True(t, vm(`,"annotations":{"other":"x"}`).annotated)
	require.Zero(t, vm(`,"annotations":{"other":"x"}`).annotations)
}

func TestPowerOnAnnotation(t *testing.T) {
	held := powerOn{Version: 1, ID: "c0ffee", Reset: "On", State: holdWaiting, Since: noon}
	tests := map[string]struct {
		text string
		want *powerOn
	}{
		"none":         {"", nil},
		"not JSON":     {"waiting", nil},
		"without id":   {`{"v":1,"state":"waiting"}`, nil},
		"no version":   {`{"id":"c0ffee","state":"waiting"}`, nil},
		"held":         {held.String(), &held},
		"foreign id":   {`{"v":1,"id":"../../Systems/x\r\n","state":"waiting"}`, nil},
		"newer format": {`{"v":9,"id":"c0ffee","state":"waiting","why":{"media":["cd"]}}`, &powerOn{Version: 9, ID: "c0ffee", State: holdWaiting}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, parsePowerOn(tc.text))
		})
	}
}

func TestObjectWithoutAProperVersionIsRefused(t *testing.T) {
	for _, version := range []string{"", "abc", "-1", "18446744073709551616"} {
		_, err := (&wireVM{Metadata: wireMeta{Name: "a", Namespace: "cp1", ResourceVersion: version}}).record()
		require.ErrorContains(t, err, "cp1/a", version)
	}
}

// FuzzDecode looks for objects that make the decoder, or what is worked out from its records, panic.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"vm-full.json", "vmi-running.json", "pvc.json"} {
		f.Add([]byte(fromFile(f, name)))
	}
	f.Add([]byte(`{"metadata":{"resourceVersion":"1"},"spec":{"template":{"spec":{"domain":{"devices":{"disks":[null],"interfaces":[null]}},"volumes":[null]}}}}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		var (
			vm    wireVM
			vmi   wireVMI
			claim wirePVC
		)
		if json.Unmarshal(text, &claim) == nil {
			_, _ = claim.record()
		}
		m := &machine{}
		if json.Unmarshal(text, &vmi) == nil {
			m.vmi, _ = vmi.record()
		}
		if json.Unmarshal(text, &vm) != nil {
			return
		}
		r, err := vm.record()
		if err != nil {
			return
		}
		m.take(r)
		m.remember()
		h := &handle{found: found{machine: m}, backend: &Backend{store: &store{}, rights: &knownRights{}}, now: noon}
		h.Describe()
		for _, how := range allResets {
			decide(m, how, moment{now: noon})
			decide(m, how, moment{now: noon, may: allRights})
		}
		if m.hold.waiting() {
			holdStep(m, noon)
		}
	})
}
