package sim

import (
	"net/http"
	"strings"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
)

// openAPIRoot is where kubectl looks for what a server's verbs understand.
const openAPIRoot = "/openapi/v3"

// document is as much of OpenAPI as kubectl needs to leave the validation of fields to the server. There are
// no schemas in it.
type document struct {
	OpenAPI string              `json:"openapi"`
	Info    map[string]string   `json:"info"`
	Paths   map[string]pathItem `json:"paths"`
}

type pathItem struct {
	Patch operation `json:"patch"`
}

type operation struct {
	Parameters []map[string]string `json:"parameters"`
	Kind       map[string]string   `json:"x-kubernetes-group-version-kind"`
	Responses  struct{}            `json:"responses"`
}

// openAPI answers the index, and one document for each group and version.
func (a *api) openAPI(w http.ResponseWriter, path string) error {
	docs := map[string]document{}
	for _, t := range resource.All {
		root := groupPath(t)
		if _, ok := docs[root]; !ok {
			docs[root] = document{OpenAPI: "3.0.0", Info: map[string]string{"title": "simulator", "version": "1"}, Paths: map[string]pathItem{}}
		}
		docs[root].Paths[itemPath(t)] = pathItem{operation{
			Parameters: []map[string]string{{"name": "fieldValidation", "in": "query"}},
			Kind:       map[string]string{"group": t.Group, "version": t.Version, "kind": t.Kind},
		}}
	}
	if path == openAPIRoot {
		index := map[string]map[string]string{}
		for root := range docs {
			index[root] = map[string]string{"serverRelativeURL": openAPIRoot + "/" + root}
		}
		a.writeJSON(w, http.StatusOK, map[string]any{"paths": index})
		return nil
	}
	doc, ok := docs[strings.TrimPrefix(path, openAPIRoot+"/")]
	if !ok {
		return notServed()
	}
	a.writeJSON(w, http.StatusOK, doc)
	return nil
}

// groupPath is the root of a group's URLs, without the leading slash.
func groupPath(t *resource.Type) string {
	if t.Group == "" {
		return "api/" + t.Version
	}
	return "apis/" + t.Group + "/" + t.Version
}

func itemPath(t *resource.Type) string {
	scope := "/"
	if !t.ClusterScoped {
		scope = "/namespaces/{namespace}/"
	}
	return "/" + groupPath(t) + scope + t.Plural + "/{name}"
}
