package redfish

type memory struct {
	head
	MemoryType  string     `json:"MemoryType"`
	CapacityMiB *int64     `json:"CapacityMiB"`
	Status      statusBody `json:"Status"`
}

// memoryModule is the Id of the one module that a machine has.
const memoryModule = "DIMM0"

func memoryCollection(_ *Service, m *System, _ map[string]string) (resource, error) {
	uri := systemURI(m.ID) + "/Memory"
	return newCollection(uri, schemaMemoryCollection, "Memory", linksTo(uri, []string{memoryModule})), nil
}

func memoryResource(_ *Service, m *System, vars map[string]string) (resource, error) {
	if vars["MemoryId"] != memoryModule {
		return nil, ErrNotFound
	}
	return memory{
		head:       newHead(systemURI(m.ID)+"/Memory/"+memoryModule, schemaMemory, "Memory"),
		MemoryType: "DRAM", CapacityMiB: optional(m.MemoryMiB), Status: enabled,
	}, nil
}
