package sim

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/virt"
)

// Fleet is what a simulated cluster contains at its start: plain Kubernetes objects. VMs that are to run are
// running, with their disks filled, as if they had been there for a while.
type Fleet struct {
	objects [][]byte // JSON
}

//go:embed fleets/base.yaml
var baseFleet []byte

//go:embed fleets/default.yaml
var defaultFleet []byte

// DefaultFleet is three machines of a control plane in namespace cp1: node-0 runs, node-1 and node-2 are off.
func DefaultFleet() Fleet {
	f, err := ParseFleet(bytes.NewReader(defaultFleet))
	if err != nil {
		panic(err) // part of the program, tested
	}
	return f
}

// ParseFleet reads a YAML file of one or more documents.
func ParseFleet(r io.Reader) (Fleet, error) {
	var f Fleet
	docs := utilyaml.NewYAMLReader(bufio.NewReader(r))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, fmt.Errorf("read fleet: %w", err)
		}
		b, err := yaml.YAMLToJSON(doc)
		if err != nil {
			return f, fmt.Errorf("read fleet: %w", err)
		}
		if string(b) != "null" {
			f.objects = append(f.objects, b)
		}
	}
}

// FleetOf makes a fleet of objects. Objects without apiVersion and kind get those that client-go knows.
func FleetOf(objects ...runtime.Object) (Fleet, error) {
	var f Fleet
	for _, o := range objects {
		if o.GetObjectKind().GroupVersionKind().Empty() {
			kinds, _, err := scheme.Scheme.ObjectKinds(o)
			if err != nil {
				return f, fmt.Errorf("fleet: %w", err)
			}
			o.GetObjectKind().SetGroupVersionKind(kinds[0])
		}
		b, err := json.Marshal(o)
		if err != nil {
			return f, fmt.Errorf("fleet: %w", err)
		}
		f.objects = append(f.objects, b)
	}
	return f, nil
}

// Add returns a fleet with the objects of both: test/e2e puts odd machines beside the sample.
func (f Fleet) Add(g Fleet) Fleet { return Fleet{slices.Concat(f.objects, g.objects)} }

// seed stores the cluster's own objects and the fleet's, VMs last. A fleet that brings nodes replaces ours.
func (f Fleet) seed(v *virt.Virt) error {
	base, err := ParseFleet(bytes.NewReader(baseFleet))
	if err != nil {
		return err
	}
	own, err := f.parse()
	if err != nil {
		return err
	}
	all, err := base.parse()
	if err != nil {
		return err
	}
	for _, m := range own {
		all = slices.DeleteFunc(all, func(b member) bool {
			return b.typ == m.typ && b.draft.Meta.Name == m.draft.Meta.Name || (b.typ == resource.Nodes && m.typ == resource.Nodes)
		})
	}
	all = append(all, own...)
	defer v.Settle()
	var vms errgroup.Group
	vms.SetLimit(goruntime.GOMAXPROCS(0))
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, m := range all {
		if m.typ == resource.VirtualMachines {
			vms.Go(func() error { return v.Seed(m.typ, m.draft) })
		} else if err := v.Seed(m.typ, m.draft); err != nil {
			return err
		}
	}
	return vms.Wait()
}

// rank puts VMs after everything that they may use.
func (m member) rank() int {
	if m.typ == resource.VirtualMachines {
		return 1
	}
	return 0
}

type member struct {
	typ   *resource.Type
	draft *store.Draft
}

func (f Fleet) parse() ([]member, error) {
	members := make([]member, 0, len(f.objects))
	for _, b := range f.objects {
		var kind metav1.TypeMeta
		if err := json.Unmarshal(b, &kind); err != nil {
			return nil, fmt.Errorf("read object: %w", err)
		}
		t := resource.LookupKind(kind.APIVersion, kind.Kind)
		if t == nil {
			return nil, fmt.Errorf("the simulator has no %s of %s", kind.Kind, kind.APIVersion)
		}
		d, err := store.ParseDraft(b)
		if err != nil {
			return nil, err
		}
		if d.Meta.Name == "" {
			return nil, fmt.Errorf("a %s without a name", kind.Kind)
		}
		if !t.ClusterScoped && d.Meta.Namespace == "" {
			d.Meta.Namespace = "default"
		}
		unknown, err := prune(t, d)
		if err != nil {
			return nil, err
		}
		if len(unknown) > 0 {
			return nil, fmt.Errorf("%s %s/%s: unknown field %q", kind.Kind, d.Meta.Namespace, d.Meta.Name, unknown[0])
		}
		members = append(members, member{t, d})
	}
	return members, nil
}
