package redfish

import "net/http"

const (
	vendor  = "KubeVirt"
	product = "KubeVirt Redfish"

	// redfishVersion is the version of DSP0266 that the service conforms to.
	redfishVersion = "1.22.0"
)

type serviceRoot struct {
	head
	RedfishVersion string           `json:"RedfishVersion"`
	UUID           *string          `json:"UUID"`
	Vendor         string           `json:"Vendor"`
	Product        string           `json:"Product"`
	Features       protocolFeatures `json:"ProtocolFeaturesSupported"`
	Systems        link             `json:"Systems"`
	Managers       link             `json:"Managers"`
	Chassis        link             `json:"Chassis"`
	SessionService link             `json:"SessionService"`
	Tasks          link             `json:"Tasks"`
	Links          serviceRootLinks `json:"Links"`
}

// protocolFeatures says which query parameters are supported: none.
type protocolFeatures struct {
	Excerpt    bool `json:"ExcerptQuery"`
	Filter     bool `json:"FilterQuery"`
	OnlyMember bool `json:"OnlyMemberQuery"`
	Select     bool `json:"SelectQuery"`
}

type serviceRootLinks struct {
	Sessions link `json:"Sessions"`
}

// serviceRootResource alone has a slash at the end of its URI (DSP0266, section "Resource URI patterns").
func serviceRootResource(s *Service) resource {
	body := serviceRoot{
		head:           newHead(rootURI, schemaServiceRoot, "Root Service"),
		RedfishVersion: redfishVersion, UUID: optional(s.UUID), Vendor: vendor, Product: product,
		Systems: link{systemsURI}, Managers: link{managersURI}, Chassis: link{chassisURI},
		SessionService: link{sessionServiceURI}, Tasks: link{taskServiceURI},
		Links: serviceRootLinks{Sessions: link{sessionsURI}},
	}
	body.ODataID, body.ID = rootURI+"/", "RootService"
	return body
}

// versions is the answer at /redfish.
func versions(c *call) error {
	c.Header()["Allow"] = c.route.allow
	c.reply(http.StatusOK, map[string]string{"v1": rootURI + "/"})
	return nil
}
