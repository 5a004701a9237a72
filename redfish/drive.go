package redfish

type drive struct {
	head
	Description   string         `json:"Description,omitempty"`
	MediaType     string         `json:"MediaType"`
	Protocol      string         `json:"Protocol"`
	CapacityBytes int64          `json:"CapacityBytes"`
	SerialNumber  *string        `json:"SerialNumber"`
	Status        statusBody     `json:"Status"`
	Links         driveLinksBody `json:"Links"`
}

type driveLinksBody struct {
	Chassis link   `json:"Chassis"`
	Volumes []link `json:"Volumes"`
}

// driveLinks are the references to the drives of the storage at uri.
func driveLinks(uri string, disks []Disk) []link {
	links := make([]link, len(disks))
	for i := range disks {
		links[i].ODataID = uri + "/Drives/" + disks[i].ID
	}
	return links
}

func driveResource(_ *Service, m *System, vars map[string]string) (resource, error) {
	disk, err := diskNamed(m, vars["StorageId"], vars["DriveId"])
	if err != nil {
		return nil, err
	}
	uri := storageURI(m.ID, disk.Bus)
	return drive{
		head:        newHead(uri+"/Drives/"+disk.ID, schemaDrive, disk.ID),
		Description: disk.Source, MediaType: "SSD", Protocol: disk.Bus.protocol(),
		CapacityBytes: disk.CapacityBytes, SerialNumber: optional(disk.SerialNumber), Status: enabled,
		Links: driveLinksBody{
			Chassis: link{chassisURI + "/" + string(m.ID)},
			Volumes: []link{{uri + "/Volumes/" + disk.ID}},
		},
	}, nil
}
