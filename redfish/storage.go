package redfish

import "slices"

type storage struct {
	head
	Controllers link         `json:"Controllers"`
	Drives      []link       `json:"Drives"`
	DriveCount  int          `json:"Drives@odata.count"`
	Volumes     link         `json:"Volumes"`
	Status      statusBody   `json:"Status"`
	Links       storageLinks `json:"Links"`
}

type storageLinks struct {
	Enclosures []link `json:"Enclosures"`
}

// busProtocols are the Redfish names of the buses.
var busProtocols = map[Bus]string{BusVirtio: "OEM", BusSATA: "SATA", BusSCSI: "SAS", BusUSB: "USB"}

func (b Bus) protocol() string {
	if name, ok := busProtocols[b]; ok {
		return name
	}
	return "OEM"
}

// knownDisks are the disks of known size: inspection of clients fails on a drive without one.
func knownDisks(m *System) []Disk {
	disks := make([]Disk, 0, len(m.Disks))
	for i := range m.Disks {
		if m.Disks[i].CapacityBytes > 0 {
			disks = append(disks, m.Disks[i])
		}
	}
	return disks
}

// storageBuses are the buses that have drives, in the order in which their first disk is defined.
func storageBuses(m *System) []Bus {
	var buses []Bus
	for _, disk := range knownDisks(m) {
		if !slices.Contains(buses, disk.Bus) {
			buses = append(buses, disk.Bus)
		}
	}
	return buses
}

// disksOn are the disks of known size on one bus; ErrNotFound when there are none.
func disksOn(m *System, bus Bus) ([]Disk, error) {
	disks := slices.DeleteFunc(knownDisks(m), func(d Disk) bool { return d.Bus != bus })
	if len(disks) == 0 {
		return nil, ErrNotFound
	}
	return disks, nil
}

// diskNamed is the disk of that name on that bus, when its size is known.
func diskNamed(m *System, bus, id string) (Disk, error) {
	for _, disk := range knownDisks(m) {
		if disk.ID == id && string(disk.Bus) == bus {
			return disk, nil
		}
	}
	return Disk{}, ErrNotFound
}

func storageURI(id SystemID, bus Bus) string { return systemURI(id) + "/Storage/" + string(bus) }

func storageCollection(_ *Service, m *System, _ map[string]string) (resource, error) {
	uri := systemURI(m.ID) + "/Storage"
	return newCollection(uri, schemaStorageCollection, "Storage", linksTo(uri, storageBuses(m))), nil
}

func storageResource(_ *Service, m *System, vars map[string]string) (resource, error) {
	bus := Bus(vars["StorageId"])
	disks, err := disksOn(m, bus)
	if err != nil {
		return nil, err
	}
	uri := storageURI(m.ID, bus)
	return storage{
		head:        newHead(uri, schemaStorage, "Storage "+string(bus)),
		Controllers: link{uri + "/Controllers"}, Drives: driveLinks(uri, disks), DriveCount: len(disks),
		Volumes: link{uri + "/Volumes"}, Status: enabled,
		Links: storageLinks{Enclosures: []link{{chassisURI + "/" + string(m.ID)}}},
	}, nil
}
