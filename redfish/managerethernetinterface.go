package redfish

import "strings"

// managerInterface is the Id of the one interface of a manager: where this service is reached.
const managerInterface = "eth0"

func managerInterfaceCollection(_ *Service, m *System, _ map[string]string) (resource, error) {
	uri := managerURI(m.ID) + "/EthernetInterfaces"
	return newCollection(uri, schemaEthernetInterfaceCollection, "Manager Ethernet Interfaces", linksTo(uri, []string{managerInterface})), nil
}

func managerInterfaceResource(s *Service, m *System, vars map[string]string) (resource, error) {
	if vars["EthernetInterfaceId"] != managerInterface {
		return nil, ErrNotFound
	}
	v4, v6 := addressBodies(s.Host.Addresses)
	return ethernetInterface{
		head:    newHead(managerURI(m.ID)+"/EthernetInterfaces/"+managerInterface, schemaEthernetInterface, "Manager Ethernet Interface"),
		Enabled: true, LinkStatus: "LinkUp", HostName: optional(s.Host.short()), FQDN: optional(s.Host.qualified()),
		IPv4: v4, IPv6: v6, Status: enabled,
	}, nil
}

// short is the host's name without its domain.
func (h Host) short() string {
	name, _, _ := strings.Cut(h.Name, ".")
	return name
}

// qualified is the host's name when it has a domain.
func (h Host) qualified() string {
	if !strings.Contains(h.Name, ".") {
		return ""
	}
	return h.Name
}
