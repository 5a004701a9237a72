package redfish

import (
	"slices"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// routes is every URI of the service. The ones that clients poll come first, since the router tries them in
// this order.
func routes() []route {
	table := slices.Concat(systemRoutes(), managerRoutes(), serviceRoutes())
	for i := range table {
		table[i].allow = table[i].allowed()
	}
	return table
}

func systemRoutes() []route {
	const system = systemsURI + "/{SystemId}"
	const bus = system + "/Storage/{StorageId}"
	mediaCollection, mediaDevice := virtualMediaOf(systemURI)
	return []route{
		{path: system, get: ofMachine(computerSystemResource)},
		{path: systemsURI, get: systemCollection},
		{path: system + "/Actions/ComputerSystem.Reset", post: operation{auth.ConfigureComponents, reset}},
		{path: system + "/VirtualMedia", get: ofMachine(mediaCollection)},
		{path: system + "/VirtualMedia/{VirtualMediaId}", get: ofMachine(mediaDevice)},
		{path: system + "/Processors", get: ofMachine(processorCollection)},
		{path: system + "/Processors/{ProcessorId}", get: ofMachine(processorResource)},
		{path: system + "/Memory", get: ofMachine(memoryCollection)},
		{path: system + "/Memory/{MemoryId}", get: ofMachine(memoryResource)},
		{path: system + "/EthernetInterfaces", get: ofMachine(ethernetInterfaceCollection)},
		{path: system + "/EthernetInterfaces/{EthernetInterfaceId}", get: ofMachine(ethernetInterfaceResource)},
		{path: system + "/Storage", get: ofMachine(storageCollection)},
		{path: bus, get: ofMachine(storageResource)},
		{path: bus + "/Controllers", get: ofMachine(storageControllerCollection)},
		{path: bus + "/Controllers/{StorageControllerId}", get: ofMachine(storageControllerResource)},
		{path: bus + "/Drives/{DriveId}", get: ofMachine(driveResource)},
		{path: bus + "/Volumes", get: ofMachine(volumeCollection)},
		{path: bus + "/Volumes/{VolumeId}", get: ofMachine(volumeResource)},
		{path: system + "/SimpleStorage", get: ofMachine(simpleStorageCollection)},
		{path: system + "/SimpleStorage/{SimpleStorageId}", get: ofMachine(simpleStorageResource)},
		{path: system + "/Bios", get: ofMachine(biosResource)},
		{path: system + "/SecureBoot", get: ofMachine(secureBootResource)},
		{path: system + "/BootOptions", get: ofMachine(bootOptionCollection)},
		{path: system + "/BootOptions/{BootOptionId}", get: ofMachine(bootOptionResource)},
	}
}

// managerRoutes name a manager by {SystemId}, since its Id is that of its system.
func managerRoutes() []route {
	const manager = managersURI + "/{SystemId}"
	mediaCollection, mediaDevice := virtualMediaOf(managerURI)
	return []route{
		{path: managersURI, get: managerCollection},
		{path: manager, get: ofMachine(managerResource)},
		{path: manager + "/VirtualMedia", get: ofMachine(mediaCollection)},
		{path: manager + "/VirtualMedia/{VirtualMediaId}", get: ofMachine(mediaDevice)},
		{path: manager + "/EthernetInterfaces", get: ofMachine(managerInterfaceCollection)},
		{path: manager + "/EthernetInterfaces/{EthernetInterfaceId}", get: ofMachine(managerInterfaceResource)},
		{path: manager + "/NetworkProtocol", get: ofMachine(networkProtocolResource)},
	}
}

func serviceRoutes() []route {
	return []route{
		{path: "/redfish", raw: versions},
		{path: rootURI, get: fixed(serviceRootResource)},
		{path: odataURI, raw: odata},
		{path: metadataURI, raw: metadata},
		{path: chassisURI, get: chassisCollection},
		{path: chassisURI + "/{ChassisId}", get: chassisByID},
		{path: chassisURI + "/{ChassisId}/Systems", get: chassisSystems},
		{path: sessionServiceURI, get: fixed(sessionServiceResource)},
		{path: sessionsURI, get: fixed(sessionCollection)},
		{path: taskServiceURI, get: fixed(taskServiceResource)},
		{path: tasksURI, get: taskCollection},
		{path: tasksURI + "/{TaskId}", get: taskByID},
		{path: taskMonitorsURI + "/{TaskId}", raw: taskMonitor},
	}
}
