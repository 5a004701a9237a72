package resource

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Type is one kind of object that the simulator stores.
type Type struct {
	Group, Version string
	Kind           string
	Plural         string
	Singular       string
	ShortNames     []string
	Categories     []string
	// ClusterScoped objects have no namespace.
	ClusterScoped bool
	// Status says that status is a subresource: written only through it, and not counted by generation.
	Status bool
	// Strategic says that strategic merge patch works, which it does for built-in kinds only.
	Strategic bool
	// GracefulDelete is a kind whose deletion waits for its owner on a node, as pods do.
	GracefulDelete bool
	// Selectable are the fields that a field selector may name beside metadata's.
	Selectable []string
	// Go is the Go type; unknown fields are pruned by it.
	Go reflect.Type
	// Columns are the columns of kubectl's table after NAME.
	Columns []Column
}

// Column is one column of a table. Path is a JSONPath; the type "date" prints an age.
type Column struct {
	Name, Type, Path string
}

// GVK is the kind with its group and version.
func (t *Type) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: t.Kind}
}

// GroupResource is the name used in errors and rights.
func (t *Type) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: t.Group, Resource: t.Plural}
}

// GroupKind is the name used in validation errors.
func (t *Type) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: t.Group, Kind: t.Kind}
}

// APIVersion is the apiVersion of its objects.
func (t *Type) APIVersion() string {
	return schema.GroupVersion{Group: t.Group, Version: t.Version}.String()
}

// Lookup finds a type by the parts of a URL; nil when it is not served.
func Lookup(group, version, plural string) *Type {
	for _, t := range All {
		if t.Group == group && t.Version == version && t.Plural == plural {
			return t
		}
	}
	return nil
}

// LookupKind finds a type by the apiVersion and kind of an object; nil when it is not served.
func LookupKind(apiVersion, kind string) *Type {
	for _, t := range All {
		if t.Kind == kind && t.APIVersion() == apiVersion {
			return t
		}
	}
	return nil
}
