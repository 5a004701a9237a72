package redfish

type virtualMedia struct {
	head
	MediaTypes       []string   `json:"MediaTypes"`
	Image            *string    `json:"Image"`
	ImageName        *string    `json:"ImageName"`
	Inserted         bool       `json:"Inserted"`
	ConnectedVia     string     `json:"ConnectedVia"`
	WriteProtected   bool       `json:"WriteProtected"`
	TransferProtocol *string    `json:"TransferProtocolType"`
	TransferMethod   *string    `json:"TransferMethod"`
	UserName         *string    `json:"UserName"`
	Password         *string    `json:"Password"` // write-only: always null
	Status           statusBody `json:"Status"`
}

const (
	// mediaDevice is the Id of the one virtual media device of a machine.
	mediaDevice = "Cd"
	// mediaDeviceAlias is its name in URIs of earlier products.
	mediaDeviceAlias = "cdrom0"
)

// virtualMediaOf makes the readers of the collection and of its device below the System or the Manager, which
// show one shared state.
func virtualMediaOf(owner func(SystemID) string) (ofCollection, ofDevice builder) {
	ofCollection = func(_ *Service, m *System, _ map[string]string) (resource, error) {
		uri := owner(m.ID) + "/VirtualMedia"
		return newCollection(uri, schemaVirtualMediaCollection, "Virtual Media", linksTo(uri, []string{mediaDevice})), nil
	}
	ofDevice = func(_ *Service, m *System, vars map[string]string) (resource, error) {
		if id := vars["VirtualMediaId"]; id != mediaDevice && id != mediaDeviceAlias {
			return nil, ErrNotFound
		}
		return virtualMedia{
			head:       newHead(owner(m.ID)+"/VirtualMedia/"+mediaDevice, schemaVirtualMedia, "Virtual CD"),
			MediaTypes: []string{"CD", "DVD"}, ConnectedVia: "NotConnected", WriteProtected: true,
			Status: statusBody{State: StateDisabled, Health: HealthOK},
		}, nil
	}
	return ofCollection, ofDevice
}
