package config

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kubevirt-redfish/kubevirt-redfish/schemas"
)

// property is what the test needs of a JSON schema.
type property struct {
	Ref         string               `json:"$ref"`
	Type        any                  `json:"type"`
	Properties  map[string]*property `json:"properties"`
	Additional  any                  `json:"additionalProperties"`
	Items       *property            `json:"items"`
	Definitions map[string]*property `json:"$defs"`
	Default     any                  `json:"default"`
}

func (p *property) types() []string {
	if one, ok := p.Type.(string); ok {
		return []string{one}
	}
	var all []string
	for _, name := range p.Type.([]any) {
		all = append(all, name.(string))
	}
	return all
}

func TestSchemaAndStructAgree(t *testing.T) {
	var root property
	require.NoError(t, json.Unmarshal(schemas.Config, &root))
	agree(t, root.Definitions, reflect.ValueOf(*Default()), &root, "config")
}

// agree walks the struct and the schema together. value holds the defaults.
func agree(t *testing.T, definitions map[string]*property, value reflect.Value, p *property, path string) {
	if p.Ref != "" {
		resolved := *definitions[p.Ref[len("#/$defs/"):]]
		resolved.Default = p.Default
		p = &resolved
	}
	_, textual := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.New(value.Type()))
	types := p.types()
	if textual {
		require.Contains(t, types, "string", path)
	}
	switch value.Kind() {
	case reflect.Struct:
		require.Contains(t, types, "object", path)
		require.Equal(t, false, p.Additional, "%s: other keys must be refused", path)
		keys := keysOf(value.Type())
		require.Equal(t, slices.Sorted(maps.Keys(keys)), slices.Sorted(maps.Keys(p.Properties)), path)
		for key, index := range keys {
			agree(t, definitions, value.Field(index), p.Properties[key], path+"."+key)
		}
	case reflect.Slice:
		require.Contains(t, types, "array", path)
		agree(t, definitions, reflect.New(value.Type().Elem()).Elem(), p.Items, path+"[]")
	case reflect.Map:
		require.Contains(t, types, "object", path)
		require.IsType(t, map[string]any{}, p.Additional, path)
	default:
		agreeScalar(t, value, p, path)
	}
}

func agreeScalar(t *testing.T, value reflect.Value, p *property, path string) {
	types := p.types()
	switch {
	case value.Kind() == reflect.Bool:
		require.Subset(t, types, []string{"boolean", "string"}, path)
	case value.Kind() == reflect.Int:
		require.Subset(t, types, []string{"integer", "string"}, path)
	default:
		require.Contains(t, types, "string", path)
		require.NotContains(t, types, "boolean", path)
	}
	if p.Default == nil {
		return
	}
	documented := reflect.New(value.Type()).Elem()
	text, ok := p.Default.(string)
	if !ok {
		encoded, err := json.Marshal(p.Default)
		require.NoError(t, err)
		text = string(encoded)
	}
	require.NoError(t, setScalar(documented, text), path)
	if path != "config.authentication.users[].role" { // its default is set when the account is made
		require.Equal(t, value.Interface(), documented.Interface(), "%s: default", path)
	}
}

func TestSchemaJudgesLikeTheLoader(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemas.Config))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("config.schema.json", document))
	schema, err := compiler.Compile("config.schema.json")
	require.NoError(t, err)

	read := func(name string) string {
		content, err := os.ReadFile("testdata/" + name)
		require.NoError(t, err)
		return string(content)
	}
	tests := map[string]struct {
		content string
		valid   bool
	}{
		"documented example": {read("documented.yaml"), true},
		"every key quoted":   {read("quoted.yaml"), true},
		"minimal":            {minimal, true},
		"empty sections":     {minimal + "server:\nkubevirt:\ndatavolume:\n  storage_class:\n", true},
		"unknown key":        {minimal + "servers: {}\n", false},
		"unknown key in TLS": {minimal + "server: {tls: {enable: true}}\n", false},
		"port out of range":  {minimal + "server: {port: 65536}\n", false},
		"port not a number":  {minimal + "server: {port: https}\n", false},
		"truth value":        {minimal + "server: {tls: {enabled: maybe}}\n", false},
		"certificate alone":  {minimal + "server: {tls: {cert_file: a}}\n", false},
		"duration":           {minimal + "datavolume: {vm_update_timeout: 30}\n", false},
		"convention":         {minimal + "system_id_convention: new\n", false},
		"bad hash":           {"chassis: [{name: a, namespace: n}]\nauthentication: {users: [{username: a, password: {hash: x}, chassis: [a]}]}\n", false},
		"no users":           {"chassis: [{name: a, namespace: n}]\nauthentication: {users: []}\n", false},
		"no chassis":         {"authentication: {users: [{username: a, password: b, chassis: ['*']}]}\n", false},
		"role":               {"chassis: [{name: a, namespace: n}]\nauthentication: {users: [{username: a, password: b, chassis: [a], role: Root}]}\n", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			encoded, err := yaml.YAMLToJSON([]byte(test.content))
			require.NoError(t, err)
			instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
			require.NoError(t, err)
			_, _, loadErr := Source{Strict: true}.parse([]byte(test.content))
			schemaErr := schema.Validate(instance)
			if test.valid {
				require.NoError(t, loadErr)
				require.NoError(t, schemaErr)
				return
			}
			require.Error(t, loadErr)
			require.Error(t, schemaErr)
		})
	}
}
