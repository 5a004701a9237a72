package conformance

import (
	"regexp"
	"strings"
)

// Entry is what the schema says about a resource type beyond its properties; manifest.json holds one
// per type, by name.
type Entry struct {
	Type       string   // the @odata.type to use
	URIs       []string // patterns such as /redfish/v1/Systems/{ComputerSystemId}; empty means anywhere
	Insertable bool     // POST is allowed
	Updatable  bool     // PATCH and PUT are allowed
	Deletable  bool     // DELETE is allowed
	Required   []string // members that every such resource has

	patterns []*regexp.Regexp
}

var placeholder = regexp.MustCompile(`\\\{[^}]*\\\}`)

func readManifest(name string) (map[string]Entry, error) {
	var entries map[string]Entry
	if err := readJSON(name, &entries); err != nil {
		return nil, err
	}
	for key, e := range entries {
		for _, uri := range e.URIs {
			expr := placeholder.ReplaceAllString(regexp.QuoteMeta(uri), `[^/]+`)
			e.patterns = append(e.patterns, regexp.MustCompile("^"+expr+"$"))
		}
		entries[key] = e
	}
	return entries, nil
}

// matches tells whether a resource of the type may stand at uri. A settings object has the type of
// the resource that it belongs to and stands below it.
func (e Entry) matches(uri string) bool {
	if len(e.patterns) == 0 {
		return true
	}
	uri = strings.TrimSuffix(uri, "/Settings")
	for _, p := range e.patterns {
		if p.MatchString(uri) {
			return true
		}
	}
	return false
}
