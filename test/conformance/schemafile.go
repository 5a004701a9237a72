package conformance

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// files holds the JSON Schema files by name, changed only as repair says. It is never written to after
// readFiles.
type files map[string]map[string]any

func readFiles(dir string) (files, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("schema directory: %w", err)
	}
	f := files{}
	for _, entry := range names {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		if f[entry.Name()], err = decode(data); err != nil {
			return nil, fmt.Errorf("schema %s: %w", entry.Name(), err)
		}
	}
	for _, doc := range f {
		f.repair(doc)
	}
	return f, nil
}

// repair makes doc usable: its dialect is Draft 7 with annotations added, so the address of the dialect
// is dropped, and every reference to a version that is not in the bundle becomes the schema false,
// which nothing satisfies.
func (f files) repair(doc map[string]any) {
	delete(doc, "$schema")
	f.prune(doc)
}

func (f files) prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && !f.has(ref) {
			return false
		}
		for key, child := range v {
			v[key] = f.prune(child)
		}
	case []any:
		for i, child := range v {
			v[i] = f.prune(child)
		}
	}
	return v
}

func (f files) has(ref string) bool {
	address, _, _ := strings.Cut(ref, "#")
	return address == "" || f[path.Base(address)] != nil
}

// Load answers the compiler's references from the files; it implements jsonschema.URLLoader.
func (f files) Load(url string) (any, error) {
	doc, ok := f[path.Base(url)]
	if !ok {
		return nil, fmt.Errorf("no schema file %s", path.Base(url))
	}
	return doc, nil
}

// resolve follows ref as it stands in file. It is false when there is nothing.
func (f files) resolve(file, ref string) (node, bool) {
	address, fragment, _ := strings.Cut(ref, "#")
	if address != "" {
		file = path.Base(address)
	}
	at := f[file]
	for step := range strings.SplitSeq(strings.Trim(fragment, "/"), "/") {
		at, _ = at[step].(map[string]any)
	}
	return node{file: file, schema: at}, at != nil
}
