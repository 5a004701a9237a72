package redfish

import "net/netip"

type ethernetInterface struct {
	head
	Enabled      bool                    `json:"InterfaceEnabled"`
	MAC          *string                 `json:"MACAddress"`
	PermanentMAC *string                 `json:"PermanentMACAddress"`
	LinkStatus   string                  `json:"LinkStatus"`
	HostName     *string                 `json:"HostName"`
	FQDN         *string                 `json:"FQDN,omitempty"`
	IPv4         []addressBody           `json:"IPv4Addresses"`
	IPv6         []addressBody           `json:"IPv6Addresses"`
	Status       statusBody              `json:"Status"`
	Links        *ethernetInterfaceLinks `json:"Links,omitempty"`
}

type ethernetInterfaceLinks struct {
	Chassis link `json:"Chassis"`
}

// addressBody is a member of IPv4Addresses and of IPv6Addresses. The prefix length is the latter's.
type addressBody struct {
	Address      string `json:"Address"`
	PrefixLength *int   `json:"PrefixLength,omitempty"`
}

// ethernetInterfaceCollection lists the interfaces in the order of the machine's definition.
func ethernetInterfaceCollection(_ *Service, m *System, _ map[string]string) (resource, error) {
	uri := systemURI(m.ID) + "/EthernetInterfaces"
	members := make([]link, len(m.Interfaces))
	for i := range m.Interfaces {
		members[i].ODataID = uri + "/" + m.Interfaces[i].ID
	}
	return newCollection(uri, schemaEthernetInterfaceCollection, "Ethernet Interfaces", members), nil
}

// ethernetInterfaceResource is enabled and healthy also while the machine is off: installers take no other
// interface.
func ethernetInterfaceResource(_ *Service, m *System, vars map[string]string) (resource, error) {
	for i := range m.Interfaces {
		nic := &m.Interfaces[i]
		if nic.ID != vars["EthernetInterfaceId"] {
			continue
		}
		status := "LinkDown"
		if nic.Connected {
			status = "LinkUp"
		}
		v4, v6 := addressBodies(nic.Addresses)
		return ethernetInterface{
			head:    newHead(systemURI(m.ID)+"/EthernetInterfaces/"+nic.ID, schemaEthernetInterface, "Ethernet Interface "+nic.ID),
			Enabled: true, MAC: optional(nic.MAC), PermanentMAC: optional(nic.MAC), LinkStatus: status,
			HostName: optional(m.HostName), IPv4: v4, IPv6: v6, Status: enabled,
			Links: &ethernetInterfaceLinks{Chassis: link{chassisURI + "/" + string(m.ID)}},
		}, nil
	}
	return nil, ErrNotFound
}

// addressBodies sorts addresses, each with or without a prefix length, by their family. What is no address
// of a single host is left out.
func addressBodies(texts []string) (v4, v6 []addressBody) {
	v4, v6 = []addressBody{}, []addressBody{}
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		address := prefix.Addr()
		if err != nil {
			if address, err = netip.ParseAddr(text); err != nil {
				continue
			}
		}
		address = address.Unmap().WithZone("")
		switch {
		case address.IsUnspecified():
		case address.Is4():
			v4 = append(v4, addressBody{Address: address.String()})
		default:
			v6 = append(v6, addressBody{Address: address.String(), PrefixLength: optional(max(prefix.Bits(), 0))})
		}
	}
	return v4, v6
}
