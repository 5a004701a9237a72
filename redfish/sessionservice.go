package redfish

type sessionService struct {
	head
	Enabled  bool       `json:"ServiceEnabled"`
	Status   statusBody `json:"Status"`
	Sessions link       `json:"Sessions"`
}

// sessionServiceResource says that there are no sessions to log in to; Basic works without.
func sessionServiceResource(*Service) resource {
	return sessionService{
		head:   newHead(sessionServiceURI, schemaSessionService, "Session Service"),
		Status: statusBody{State: StateDisabled, Health: HealthOK}, Sessions: link{sessionsURI},
	}
}

func sessionCollection(*Service) resource {
	return newCollection(sessionsURI, schemaSessionCollection, "Sessions", nil)
}
