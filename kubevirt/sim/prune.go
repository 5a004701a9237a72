package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// prune removes the fields that the kind's Go type does not have, as a structural schema does, and refuses
// values of the wrong type. It returns the paths of what it removed.
func prune(t *resource.Type, d *store.Draft) ([]string, error) {
	var unknown []string
	for name, raw := range d.Fields {
		f, ok := jsonFields(t.Go)[name]
		if !ok {
			unknown = append(unknown, name)
			delete(d.Fields, name)
			continue
		}
		if err := json.Unmarshal(raw, reflect.New(f).Interface()); err != nil {
			return nil, invalid(t, d.Meta.Name, field.Invalid(field.NewPath(name), field.OmitValueType{}, err.Error()))
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		before := len(unknown)
		pruneValue(v, f, name, &unknown)
		if len(unknown) == before {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode pruned field: %w", err)
		}
		d.Fields[name] = b
	}
	slices.Sort(unknown)
	return unknown, nil
}

func invalid(t *resource.Type, name string, errs ...*field.Error) error {
	return apierrors.NewInvalid(t.GroupKind(), name, errs)
}

func pruneValue(v any, t reflect.Type, path string, unknown *[]string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case map[string]any:
		pruneMap(v, t, path, unknown)
	case []any:
		if t.Kind() == reflect.Slice {
			for i, e := range v {
				pruneValue(e, t.Elem(), fmt.Sprintf("%s[%d]", path, i), unknown)
			}
		}
	}
}

func pruneMap(v map[string]any, t reflect.Type, path string, unknown *[]string) {
	if t.Kind() == reflect.Map {
		for name, e := range v {
			pruneValue(e, t.Elem(), path+"."+name, unknown)
		}
		return
	}
	if t.Kind() != reflect.Struct {
		return
	}
	known := jsonFields(t)
	if len(known) == 0 { // quantities, times and raw JSON read themselves
		return
	}
	for name, e := range v {
		f, ok := known[name]
		if !ok {
			*unknown = append(*unknown, path+"."+name)
			delete(v, name)
			continue
		}
		pruneValue(e, f, path+"."+name, unknown)
	}
}

// fieldsOf remembers jsonFields: the types are few and never change.
var fieldsOf sync.Map

// jsonFields are the fields of a struct by their JSON names, embedded structs included.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	if known, ok := fieldsOf.Load(t); ok {
		return known.(map[string]reflect.Type) // only stored below
	}
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && (name == "" || strings.Contains(opts, "inline")):
			e := f.Type
			if e.Kind() == reflect.Pointer {
				e = e.Elem()
			}
			maps.Copy(fields, jsonFields(e))
		case name != "" && name != "-":
			fields[name] = f.Type
		}
	}
	fieldsOf.Store(t, fields)
	return fields
}
