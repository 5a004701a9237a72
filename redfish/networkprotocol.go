package redfish

type networkProtocol struct {
	head
	HostName *string      `json:"HostName"`
	FQDN     *string      `json:"FQDN"`
	HTTP     protocolBody `json:"HTTP"`
	HTTPS    protocolBody `json:"HTTPS"`
	Status   statusBody   `json:"Status"`
}

type protocolBody struct {
	Enabled bool `json:"ProtocolEnabled"`
	Port    *int `json:"Port"`
}

func networkProtocolResource(s *Service, m *System, _ map[string]string) (resource, error) {
	body := networkProtocol{
		head:     newHead(managerURI(m.ID)+"/NetworkProtocol", schemaManagerNetworkProtocol, "Manager Network Protocol"),
		HostName: optional(s.Host.short()), FQDN: optional(s.Host.qualified()), Status: enabled,
	}
	served := protocolBody{Enabled: true, Port: optional(s.Host.Port)}
	if s.Host.TLS {
		body.HTTPS = served
	} else {
		body.HTTP = served
	}
	return body, nil
}
