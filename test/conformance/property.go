package conformance

import (
	"path"
	"strconv"
	"strings"
)

// property is one value in a body together with what the schemas say about it.
type property struct {
	path  string // JSON pointer
	value any
	// deprecated is said of the property or of its value.
	deprecated, readOnly, writeOnly bool
	// types are the resource types that a link here may lead to; none means any.
	types []string
}

// node is a place in a schema file.
type node struct {
	file   string
	schema map[string]any
}

// properties calls visit for every property and array element of body; where no schema knows
// one, as in Oem, nothing is said about it.
func (f files) properties(t odataType, body map[string]any, visit func(property)) {
	if start, ok := f.resolve(t.file(), t.fragment()); ok {
		nodes, _ := f.expand(start)
		f.object("", body, nodes, visit)
	}
}

func (f files) object(at string, body map[string]any, nodes []node, visit func(property)) {
	for key, value := range body {
		p := property{path: at + "/" + key, value: value}
		var places []node
		for _, n := range nodes {
			known, _ := n.schema["properties"].(map[string]any)
			schema, ok := known[key].(map[string]any)
			if !ok {
				continue
			}
			places = append(places, node{file: n.file, schema: schema})
			p.deprecated = p.deprecated || schema["deprecated"] != nil
			p.readOnly = p.readOnly || schema["readonly"] == true
			p.writeOnly = p.writeOnly || schema["writeOnly"] == true
		}
		f.value(p, places, visit)
	}
}

// value visits p and what is in it; places are the schemas that apply to it.
func (f files) value(p property, places []node, visit func(property)) {
	var nodes []node
	for _, place := range places {
		more, types := f.expand(place)
		nodes, p.types = append(nodes, more...), append(p.types, types...)
	}
	for _, n := range nodes {
		values, _ := n.schema["enumDeprecated"].(map[string]any)
		text, _ := p.value.(string)
		p.deprecated = p.deprecated || values[text] != nil
	}
	visit(p)
	switch v := p.value.(type) {
	case map[string]any:
		f.object(p.path, v, nodes, visit)
	case []any:
		var items []node
		for _, n := range nodes {
			if schema, ok := n.schema["items"].(map[string]any); ok {
				items = append(items, node{file: n.file, schema: schema})
			}
		}
		for i, element := range v {
			f.value(property{path: p.path + "/" + strconv.Itoa(i), value: element}, items, visit)
		}
	}
}

// expand follows references and alternatives down to schemas that say something themselves. It also
// returns the resource types named on the way.
func (f files) expand(n node) (nodes []node, types []string) {
	if ref, ok := n.schema["$ref"].(string); ok {
		target, ok := f.resolve(n.file, ref)
		if !ok {
			return nil, nil
		}
		nodes, types = f.expand(target)
		stem, _, _ := strings.Cut(target.file, ".")
		if path.Base(ref) == stem {
			types = append(types, stem)
		}
		return nodes, types
	}
	alternatives, ok := n.schema["anyOf"].([]any)
	if !ok {
		return []node{n}, nil
	}
	for _, a := range alternatives {
		if schema, ok := a.(map[string]any); ok {
			more, named := f.expand(node{file: n.file, schema: schema})
			nodes, types = append(nodes, more...), append(types, named...)
		}
	}
	return nodes, types
}

// objects calls visit for body and every object in it outside of Oem, with its JSON pointer.
func objects(body map[string]any, visit func(path string, object map[string]any)) {
	eachObject("", body, visit)
}

func eachObject(at string, value any, visit func(path string, object map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(at, v)
		for key, child := range v {
			if key != "Oem" {
				eachObject(at+"/"+key, child, visit)
			}
		}
	case []any:
		for i, child := range v {
			eachObject(at+"/"+strconv.Itoa(i), child, visit)
		}
	}
}
