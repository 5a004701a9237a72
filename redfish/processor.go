package redfish

import "strconv"

type processor struct {
	head
	Socket       string     `json:"Socket"`
	Type         string     `json:"ProcessorType"`
	Architecture *string    `json:"ProcessorArchitecture"`
	Instructions *string    `json:"InstructionSet"`
	Model        *string    `json:"Model"`
	Cores        *int       `json:"TotalCores"`
	EnabledCores *int       `json:"TotalEnabledCores"`
	Threads      *int       `json:"TotalThreads"`
	Status       statusBody `json:"Status"`
}

// instructionSets are the Redfish names of the platform's architectures.
var instructionSets = map[string]struct{ architecture, instructions string }{
	"amd64": {"x86", "x86-64"},
	"arm64": {"ARM", "ARM-A64"},
	"s390x": {"OEM", "OEM"},
}

// processorIDs are CPU0, CPU1, … one per socket. There is one even while the topology is not known, because
// installers read the first one's architecture.
func processorIDs(m *System) []string {
	ids := make([]string, max(m.Processors.Sockets, 1))
	for i := range ids {
		ids[i] = "CPU" + strconv.Itoa(i)
	}
	return ids
}

func processorCollection(_ *Service, m *System, _ map[string]string) (resource, error) {
	uri := systemURI(m.ID) + "/Processors"
	return newCollection(uri, schemaProcessorCollection, "Processors", linksTo(uri, processorIDs(m))), nil
}

func processorResource(_ *Service, m *System, vars map[string]string) (resource, error) {
	for socket, id := range processorIDs(m) {
		if id != vars["ProcessorId"] {
			continue
		}
		p := m.Processors
		named := instructionSets[p.Architecture]
		return processor{
			head:   newHead(systemURI(m.ID)+"/Processors/"+id, schemaProcessor, "Processor "+strconv.Itoa(socket)),
			Socket: id, Type: "CPU", Architecture: optional(named.architecture), Instructions: optional(named.instructions),
			Model: optional(p.Model), Cores: optional(p.CoresPerSocket), EnabledCores: optional(p.CoresPerSocket),
			Threads: optional(p.CoresPerSocket * p.ThreadsPerCore), Status: enabled,
		}, nil
	}
	return nil, ErrNotFound
}
