package redfish_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	system  = "/redfish/v1/Systems/"
	manager = "/redfish/v1/Managers/"
	chassis = "/redfish/v1/Chassis/"
)

// recordings are the resources in each file of testdata.
var recordings = map[string][]string{
	"service": {
		"/redfish", "/redfish/v1/", "/redfish/v1/odata", "/redfish/v1/SessionService", "/redfish/v1/SessionService/Sessions",
		"/redfish/v1/TaskService",
	},
	"collections": {"/redfish/v1/Systems", "/redfish/v1/Managers", "/redfish/v1/Chassis", "/redfish/v1/TaskService/Tasks", chassis + "cp2/Systems"},
	"tasks": {
		"/redfish/v1/TaskService/Tasks/cp1.held.a1", "/redfish/v1/TaskService/Tasks/cp1.held.a2",
		"/redfish/v1/TaskService/Tasks/cp1.held.a3", "/redfish/v1/TaskService/Tasks/cp2.node-0.b1",
	},
	"running": {
		system + "cp1.node-0", system + "cp1.node-0/Processors", system + "cp1.node-0/Processors/CPU1", system + "cp1.node-0/Memory",
		system + "cp1.node-0/Memory/DIMM0", system + "cp1.node-0/EthernetInterfaces/default", system + "cp1.node-0/Storage/virtio",
		system + "cp1.node-0/Storage/virtio/Controllers/0", system + "cp1.node-0/Storage/virtio/Drives/root",
		system + "cp1.node-0/Storage/virtio/Volumes", system + "cp1.node-0/Storage/virtio/Volumes/root",
		system + "cp1.node-0/SimpleStorage/virtio", system + "cp1.node-0/Bios", system + "cp1.node-0/SecureBoot",
		system + "cp1.node-0/BootOptions", system + "cp1.node-0/BootOptions/Boot0001", system + "cp1.node-0/VirtualMedia",
		system + "cp1.node-0/VirtualMedia/Cd",
	},
	"manager": {
		manager + "cp1.node-0", manager + "cp1.node-0/EthernetInterfaces", manager + "cp1.node-0/EthernetInterfaces/eth0",
		manager + "cp1.node-0/NetworkProtocol", manager + "cp1.node-0/VirtualMedia/Cd",
	},
	"chassis":       {chassis + "cp1.unschedulable", chassis + "cp1.named-like-a-chassis", chassis + "cp2", chassis + "empty"},
	"off":           {system + "cp1.off", system + "cp1.off/EthernetInterfaces/default", system + "cp1.off/SecureBoot"},
	"unschedulable": {system + "cp1.unschedulable"},
	"lost":          {system + "cp1.lost"},
	"bios":          {system + "cp1.bios", system + "cp1.bios/Bios"},
	"insecure":      {system + "cp1.insecure/SecureBoot"},
	"override":      {system + "cp1.override"},
	"architectures": {system + "cp1.arm/Processors/CPU0", system + "cp1.mainframe/Processors/CPU0"},
	"no-nics":       {system + "cp1.no-nics/EthernetInterfaces"},
	"no-disks":      {system + "cp1.no-disks/Storage", system + "cp1.no-disks/SimpleStorage", system + "cp1.no-disks/BootOptions"},
	"unknown-sizes": {system + "cp1.unknown-sizes/Storage", system + "cp1.unknown-sizes/SimpleStorage"},
	"nics":          {system + "cp1.nics/EthernetInterfaces", system + "cp1.nics/EthernetInterfaces/zulu", system + "cp1.nics/EthernetInterfaces/alfa", system + "cp1.nics/EthernetInterfaces/mike"},
	"disks":         {system + "cp1.disks/Storage", system + "cp1.disks/Storage/scsi", system + "cp1.disks/Storage/sata/Drives/root", system + "cp1.disks/SimpleStorage/scsi"},
	"legacy":        {system + "legacy", manager + "legacy", chassis + "legacy"},
	"nothing-known": {system + "cp1.bare", system + "cp1.bare/Processors/CPU0", system + "cp1.bare/Memory/DIMM0", system + "cp1.bare/Bios", chassis + "cp1.bare"},
}

// TestAnswersAreAsRecorded compares whole answers with testdata; TestEveryResourceConforms validates the same
// ones against the schemas.
func TestAnswersAreAsRecorded(t *testing.T) {
	for name, uris := range recordings {
		t.Run(name, func(t *testing.T) {
			s := redfish.New(options(odd()))
			answers := map[string]json.RawMessage{}
			for _, uri := range uris {
				resp := serve(s, request(http.MethodGet, uri, "admin", ""))
				require.Equal(t, http.StatusOK, resp.Code, uri)
				answers[uri] = json.RawMessage(resp.Body.String())
			}
			golden(t, filepath.Join("testdata", name+".json"), answers)
		})
	}
}

func golden(t *testing.T, file string, answers map[string]json.RawMessage) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(answers))
	if *update {
		require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
}
