package redfish

// head is what every resource begins with. The ETag is spliced in when the bytes are made.
type head struct {
	ODataID   string `json:"@odata.id"`
	ODataType string `json:"@odata.type"`
	ID        string `json:"Id"`
	Name      string `json:"Name"`
}

// collection is every resource collection.
type collection struct {
	ODataID   string `json:"@odata.id"`
	ODataType string `json:"@odata.type"`
	Name      string `json:"Name"`
	Count     int    `json:"Members@odata.count"`
	Members   []link `json:"Members"`
}

// newCollection makes a collection; kind is the schema's name, as "ProcessorCollection".
func newCollection(uri, kind, name string, members []link) collection {
	if members == nil {
		members = []link{}
	}
	return collection{ODataID: uri, ODataType: "#" + kind + "." + kind, Name: name, Count: len(members), Members: members}
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
