package redfish

type bios struct {
	head
	Attributes biosAttributes `json:"Attributes"`
}

type biosAttributes struct {
	BootMode       string `json:"BootMode"`
	Sockets        *int   `json:"ProcessorSockets"`
	CoresPerSocket *int   `json:"CoresPerSocket"`
	ThreadsPerCore *int   `json:"ThreadsPerCore"`
	MemoryMiB      *int64 `json:"MemorySizeMiB"`
}

func biosResource(_ *Service, m *System, _ map[string]string) (resource, error) {
	p := m.Processors
	return bios{
		head: newHead(systemURI(m.ID)+"/Bios", schemaBios, "BIOS"),
		Attributes: biosAttributes{
			BootMode: m.Firmware.bootMode(), Sockets: optional(p.Sockets), CoresPerSocket: optional(p.CoresPerSocket),
			ThreadsPerCore: optional(p.ThreadsPerCore), MemoryMiB: optional(m.MemoryMiB),
		},
	}, nil
}
