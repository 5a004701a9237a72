package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// EnvDir names the environment variable that holds the schema directory.
const EnvDir = "REDFISH_SCHEMA_DIR"

// schemaBase is the address under which DMTF publishes the schemas; nothing is ever fetched from it.
const schemaBase = "http://redfish.dmtf.org/schemas/v1/"

const (
	errorFile       = "redfish-error.v1_0_2.json"
	annotationsFile = "redfish-payload-annotations.v1_3_0.json"
)

// Schemas answers whether a body is a valid Redfish resource. It is safe for concurrent use.
type Schemas struct {
	files      files
	manifest   map[string]Entry
	registries map[string]registry

	mu       sync.Mutex // guards compiler and compiled
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// shared keeps one Schemas per directory, so that a schema is compiled once in a process.
var shared = struct {
	sync.Mutex
	byDir map[string]*Schemas
}{byDir: map[string]*Schemas{}}

// FromEnv returns the schemas of the directory in REDFISH_SCHEMA_DIR, shared by the whole process. It
// skips the test when the variable is not set and fails it when the directory cannot be used.
func FromEnv(t testing.TB) *Schemas {
	t.Helper()
	dir := os.Getenv(EnvDir)
	if dir == "" {
		t.Skipf("%s is not set: no Redfish schemas to check against", EnvDir)
	}
	shared.Lock()
	defer shared.Unlock()
	if s, ok := shared.byDir[dir]; ok {
		return s
	}
	s, err := Load(dir)
	require.NoError(t, err)
	shared.byDir[dir] = s
	return s
}

// Load reads the schemas, the registries and the manifest below dir. Schemas are compiled when a body
// first needs them.
func Load(dir string) (*Schemas, error) {
	f, err := readFiles(filepath.Join(dir, "json"))
	if err != nil {
		return nil, err
	}
	s := &Schemas{files: f, compiled: map[string]*jsonschema.Schema{}, compiler: jsonschema.NewCompiler()}
	if s.manifest, err = readManifest(filepath.Join(dir, "manifest.json")); err != nil {
		return nil, err
	}
	if s.registries, err = readRegistries(filepath.Join(dir, "registries")); err != nil {
		return nil, err
	}
	s.compiler.DefaultDraft(jsonschema.Draft7) // which also asserts formats
	s.compiler.UseLoader(f)
	return s, nil
}

// Validate checks one body: a resource by its @odata.type, an error response by the error schema. The
// error is of type Problems when the body was readable.
func (s *Schemas) Validate(body []byte) error {
	object, err := decode(body)
	if err != nil {
		return err
	}
	return s.ValidateObject(object)
}

// ValidateObject is Validate for a body that is already decoded.
func (s *Schemas) ValidateObject(body map[string]any) error {
	problems, err := s.problems(body)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// problems lists what is wrong with body. The error says that there is no schema for it.
func (s *Schemas) problems(body map[string]any) (Problems, error) {
	pointer, err := s.pointer(body)
	if err != nil {
		return nil, err
	}
	found, err := s.check(pointer, body)
	if err != nil {
		return nil, err
	}
	// The schemas of resources take any value for an annotation; these have a schema of their own.
	objects(body, func(path string, object map[string]any) {
		more, cerr := s.check(annotationsFile, object)
		err = errors.Join(err, cerr)
		for _, p := range more {
			found = found.add(path, p)
		}
	})
	return found, err
}

// pointer returns the schema that body has to satisfy, as file#/definitions/name.
func (s *Schemas) pointer(body map[string]any) (string, error) {
	text, _ := body["@odata.type"].(string)
	if _, ok := body["error"]; ok && text == "" {
		return errorFile, nil
	}
	t, ok := parseType(text)
	if !ok {
		return "", fmt.Errorf("@odata.type %q is not of the form #Namespace.Type", text)
	}
	if e, ok := s.manifest[t.name]; ok && e.Type != text {
		return "", fmt.Errorf("@odata.type is %q, the bundle has %q", text, e.Type)
	}
	if _, ok := s.files.resolve(t.file(), t.fragment()); !ok {
		return "", fmt.Errorf("@odata.type %q has no schema in the bundle", text)
	}
	return t.file() + t.fragment(), nil
}

func (s *Schemas) check(pointer string, value any) (Problems, error) {
	schema, err := s.compile(pointer)
	if err != nil {
		return nil, err
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(value); errors.As(err, &invalid) {
		return problemsOf(invalid), nil
	} else if err != nil {
		return nil, fmt.Errorf("validate against %s: %w", pointer, err)
	}
	return nil, nil
}

func (s *Schemas) compile(pointer string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if schema, ok := s.compiled[pointer]; ok {
		return schema, nil
	}
	schema, err := s.compiler.Compile(schemaBase + pointer)
	if err != nil {
		return nil, fmt.Errorf("compile schema %s: %w", pointer, err)
	}
	s.compiled[pointer] = schema
	return schema, nil
}

// decode reads exactly one JSON object and keeps its numbers as written.
func decode(body []byte) (map[string]any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("not a JSON object but %T", v)
	}
	return object, nil
}

// odataType is a parsed @odata.type: "#Chassis.v1_28_0.Chassis" has the namespace "Chassis.v1_28_0"
// and the name "Chassis".
type odataType struct{ namespace, name string }

func parseType(text string) (odataType, bool) {
	rest, hash := strings.CutPrefix(text, "#")
	dot := strings.LastIndexByte(rest, '.')
	if !hash || dot < 1 || dot == len(rest)-1 {
		return odataType{}, false
	}
	return odataType{namespace: rest[:dot], name: rest[dot+1:]}, true
}

func (t odataType) file() string     { return t.namespace + ".json" }
func (t odataType) fragment() string { return "#/definitions/" + t.name }

// readJSON fills v from a JSON file.
func readJSON(name string, v any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(name), err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(name), err)
	}
	return nil
}
