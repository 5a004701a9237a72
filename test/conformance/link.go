package conformance

import (
	"slices"
	"strconv"
	"strings"
)

// root is the service root; it is the one resource whose URI ends with a slash.
const root = "/redfish/v1/"

// link is a URI in a body that leads to another resource of the same service.
type link struct {
	uri    string
	path   string // JSON pointer of the object or property that holds it
	member bool   // it stands in Members of a collection
}

// canonical is the form in which a linked resource is asked for.
func canonical(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	if uri = strings.TrimRight(uri, "/"); uri == strings.TrimRight(root, "/") {
		return root
	}
	return uri
}

// linksOf finds what r links to. A JsonSchemaFile leads to no resources; PublicationUri leads out of
// the service, and the origin of a log entry may be gone.
func linksOf(r *resource) []link {
	if r.typ.name == "JsonSchemaFile" {
		return nil
	}
	var out []link
	gather("", r.body, func(l link) {
		l.member = strings.HasSuffix(r.typ.name, "Collection") && strings.HasPrefix(l.path, "/Members/")
		if local := strings.HasPrefix(l.uri, "/"); local {
			out = append(out, l)
		}
	})
	return out
}

func gather(at string, value any, add func(link)) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			text, isText := child.(string)
			switch {
			case at == "" && key == "@odata.id", key == "OriginOfCondition":
			case isText && key == "@odata.id":
				add(link{uri: text, path: at})
			case isText && leads(key):
				add(link{uri: text, path: at + "/" + key})
			case key == "Oem":
				gather(at+"/"+key, child, func(l link) {
					if strings.HasPrefix(l.uri, "/redfish/") {
						add(l)
					}
				})
			default:
				gather(at+"/"+key, child, add)
			}
		}
	case []any:
		for i, child := range v {
			gather(at+"/"+strconv.Itoa(i), child, add)
		}
	}
}

// leads tells whether a property holds the URI of a resource as plain text.
func leads(key string) bool {
	return slices.Contains([]string{"Uri", "@Redfish.ActionInfo"}, key) || strings.HasSuffix(key, "@odata.nextLink")
}
