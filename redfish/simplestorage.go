package redfish

type simpleStorage struct {
	head
	Devices []simpleStorageDevice `json:"Devices"`
	Status  statusBody            `json:"Status"`
	Links   simpleStorageLinks    `json:"Links"`
}

type simpleStorageDevice struct {
	Name          string     `json:"Name"`
	CapacityBytes int64      `json:"CapacityBytes"`
	Status        statusBody `json:"Status"`
}

type simpleStorageLinks struct {
	Chassis link `json:"Chassis"`
	Storage link `json:"Storage"`
}

// simpleStorageCollection shows the same drives as the storage collection, for clients of the older model.
func simpleStorageCollection(_ *Service, m *System, _ map[string]string) (resource, error) {
	uri := systemURI(m.ID) + "/SimpleStorage"
	return newCollection(uri, schemaSimpleStorageCollection, "Simple Storage", linksTo(uri, storageBuses(m))), nil
}

func simpleStorageResource(_ *Service, m *System, vars map[string]string) (resource, error) {
	bus := Bus(vars["SimpleStorageId"])
	disks, err := disksOn(m, bus)
	if err != nil {
		return nil, err
	}
	devices := make([]simpleStorageDevice, len(disks))
	for i := range disks {
		devices[i] = simpleStorageDevice{Name: disks[i].ID, CapacityBytes: disks[i].CapacityBytes, Status: enabled}
	}
	return simpleStorage{
		head:    newHead(systemURI(m.ID)+"/SimpleStorage/"+string(bus), schemaSimpleStorage, "Simple Storage "+string(bus)),
		Devices: devices, Status: enabled,
		Links: simpleStorageLinks{Chassis: link{chassisURI + "/" + string(m.ID)}, Storage: link{storageURI(m.ID, bus)}},
	}, nil
}
