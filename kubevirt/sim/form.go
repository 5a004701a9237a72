package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// form is how objects are written: complete, as a table for people, or metadata only.
type form interface {
	object(o *store.Object) ([]byte, error)
	list(p page) ([]byte, error)
}

// formOf follows the Accept header. Types other than JSON are never chosen.
func formOf(q *request, s *store.Store) form {
	accept := q.http.Header.Get("Accept")
	switch {
	case strings.Contains(accept, "as=Table"):
		return table{typ: q.typ, include: q.query.Get("includeObject"), now: s.Now()}
	case strings.Contains(accept, "as=PartialObjectMetadata"):
		return partial{}
	}
	return complete{q.typ}
}

type complete struct{ typ *resource.Type }

func (complete) object(o *store.Object) ([]byte, error) { return o.JSON, nil }

func (f complete) list(p page) ([]byte, error) {
	items := make([][]byte, len(p.objects))
	for i, o := range p.objects {
		items[i] = o.JSON
	}
	return joinItems(f.typ.APIVersion(), f.typ.Kind+"List", p.meta, items)
}

type partial struct{}

func (partial) object(o *store.Object) ([]byte, error) {
	return json.Marshal(metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: *o.Meta,
	})
}

func (f partial) list(p page) ([]byte, error) {
	items := make([][]byte, len(p.objects))
	for i, o := range p.objects {
		b, err := f.object(o)
		if err != nil {
			return nil, fmt.Errorf("encode metadata: %w", err)
		}
		items[i] = b
	}
	return joinItems("meta.k8s.io/v1", "PartialObjectMetadataList", p.meta, items)
}

type table struct {
	typ     *resource.Type
	include string
	now     time.Time
}

func (f table) object(o *store.Object) ([]byte, error) {
	return f.list(page{meta: metav1.ListMeta{ResourceVersion: o.Meta.ResourceVersion}, objects: []*store.Object{o}})
}

func (f table) list(p page) ([]byte, error) {
	t := metav1.Table{
		TypeMeta:          metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"},
		ListMeta:          p.meta,
		ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}},
		Rows:              []metav1.TableRow{},
	}
	for _, c := range f.typ.Columns {
		kind := c.Type
		if kind == "date" {
			kind = "string" // the server prints the age
		}
		t.ColumnDefinitions = append(t.ColumnDefinitions, metav1.TableColumnDefinition{Name: c.Name, Type: kind})
	}
	for _, o := range p.objects {
		row, err := f.row(o)
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, row)
	}
	return json.Marshal(t)
}

func (f table) row(o *store.Object) (metav1.TableRow, error) {
	var content any
	if err := json.Unmarshal(o.JSON, &content); err != nil {
		return metav1.TableRow{}, fmt.Errorf("decode for table: %w", err)
	}
	row := metav1.TableRow{Cells: []any{o.Meta.Name}}
	for _, c := range f.typ.Columns {
		row.Cells = append(row.Cells, f.cell(c, content))
	}
	switch f.include {
	case string(metav1.IncludeNone):
	case string(metav1.IncludeObject):
		row.Object = runtime.RawExtension{Raw: o.JSON}
	default:
		b, err := partial{}.object(o)
		if err != nil {
			return row, fmt.Errorf("encode metadata: %w", err)
		}
		row.Object = runtime.RawExtension{Raw: b}
	}
	return row, nil
}

// cell is empty where the object has no such field.
func (f table) cell(c resource.Column, content any) any {
	j := jsonpath.New(c.Name).AllowMissingKeys(true)
	var b bytes.Buffer
	if err := j.Parse("{" + c.Path + "}"); err != nil || j.Execute(&b, content) != nil {
		return ""
	}
	if c.Type != "date" {
		return b.String()
	}
	at, err := time.Parse(time.RFC3339, b.String())
	if err != nil {
		return "<unknown>"
	}
	return duration.HumanDuration(f.now.Sub(at))
}
