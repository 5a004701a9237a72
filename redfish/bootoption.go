package redfish

import "fmt"

type bootOption struct {
	head
	Reference   string     `json:"BootOptionReference"`
	DisplayName string     `json:"DisplayName"`
	Enabled     bool       `json:"BootOptionEnabled"`
	Alias       BootSource `json:"Alias"`
}

// bootOptionIDs are the names of the boot candidates in their order, as UEFI numbers its variables.
func bootOptionIDs(m *System) []string {
	ids := make([]string, len(m.Boot.Devices))
	for i := range ids {
		ids[i] = fmt.Sprintf("Boot%04X", i)
	}
	return ids
}

func bootOptionCollection(_ *Service, m *System, _ map[string]string) (resource, error) {
	uri := systemURI(m.ID) + "/BootOptions"
	return newCollection(uri, schemaBootOptionCollection, "Boot Options", linksTo(uri, bootOptionIDs(m))), nil
}

func bootOptionResource(_ *Service, m *System, vars map[string]string) (resource, error) {
	for i, id := range bootOptionIDs(m) {
		if id != vars["BootOptionId"] {
			continue
		}
		device := m.Boot.Devices[i]
		return bootOption{
			head:      newHead(systemURI(m.ID)+"/BootOptions/"+id, schemaBootOption, "Boot Option "+id),
			Reference: id, DisplayName: string(device.Source) + " " + device.ID, Enabled: true, Alias: device.Source,
		}, nil
	}
	return nil, ErrNotFound
}
