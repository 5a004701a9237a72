package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
)

// Key names an object of one kind. Namespace is empty for cluster-scoped kinds.
type Key struct {
	Namespace, Name string
}

// Object is a stored object. It is immutable and may be shared.
type Object struct {
	Type *resource.Type
	// Meta is the decoded metadata. It must not be changed.
	Meta *metav1.ObjectMeta
	// JSON is the whole object. It must not be changed.
	JSON []byte

	revision uint64
}

// Key is the object's name.
func (o *Object) Key() Key { return Key{o.Meta.Namespace, o.Meta.Name} }

// Into decodes the object into its Go type.
func (o *Object) Into(v any) error {
	if err := json.Unmarshal(o.JSON, v); err != nil {
		return fmt.Errorf("decode %s %s/%s: %w", o.Type.Kind, o.Meta.Namespace, o.Meta.Name, err)
	}
	return nil
}

// Draft is an object being written: metadata decoded, everything else encoded by top-level field, compact.
type Draft struct {
	Meta   metav1.ObjectMeta
	Fields map[string]json.RawMessage
}

// Draft returns a copy that may be changed.
func (o *Object) Draft() (*Draft, error) { return ParseDraft(o.JSON) }

// ParseDraft splits an encoded object. The apiVersion and kind are dropped; the type gives them.
func ParseDraft(b []byte) (*Draft, error) {
	d := &Draft{}
	if err := json.Unmarshal(b, &d.Fields); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	if m, ok := d.Fields["metadata"]; ok {
		if err := json.Unmarshal(m, &d.Meta); err != nil {
			return nil, fmt.Errorf("decode metadata: %w", err)
		}
	}
	for _, f := range []string{"apiVersion", "kind", "metadata"} {
		delete(d.Fields, f)
	}
	return d, nil
}

// DraftOf encodes a typed object.
func DraftOf(v any) (*Draft, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}
	return ParseDraft(b)
}

// encode writes the whole object, fields sorted.
func (d *Draft) encode(t *resource.Type) ([]byte, error) {
	var b bytes.Buffer
	meta, err := json.Marshal(&d.Meta)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	fmt.Fprintf(&b, `{"apiVersion":%q,"kind":%q,"metadata":`, t.APIVersion(), t.Kind)
	b.Write(meta)
	for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
		fmt.Fprintf(&b, ",%q:", name)
		b.Write(d.Fields[name])
	}
	b.WriteByte('}')
	return slices.Clone(b.Bytes()), nil
}

func (d *Draft) object(t *resource.Type, revision uint64) (*Object, error) {
	d.Meta.ResourceVersion = strconv.FormatUint(revision, 10)
	d.Meta.ManagedFields = nil
	b, err := d.encode(t)
	if err != nil {
		return nil, err
	}
	return &Object{Type: t, Meta: &d.Meta, JSON: b, revision: revision}, nil
}
