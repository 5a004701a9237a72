package redfish

import "path"

// resource is what a GET answers with; every one of them begins with a head or is a collection.
type resource interface {
	// describedBy is the Link header.
	describedBy() string
}

// head is what every resource begins with. The ETag is spliced in when the bytes are made.
type head struct {
	ODataID   string `json:"@odata.id"`
	ODataType schema `json:"@odata.type"`
	ID        string `json:"Id"`
	Name      string `json:"Name"`
}

// newHead makes the head of the resource at uri, whose last segment is its Id.
func newHead(uri string, of schema, name string) head {
	return head{ODataID: uri, ODataType: of, ID: path.Base(uri), Name: name}
}

func (h head) describedBy() string { return h.ODataType.describedBy() }

// collection is every resource collection.
type collection struct {
	ODataID   string `json:"@odata.id"`
	ODataType schema `json:"@odata.type"`
	Name      string `json:"Name"`
	Count     int    `json:"Members@odata.count"`
	Members   []link `json:"Members"`
}

func (c collection) describedBy() string { return c.ODataType.describedBy() }

// newCollection makes a collection with members in the order given.
func newCollection(uri string, of schema, name string, members []link) collection {
	if members == nil {
		members = []link{}
	}
	return collection{ODataID: uri, ODataType: of, Name: name, Count: len(members), Members: members}
}

// link is a reference to a resource: an object with @odata.id alone.
type link struct {
	ODataID string `json:"@odata.id"`
}

// linksTo makes the references uri/<id> in the order of ids.
func linksTo[ID ~string](uri string, ids []ID) []link {
	links := make([]link, len(ids))
	for i, id := range ids {
		links[i].ODataID = uri + "/" + string(id)
	}
	return links
}

// statusBody is Resource.Status.
type statusBody struct {
	State      State           `json:"State"`
	Health     Health          `json:"Health,omitempty"`
	Conditions []conditionBody `json:"Conditions,omitempty"`
}

// enabled is the status of what is always there and well, as the parts of a machine, on or off.
var enabled = statusBody{State: StateEnabled, Health: HealthOK}

type conditionBody struct {
	MessageID   string   `json:"MessageId"`
	Message     string   `json:"Message"`
	MessageArgs []string `json:"MessageArgs"`
	Severity    Health   `json:"Severity"`
	Timestamp   string   `json:"Timestamp,omitempty"`
}

// statusOf renders a machine's status; uri is the resource that the conditions are about.
func statusOf(uri string, s Status) statusBody {
	body := statusBody{State: s.State, Health: s.Health}
	for _, c := range s.Conditions {
		cond := conditionBody{
			MessageID: "ResourceEvent.1.4.ResourceStatusChanged" + string(c.Severity), Message: c.Message,
			MessageArgs: []string{uri, string(c.Severity)}, Severity: c.Severity,
		}
		if !c.Since.IsZero() {
			cond.Timestamp = timestamp(c.Since)
		}
		body.Conditions = append(body.Conditions, cond)
	}
	return body
}

// optional is null in JSON when the value is the zero value.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
