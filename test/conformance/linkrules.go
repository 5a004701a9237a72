package conformance

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// odataID: a resource names itself as it is linked; the service root has two names.
func odataID(r *resource) []string {
	id, ok := r.body["@odata.id"].(string)
	if !ok || id == r.path() || canonical(id) == root && r.path() == root {
		return nil
	}
	return one("@odata.id is %q", id)
}

func uriPattern(r *resource) []string {
	if r.entry == nil || r.entry.matches(r.path()) {
		return nil
	}
	return one("no URI of %s: %s", r.entry.Type, strings.Join(r.entry.URIs, ", "))
}

func idSegment(r *resource) []string {
	if id, ok := r.body["Id"]; ok && r.member && id != path.Base(r.path()) {
		return one("Id is %q", id)
	}
	return nil
}

// count compares each X@odata.count with X; where there are more pages it counts all of them.
func count(r *resource) []string {
	var out []string
	objects(r.body, func(at string, object map[string]any) {
		for key, value := range object {
			name, ok := strings.CutSuffix(key, "@odata.count")
			elements, isArray := object[name].([]any)
			if !ok || !isArray {
				continue
			}
			number, _ := value.(json.Number)
			n, err := strconv.Atoi(number.String())
			paged := r.page() || object[name+"@odata.nextLink"] != nil
			if err != nil || n < len(elements) || n > len(elements) && !paged {
				out = append(out, at+"/"+key+" is "+number.String()+" for "+strconv.Itoa(len(elements)))
			}
		}
	})
	return out
}

// reference: what points at another resource holds its @odata.id and nothing else. An object with a
// fragment in its @odata.id is a part of a resource.
func reference(r *resource) []string {
	var out []string
	objects(r.body, func(at string, object map[string]any) {
		id, ok := object["@odata.id"].(string)
		if at == "" || !ok || len(object) == 1 || strings.Contains(id, "#") {
			return
		}
		out = append(out, at+" holds more than @odata.id")
	})
	return out
}

// safeURI is an absolute path without percent-encoded or unsafe characters and empty segments.
var safeURI = regexp.MustCompile(`^(/[A-Za-z0-9._~:@!$&'()*+,;=-]+)+(\?[^#\s]*)?(#\S*)?$`)

// linkForm holds for links inside of the service; an Uri may lead elsewhere.
func linkForm(r *resource) []string {
	var out []string
	gather("", r.body, func(l link) {
		if strings.HasSuffix(l.path, "/Uri") || l.uri == root || safeURI.MatchString(l.uri) {
			return
		}
		out = append(out, l.path+" leads to "+strconv.Quote(l.uri))
	})
	return out
}

func linkType(r *resource) []string {
	var out []string
	r.crawl.schemas.files.properties(r.typ, r.body, func(p property) {
		object, _ := p.value.(map[string]any)
		uri, ok := object["@odata.id"].(string)
		target := r.crawl.found[canonical(uri)]
		if !ok || strings.Contains(uri, "#") || target == nil || target.body == nil {
			return
		}
		if len(p.types) > 0 && !slices.Contains(p.types, "Resource") && !slices.Contains(p.types, target.typ.name) {
			out = append(out, p.path+" leads to a "+target.typ.name+", not a "+p.types[0])
		}
	})
	return out
}

// actionTarget: scripts build an action's URI from the resource's instead of reading the target.
func actionTarget(r *resource) []string {
	var out []string
	r.actions(func(at, name string, action map[string]any) {
		if want := r.path() + at + "/" + name; action["target"] != want {
			out = append(out, name+" has another target than "+want)
		}
	})
	return out
}

func actionMembers(r *resource) []string {
	var out []string
	r.actions(func(_, name string, action map[string]any) {
		for key := range action {
			if key != "target" && key != "title" && !strings.Contains(key, "@Redfish.") {
				out = append(out, name+" has the member "+key)
			}
		}
	})
	return out
}

// actions visits the actions of r; at is /Actions or, for OEM ones, /Actions/Oem.
func (r *resource) actions(visit func(at, name string, action map[string]any)) {
	each := func(at string, set map[string]any) {
		for key, value := range set {
			name, ok := strings.CutPrefix(key, "#")
			if action, isObject := value.(map[string]any); ok && isObject {
				visit(at, name, action)
			}
		}
	}
	set, _ := r.body["Actions"].(map[string]any)
	each("/Actions", set)
	oem, _ := set["Oem"].(map[string]any)
	each("/Actions/Oem", oem)
}
