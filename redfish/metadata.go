package redfish

import (
	"encoding/xml"
	"fmt"
	"net/http"
)

// edmx is the OData metadata document: references to the schemas in use, and the entity container, which
// stands in the first schema (DSP0266, section "OData metadata").
type edmx struct {
	XMLName    xml.Name        `xml:"edmx:Edmx"`
	Namespace  string          `xml:"xmlns:edmx,attr"`
	Version    string          `xml:"Version,attr"`
	References []edmxReference `xml:"edmx:Reference"`
	Schema     edmxSchema      `xml:"edmx:DataServices>Schema"`
}

type edmxReference struct {
	URI     string        `xml:"Uri,attr"`
	Include []edmxInclude `xml:"edmx:Include"`
}

type edmxInclude struct {
	Namespace string `xml:"Namespace,attr"`
}

type edmxSchema struct {
	XMLNS     string        `xml:"xmlns,attr"`
	Namespace string        `xml:"Namespace,attr"`
	Container edmxContainer `xml:"EntityContainer"`
}

type edmxContainer struct {
	Name    string `xml:"Name,attr"`
	Extends string `xml:"Extends,attr"`
}

// serviceContainer is the newest entity container of the schema of the service root.
const serviceContainer = "ServiceRoot.v1_19_0.ServiceContainer"

func metadataDocument() edmx {
	doc := edmx{
		Namespace: "http://docs.oasis-open.org/odata/ns/edmx", Version: "4.0",
		Schema: edmxSchema{
			XMLNS: "http://docs.oasis-open.org/odata/ns/edm", Namespace: "Service",
			Container: edmxContainer{Name: "Service", Extends: serviceContainer},
		},
	}
	for _, s := range schemas {
		ref := edmxReference{URI: s.folder() + s.kind() + "_v1.xml", Include: []edmxInclude{{s.kind()}}}
		if s.kind() != string(s) {
			ref.Include = append(ref.Include, edmxInclude{string(s)})
		}
		doc.References = append(doc.References, ref)
	}
	return doc
}

// metadata answers with the OData metadata document.
func metadata(c *call) error {
	text, err := xml.MarshalIndent(metadataDocument(), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the metadata document: %w", err)
	}
	c.Header()["Allow"] = c.route.allow
	c.send(http.StatusOK, headerXML, append([]byte(xml.Header), text...))
	return nil
}

type odataService struct {
	Context string        `json:"@odata.context"`
	Value   []odataMember `json:"value"`
}

type odataMember struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	URL  string `json:"url"`
}

// odata answers with the OData service document (DSP0266, section "OData service document").
func odata(c *call) error {
	body := odataService{Context: metadataURI}
	for _, m := range []odataMember{
		{Name: "Service", URL: rootURI + "/"}, {Name: "Systems", URL: systemsURI}, {Name: "Managers", URL: managersURI},
		{Name: "Chassis", URL: chassisURI}, {Name: "SessionService", URL: sessionServiceURI}, {Name: "Tasks", URL: taskServiceURI},
		{Name: "Sessions", URL: sessionsURI},
	} {
		m.Kind = "Singleton"
		body.Value = append(body.Value, m)
	}
	c.Header()["Allow"] = c.route.allow
	c.reply(http.StatusOK, body)
	return nil
}
