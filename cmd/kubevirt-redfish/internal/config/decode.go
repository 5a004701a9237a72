package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder copies a YAML document into a Config. A library's own decoding would stop at quoted numbers, and it would
// tell neither unknown keys nor the lines of what is wrong.
type decoder struct {
	strict   bool
	problems Problems
	warnings Problems
	lines    map[string]int
}

// document reads the file into c. What it does not mention keeps its value. It reports false when there is no document
// to speak of.
func (d *decoder) document(c *Config, content []byte) bool {
	var root, another yaml.Node
	source := yaml.NewDecoder(bytes.NewReader(content))
	if err := source.Decode(&root); errors.Is(err, io.EOF) {
		d.problems.add("", "the file is empty")
		return false
	} else if err != nil {
		d.problems.add("", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return false
	}
	if err := source.Decode(&another); !errors.Is(err, io.EOF) {
		d.problems.add("", "the file must be one YAML document")
		return false
	}
	if isNull(root.Content[0]) {
		d.problems.add("", "the file is empty")
		return false
	}
	d.value(reflect.ValueOf(c).Elem(), root.Content[0], "")
	return root.Content[0].Kind == yaml.MappingNode
}

func (d *decoder) value(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.lines[path] = n.Line
	if isNull(n) {
		return
	}
	_, textual := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr())
	switch {
	case n.Kind == yaml.ScalarNode && (textual || isScalar(v.Kind())):
		if err := setScalar(v, n.Value); err != nil {
			d.problem(n, path, err.Error())
		}
	case n.Kind == yaml.MappingNode && v.Kind() == reflect.Struct:
		d.mapping(v, n, path)
	case n.Kind == yaml.MappingNode && v.Kind() == reflect.Map:
		d.stringMap(v, n, path)
	case n.Kind == yaml.SequenceNode && v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, item := range n.Content {
			d.value(v.Index(i), item, fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		d.problem(n, path, "must be "+kindName(v.Kind()))
	}
}

// mapping copies the known keys and reports the others.
func (d *decoder) mapping(v reflect.Value, n *yaml.Node, path string) {
	fields := keysOf(v.Type())
	d.pairs(n, path, func(key string, keyNode, value *yaml.Node) {
		at := join(path, key)
		if index, known := fields[key]; known {
			d.value(v.Field(index), value, at)
			d.lines[at] = keyNode.Line
			return
		}
		unknown := Problem{Path: at, Line: keyNode.Line, Text: unknownKey(path, key, fields)}
		if d.strict || mustBeKnown(path) {
			d.problems = append(d.problems, unknown)
		} else {
			d.warnings = append(d.warnings, unknown)
		}
	})
}

func (d *decoder) stringMap(v reflect.Value, n *yaml.Node, path string) {
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Content)/2))
	d.pairs(n, path, func(key string, _, value *yaml.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(element, value, join(path, key))
		v.SetMapIndex(reflect.ValueOf(key), element)
	})
}

// pairs visits the entries of a mapping. A key given twice is an error: which one counts would be anybody's guess.
func (d *decoder) pairs(n *yaml.Node, path string, visit func(key string, keyNode, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			d.problem(key, join(path, key.Value), "the key is given twice")
			continue
		}
		seen[key.Value] = true
		visit(key.Value, key, n.Content[i+1])
	}
}

func (d *decoder) problem(n *yaml.Node, path, text string) {
	d.problems = append(d.problems, Problem{Path: path, Line: n.Line, Text: text})
}

// mustBeKnown reports whether unknown keys right inside path are errors for the server too.
func mustBeKnown(path string) bool {
	for _, part := range []string{"authentication", "chassis", "server.tls"} {
		if rest, inside := strings.CutPrefix(path, part); inside && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func isScalar(k reflect.Kind) bool {
	return k == reflect.String || k == reflect.Bool || k == reflect.Int
}

// setScalar converts text to the type of v, quoted or not, from the file or from the environment.
func setScalar(v reflect.Value, text string) error {
	if own, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return own.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		value, err := parseBool(text)
		if err != nil {
			return err
		}
		v.SetBool(value)
	case reflect.Int:
		value, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("must be a whole number, not %q", text)
		}
		v.SetInt(int64(value))
	}
	return nil
}

// parseBool takes the spellings of YAML 1.1 and of Python as well: templates write them.
func parseBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "on", "y", "t", "1":
		return true, nil
	case "false", "no", "off", "n", "f", "0":
		return false, nil
	}
	return false, fmt.Errorf("must be true or false, not %q", text)
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	}
	return "text"
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
