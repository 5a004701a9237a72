package redfish

import "strings"

// schema is a DMTF schema in one version, as "Chassis.v1_28_0"; collections have none, as
// "ChassisCollection".
type schema string

// The schemas of all resources, of release 2025.4 of the bundle DSP8010.
const (
	schemaBios                        schema = "Bios.v1_2_3"
	schemaBootOption                  schema = "BootOption.v1_0_6"
	schemaBootOptionCollection        schema = "BootOptionCollection"
	schemaChassis                     schema = "Chassis.v1_28_0"
	schemaChassisCollection           schema = "ChassisCollection"
	schemaComputerSystem              schema = "ComputerSystem.v1_27_0"
	schemaComputerSystemCollection    schema = "ComputerSystemCollection"
	schemaDrive                       schema = "Drive.v1_22_0"
	schemaEthernetInterface           schema = "EthernetInterface.v1_12_4"
	schemaEthernetInterfaceCollection schema = "EthernetInterfaceCollection"
	schemaManager                     schema = "Manager.v1_24_0"
	schemaManagerCollection           schema = "ManagerCollection"
	schemaManagerNetworkProtocol      schema = "ManagerNetworkProtocol.v1_12_0"
	schemaMemory                      schema = "Memory.v1_23_0"
	schemaMemoryCollection            schema = "MemoryCollection"
	schemaMessage                     schema = "Message.v1_3_0"
	schemaProcessor                   schema = "Processor.v1_22_0"
	schemaProcessorCollection         schema = "ProcessorCollection"
	schemaSecureBoot                  schema = "SecureBoot.v1_1_2"
	schemaServiceRoot                 schema = "ServiceRoot.v1_20_0"
	schemaSessionCollection           schema = "SessionCollection"
	schemaSessionService              schema = "SessionService.v1_2_0"
	schemaSimpleStorage               schema = "SimpleStorage.v1_3_2"
	schemaSimpleStorageCollection     schema = "SimpleStorageCollection"
	schemaStorage                     schema = "Storage.v1_21_0"
	schemaStorageCollection           schema = "StorageCollection"
	schemaStorageController           schema = "StorageController.v1_11_0"
	schemaStorageControllerCollection schema = "StorageControllerCollection"
	schemaTask                        schema = "Task.v1_7_4"
	schemaTaskCollection              schema = "TaskCollection"
	schemaTaskService                 schema = "TaskService.v1_3_0"
	schemaVirtualMedia                schema = "VirtualMedia.v1_6_5"
	schemaVirtualMediaCollection      schema = "VirtualMediaCollection"
	schemaVolume                      schema = "Volume.v1_10_2"
	schemaVolumeCollection            schema = "VolumeCollection"
)

// schemas are all of the above: what $metadata lists.
var schemas = []schema{
	schemaBios, schemaBootOption, schemaBootOptionCollection, schemaChassis, schemaChassisCollection,
	schemaComputerSystem, schemaComputerSystemCollection, schemaDrive, schemaEthernetInterface,
	schemaEthernetInterfaceCollection, schemaManager, schemaManagerCollection, schemaManagerNetworkProtocol,
	schemaMemory, schemaMemoryCollection, schemaMessage, schemaProcessor, schemaProcessorCollection,
	schemaSecureBoot, schemaServiceRoot, schemaSessionCollection, schemaSessionService, schemaSimpleStorage,
	schemaSimpleStorageCollection, schemaStorage, schemaStorageCollection, schemaStorageController,
	schemaStorageControllerCollection, schemaTask, schemaTaskCollection, schemaTaskService, schemaVirtualMedia,
	schemaVirtualMediaCollection, schemaVolume, schemaVolumeCollection,
}

// kind is the schema's name without a version.
func (s schema) kind() string {
	kind, _, _ := strings.Cut(string(s), ".")
	return kind
}

// MarshalText makes the value of @odata.type.
func (s schema) MarshalText() ([]byte, error) {
	return []byte("#" + string(s) + "." + s.kind()), nil
}

// folder is where the schema is published; it is only ever named, never fetched. Volumes are SNIA's and
// have a folder of their own.
func (s schema) folder() string {
	if s == schemaVolume || s == schemaVolumeCollection {
		return "http://redfish.dmtf.org/schemas/swordfish/v1/"
	}
	return "http://redfish.dmtf.org/schemas/v1/"
}

// describedBy is the Link header of the schema's resources (DSP0266, section "Link header").
func (s schema) describedBy() string {
	return "<" + s.folder() + string(s) + ".json>; rel=describedby"
}
