package bench

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

//go:embed testdata/vm.json
var vmText []byte

//go:embed testdata/vmi.json
var vmiText []byte

// kind is a resource of the synthetic cluster: the JSON text of one object with words to be replaced in it.
type kind struct{ plural, template string }

// Both kinds are as large as those of a cluster that is in use: about 12.6 and 12.5 KB, of which managedFields
// are 4.6 and 6.3 KB, and the last applied configuration of a VM some 3 KB.
var (
	vmKind  = kind{"virtualmachines", withMetadata(vmText, []string{"metadata", "spec"}, []string{"status"})}
	vmiKind = kind{"virtualmachineinstances", withMetadata(vmiText, []string{"metadata", "spec"}, []string{"status"}, []string{"status"})}
)

// withMetadata adds what the machinery of Kubernetes adds to an object: who owns which fields, one entry for
// each set of top-level members, and on a VirtualMachine what kubectl has applied.
func withMetadata(text []byte, owned ...[]string) string {
	var object map[string]any
	must(json.Unmarshal(text, &object))
	metadata := object["metadata"].(map[string]any)
	if object["kind"] == "VirtualMachine" {
		applied := maps.Clone(object)
		delete(applied, "status")
		applied["metadata"] = map[string]any{"name": metadata["name"], "namespace": metadata["namespace"], "labels": metadata["labels"]}
		metadata["annotations"].(map[string]any)["kubectl.kubernetes.io/last-applied-configuration"] = string(encode(applied)) + "\n"
	}
	var managed []any
	for i, members := range owned {
		part := map[string]any{}
		for _, member := range members {
			part[member] = object[member]
		}
		managed = append(managed, map[string]any{
			"manager": fmt.Sprintf("controller-%d", i), "operation": "Update", "apiVersion": object["apiVersion"],
			"time": "2026-03-02T08:21:07Z", "fieldsType": "FieldsV1", "fieldsV1": fieldsOf(part),
		})
	}
	metadata["managedFields"] = managed
	return string(encode(object))
}

// fieldsOf is the set of fields of a value as managedFields has it.
func fieldsOf(value any) map[string]any {
	fields := map[string]any{}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			fields["f:"+name] = fieldsOf(member)
		}
	case []any:
		fields["."] = map[string]any{}
		for _, item := range v {
			member, _ := item.(map[string]any)
			for _, name := range []string{"name", "type"} {
				if key := member[name]; key != nil {
					fields[fmt.Sprintf("k:{%q:%q}", name, key)] = fieldsOf(member)
					break
				}
			}
		}
	}
	return fields
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	must(err)
	return text
}

// share is how many machines there are for each one that the user with few machines may see.
const share = 100

// machines names the machines of a synthetic cluster: n of them, spread evenly over namespaces.
type machines struct{ count, namespaces int }

func (m machines) namespace(i int) string { return fmt.Sprintf("ns-%02d", i%m.namespaces) }
func (m machines) name(i int) string      { return fmt.Sprintf("node-%05d", i) }

// objects are the objects of a kind by namespace, encoded, in the order of their names.
func (m machines) objects(of kind) map[string][][]byte {
	all := map[string][][]byte{}
	for i := range m.count {
		namespace := m.namespace(i)
		all[namespace] = append(all[namespace], []byte(m.words(i).Replace(of.template)))
	}
	return all
}

// words fill the template of the machine with that number.
func (m machines) words(i int) *strings.Replacer {
	number := fmt.Sprintf("%07x", i)
	return strings.NewReplacer(
		"NAMESPACE", m.namespace(i), "NAME", m.name(i), "NUMBER", number, "NODE", fmt.Sprintf("host-%02d", i%50),
		"VERSION", strconv.Itoa(firstVersion+i), "MAC", fmt.Sprintf("00:%02x:%02x", i>>8&0xff, i&0xff), "CLUSTER", fmt.Sprintf("cluster-%04d", i/3),
		"ADDRESS", fmt.Sprintf("16.%d.%d", i>>8&0xff, i&0xff), "SHARE", strconv.Itoa(i%share),
	)
}

// firstVersion is the resourceVersion of the first machine; that of the cluster is higher than all.
const (
	firstVersion = 1000
	lastVersion  = 1 << 30
)

// allNamespaces are the namespaces that have machines.
func (m machines) allNamespaces() []string {
	var names []string
	for i := range m.namespaces {
		names = append(names, m.namespace(i))
	}
	slices.Sort(names)
	return names
}

// must is for what can only fail by a defect of the benchmark itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
