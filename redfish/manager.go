package redfish

import (
	"time"

	"github.com/google/uuid"
)

type manager struct {
	head
	ManagerType        string       `json:"ManagerType"`
	Manufacturer       string       `json:"Manufacturer"`
	Model              string       `json:"Model"`
	FirmwareVersion    *string      `json:"FirmwareVersion"`
	UUID               *string      `json:"UUID"`
	ServiceUUID        *string      `json:"ServiceEntryPointUUID"`
	PowerState         PowerState   `json:"PowerState"`
	Status             statusBody   `json:"Status"`
	EthernetInterfaces link         `json:"EthernetInterfaces"`
	NetworkProtocol    link         `json:"NetworkProtocol"`
	VirtualMedia       link         `json:"VirtualMedia"` // deprecated by the standard, needed by clients
	Links              managerLinks `json:"Links"`

	clock managerClock
}

// managerClock are the members that change by themselves.
type managerClock struct {
	DateTime string `json:"DateTime"`
	Offset   string `json:"DateTimeLocalOffset"`
}

type managerLinks struct {
	Servers []link `json:"ManagerForServers"`
	Chassis []link `json:"ManagerForChassis"`
	Inside  link   `json:"ManagerInChassis"`
}

func (m manager) volatileMembers() any { return m.clock }

func managerURI(id SystemID) string { return managersURI + "/" + string(id) }

func managerCollection(c *call) (content, error) {
	return c.listing(managersURI, schemaManagerCollection, "Managers")
}

// managerResource is the BMC of one machine; its Id is the machine's.
func managerResource(s *Service, m *System, _ map[string]string) (resource, error) {
	uri, chassis := managerURI(m.ID), link{chassisURI + "/" + string(m.ID)}
	return manager{
		head:        newHead(uri, schemaManager, "Manager of "+string(m.ID)),
		ManagerType: "BMC", Manufacturer: vendor, Model: product, FirmwareVersion: optional(s.Version),
		UUID: s.managerUUID(m.ID), ServiceUUID: optional(s.UUID), PowerState: PowerOn, Status: enabled,
		EthernetInterfaces: link{uri + "/EthernetInterfaces"}, NetworkProtocol: link{uri + "/NetworkProtocol"},
		VirtualMedia: link{uri + "/VirtualMedia"},
		Links:        managerLinks{Servers: []link{{systemURI(m.ID)}}, Chassis: []link{chassis}, Inside: chassis},
		clock:        managerClock{DateTime: s.Now().UTC().Format(time.RFC3339), Offset: "+00:00"},
	}, nil
}

// managerUUID is the same over restarts and replicas, and another one for each machine; nil when the service
// has no UUID to derive it from.
func (s *Service) managerUUID(id SystemID) *string {
	space, err := uuid.Parse(s.UUID)
	if err != nil {
		return nil
	}
	return optional(uuid.NewSHA1(space, []byte(id)).String())
}
