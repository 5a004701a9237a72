package redfish

type volume struct {
	head
	CapacityBytes int64       `json:"CapacityBytes"`
	Status        statusBody  `json:"Status"`
	Links         volumeLinks `json:"Links"`
}

type volumeLinks struct {
	Drives []link `json:"Drives"`
}

// volumeCollection has one volume per drive.
func volumeCollection(_ *Service, m *System, vars map[string]string) (resource, error) {
	bus := Bus(vars["StorageId"])
	disks, err := disksOn(m, bus)
	if err != nil {
		return nil, err
	}
	uri := storageURI(m.ID, bus) + "/Volumes"
	members := make([]link, len(disks))
	for i := range disks {
		members[i].ODataID = uri + "/" + disks[i].ID
	}
	return newCollection(uri, schemaVolumeCollection, "Volumes", members), nil
}

func volumeResource(_ *Service, m *System, vars map[string]string) (resource, error) {
	disk, err := diskNamed(m, vars["StorageId"], vars["VolumeId"])
	if err != nil {
		return nil, err
	}
	uri := storageURI(m.ID, disk.Bus)
	return volume{
		head:          newHead(uri+"/Volumes/"+disk.ID, schemaVolume, disk.ID),
		CapacityBytes: disk.CapacityBytes, Status: enabled,
		Links: volumeLinks{Drives: []link{{uri + "/Drives/" + disk.ID}}},
	}, nil
}
