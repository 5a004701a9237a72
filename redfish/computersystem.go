package redfish

import "time"

type computerSystem struct {
	head
	SystemType       string            `json:"SystemType"`
	UUID             *string           `json:"UUID"`
	Manufacturer     *string           `json:"Manufacturer"`
	Model            *string           `json:"Model"`
	SKU              *string           `json:"SKU"`
	SerialNumber     *string           `json:"SerialNumber"`
	PartNumber       *string           `json:"PartNumber"`
	AssetTag         *string           `json:"AssetTag"`
	HostName         *string           `json:"HostName"`
	BiosVersion      *string           `json:"BiosVersion"`
	PowerState       PowerState        `json:"PowerState"`
	LastResetTime    *string           `json:"LastResetTime,omitempty"`
	Status           statusBody        `json:"Status"`
	Boot             bootBody          `json:"Boot"`
	ProcessorSummary processorSummary  `json:"ProcessorSummary"`
	MemorySummary    memorySummary     `json:"MemorySummary"`
	Processors       link              `json:"Processors"`
	Memory           link              `json:"Memory"`
	Ethernet         link              `json:"EthernetInterfaces"`
	Storage          link              `json:"Storage"`
	SimpleStorage    link              `json:"SimpleStorage"`
	Bios             link              `json:"Bios"`
	SecureBoot       *link             `json:"SecureBoot,omitempty"`
	VirtualMedia     link              `json:"VirtualMedia"`
	Links            computerSysLinks  `json:"Links"`
	Actions          map[string]action `json:"Actions"`
	Oem              oemBody           `json:"Oem"`
}

type computerSysLinks struct {
	Chassis   []link `json:"Chassis"`
	ManagedBy []link `json:"ManagedBy"`
}

// action is a member of Actions: its target, and the allowable values of its one parameter.
type action struct {
	Target     string      `json:"target"`
	ResetTypes []ResetType `json:"ResetType@Redfish.AllowableValues,omitempty"`
}

type bootBody struct {
	Enabled        BootOverrideEnabled   `json:"BootSourceOverrideEnabled"`
	EnabledAllowed []BootOverrideEnabled `json:"BootSourceOverrideEnabled@Redfish.AllowableValues"`
	Target         BootSource            `json:"BootSourceOverrideTarget"`
	TargetAllowed  []BootSource          `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
	Mode           string                `json:"BootSourceOverrideMode"`
	ModeAllowed    []string              `json:"BootSourceOverrideMode@Redfish.AllowableValues"`
	BootOptions    link                  `json:"BootOptions"`
	BootOrder      []string              `json:"BootOrder"`
}

type processorSummary struct {
	Count   *int    `json:"Count"`
	Cores   *int    `json:"CoreCount"`
	Logical *int    `json:"LogicalProcessorCount"`
	Model   *string `json:"Model"`
}

type memorySummary struct {
	TotalGiB *float64 `json:"TotalSystemMemoryGiB"`
}

func computerSystemResource(_ *Service, m *System, _ map[string]string) (resource, error) {
	uri := systemURI(m.ID)
	return computerSystem{
		head:       newHead(uri, schemaComputerSystem, string(m.ID)),
		SystemType: "Virtual",
		UUID:       optional(m.UUID), Manufacturer: optional(m.Manufacturer), Model: optional(m.Model), SKU: optional(m.SKU),
		SerialNumber: optional(m.SerialNumber), AssetTag: optional(m.AssetTag), HostName: optional(m.HostName),
		BiosVersion: optional(m.Firmware.Version), PowerState: m.Power, LastResetTime: optional(timestamp(m.LastReset)),
		Status: statusOf(uri, m.Status), Boot: bootOf(uri, m),
		ProcessorSummary: processorSummaryOf(m), MemorySummary: memorySummaryOf(m),
		Processors: link{uri + "/Processors"}, Memory: link{uri + "/Memory"},
		Ethernet: link{uri + "/EthernetInterfaces"}, Storage: link{uri + "/Storage"}, SimpleStorage: link{uri + "/SimpleStorage"},
		Bios: link{uri + "/Bios"}, SecureBoot: secureBootLink(uri, m), VirtualMedia: link{uri + "/VirtualMedia"},
		Links: computerSysLinks{
			Chassis:   []link{{chassisURI + "/" + string(m.ID)}},
			ManagedBy: []link{{managerURI(m.ID)}},
		},
		Actions: map[string]action{"#" + resetAction: {Target: uri + "/Actions/" + resetAction, ResetTypes: m.Resets}},
		Oem:     oemBody{kubeVirtOf(&m.KubeVirt)},
	}, nil
}

func systemURI(id SystemID) string { return systemsURI + "/" + string(id) }

func bootOf(uri string, m *System) bootBody {
	return bootBody{
		Enabled: m.Boot.Enabled, EnabledAllowed: []BootOverrideEnabled{BootDisabled, BootOnce, BootContinuous},
		Target: m.Boot.Target, TargetAllowed: m.Boot.Targets, Mode: m.Firmware.bootMode(), ModeAllowed: []string{"Legacy", "UEFI"},
		BootOptions: link{uri + "/BootOptions"}, BootOrder: bootOptionIDs(m),
	}
}

// bootMode is a value of Boot.BootSourceOverrideMode.
func (f Firmware) bootMode() string {
	if f.UEFI {
		return "UEFI"
	}
	return "Legacy"
}

func processorSummaryOf(m *System) processorSummary {
	p := m.Processors
	return processorSummary{
		Count: optional(p.Sockets), Cores: optional(p.Sockets * p.CoresPerSocket),
		Logical: optional(p.Sockets * p.CoresPerSocket * p.ThreadsPerCore), Model: optional(p.Model),
	}
}

func memorySummaryOf(m *System) memorySummary {
	const mebiPerGibi = 1024
	return memorySummary{TotalGiB: optional(float64(m.MemoryMiB) / mebiPerGibi)}
}

func secureBootLink(uri string, m *System) *link {
	if !m.Firmware.UEFI {
		return nil
	}
	return &link{uri + "/SecureBoot"}
}

// systemCollection is the collection of the caller's systems. It is kept per set of grants, which alone
// decides what is in it.
func systemCollection(c *call) (content, error) {
	return c.listing(systemsURI, schemaComputerSystemCollection, "Computer Systems")
}

// listing is the collection at uri with one member per machine.
func (c *call) listing(uri string, of schema, name string) (content, error) {
	all, err := c.service.Backend.Machines(c.who)
	if err != nil {
		return content{}, err
	}
	return content{key: uri + "\x00" + c.who.Grants.Key(), version: all.Version, build: func() (resource, error) {
		return newCollection(uri, of, name, linksTo(uri, all.IDs)), nil
	}}, nil
}

// timestamp is the form of times in Redfish; empty for the zero time.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
