package redfish

import (
	"errors"
	"strings"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

type chassis struct {
	head
	Description  string       `json:"Description,omitempty"`
	ChassisType  string       `json:"ChassisType"`
	Manufacturer *string      `json:"Manufacturer"`
	Model        *string      `json:"Model"`
	SKU          *string      `json:"SKU"`
	SerialNumber *string      `json:"SerialNumber"`
	AssetTag     *string      `json:"AssetTag"`
	UUID         *string      `json:"UUID,omitempty"`
	PowerState   PowerState   `json:"PowerState"`
	Status       statusBody   `json:"Status"`
	Links        chassisLinks `json:"Links"`
}

type chassisLinks struct {
	Systems  []link `json:"ComputerSystems"`
	Managers []link `json:"ManagedBy"`
	Contains []link `json:"Contains,omitempty"`
}

// chassisCollection lists the configured chassis of the caller, then the chassis of each machine.
func chassisCollection(c *call) (content, error) {
	configured, err := c.service.Backend.Chassis(c.who)
	if err != nil {
		return content{}, err
	}
	all, err := c.service.Backend.Machines(c.who)
	if err != nil {
		return content{}, err
	}
	key := []string{chassisURI, c.who.Grants.Key()}
	var names []auth.ChassisName
	for i := range configured {
		if _, err := c.service.Backend.Machine(c.who, SystemID(configured[i].Name)); errors.Is(err, ErrNotFound) {
			names = append(names, configured[i].Name)
			key = append(key, string(configured[i].Name))
		}
	}
	return content{key: strings.Join(key, "\x00"), version: all.Version, build: func() (resource, error) {
		members := append(linksTo(chassisURI, names), linksTo(chassisURI, all.IDs)...)
		return newCollection(chassisURI, schemaChassisCollection, "Chassis", members), nil
	}}, nil
}

// chassisByID is a machine's chassis or a configured one. Where both have the name, the machine's wins.
func chassisByID(c *call) (content, error) {
	what, err := c.ofMachine(SystemID(c.vars["ChassisId"]), machineChassis)
	if !errors.Is(err, ErrNotFound) {
		return what, err
	}
	found, err := c.configuredChassis()
	if err != nil {
		return content{}, err
	}
	return content{key: c.configuredKey(found), version: found.Machines.Version, build: func() (resource, error) {
		return rack(found), nil
	}}, nil
}

// machineChassis is the enclosure of one machine.
func machineChassis(_ *Service, m *System, _ map[string]string) (resource, error) {
	uri := chassisURI + "/" + string(m.ID)
	return chassis{
		head:        newHead(uri, schemaChassis, "Chassis of "+string(m.ID)),
		ChassisType: "StandAlone", Manufacturer: optional(m.Manufacturer), Model: optional(m.Model), SKU: optional(m.SKU),
		SerialNumber: optional(m.SerialNumber), AssetTag: optional(m.AssetTag), UUID: optional(m.UUID),
		PowerState: m.Power, Status: statusOf(uri, m.Status),
		Links: chassisLinks{Systems: []link{{systemURI(m.ID)}}, Managers: []link{{managerURI(m.ID)}}},
	}, nil
}

// rack is a configured chassis.
func rack(c *Chassis) chassis {
	return chassis{
		head:        newHead(chassisURI+"/"+string(c.Name), schemaChassis, string(c.Name)),
		Description: c.Description, ChassisType: "RackMount", Manufacturer: optional(vendor), Model: optional(product),
		PowerState: PowerOn, Status: enabled,
		Links: chassisLinks{
			Systems: linksTo(systemsURI, c.Machines.IDs), Managers: linksTo(managersURI, c.Machines.IDs),
			Contains: linksTo(chassisURI, c.Machines.IDs),
		},
	}
}

// chassisSystems is the collection of the systems in a configured chassis, at a URI of earlier products.
func chassisSystems(c *call) (content, error) {
	found, err := c.configuredChassis()
	if err != nil {
		return content{}, err
	}
	uri := chassisURI + "/" + string(found.Name) + "/Systems"
	return content{key: c.configuredKey(found) + "/Systems", version: found.Machines.Version, build: func() (resource, error) {
		return newCollection(uri, schemaComputerSystemCollection, "Computer Systems", linksTo(systemsURI, found.Machines.IDs)), nil
	}}, nil
}

// configuredKey is the key of what shows the machines of a configured chassis: their ids are the caller's own.
func (c *call) configuredKey(found *Chassis) string {
	return chassisURI + "/" + string(found.Name) + "\x00/configured\x00" + c.who.Grants.Key()
}

// configuredChassis is the configured chassis that the URI names; ErrNotFound when it is not granted.
func (c *call) configuredChassis() (*Chassis, error) {
	all, err := c.service.Backend.Chassis(c.who)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if string(all[i].Name) == c.vars["ChassisId"] {
			return &all[i], nil
		}
	}
	return nil, ErrNotFound
}
