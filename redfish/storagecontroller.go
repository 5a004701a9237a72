package redfish

type storageController struct {
	head
	Protocols []string   `json:"SupportedDeviceProtocols"`
	Status    statusBody `json:"Status"`
}

// storageControllerID is the Id of the one controller of a bus.
const storageControllerID = "0"

func storageControllerCollection(_ *Service, m *System, vars map[string]string) (resource, error) {
	bus := Bus(vars["StorageId"])
	if _, err := disksOn(m, bus); err != nil {
		return nil, err
	}
	uri := storageURI(m.ID, bus) + "/Controllers"
	return newCollection(uri, schemaStorageControllerCollection, "Storage Controllers", linksTo(uri, []string{storageControllerID})), nil
}

func storageControllerResource(_ *Service, m *System, vars map[string]string) (resource, error) {
	bus := Bus(vars["StorageId"])
	if _, err := disksOn(m, bus); err != nil || vars["StorageControllerId"] != storageControllerID {
		return nil, ErrNotFound
	}
	uri := storageURI(m.ID, bus) + "/Controllers/" + storageControllerID
	return storageController{
		head:      newHead(uri, schemaStorageController, "Storage Controller "+string(bus)),
		Protocols: []string{bus.protocol()}, Status: enabled,
	}, nil
}
