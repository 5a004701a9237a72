package kubevirt

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	virtv1 "kubevirt.io/api/core/v1"
	kubevirtclient "kubevirt.io/client-go/kubevirt"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/markers"
)

// actor carries out calls on the API server.
type actor struct {
	virt  kubevirtclient.Interface
	kube  kubernetes.Interface
	raw   rest.Interface
	store *store
}

// act makes one call for the machine as it was when the call was decided. Each call that changes an object
// tests what it was decided on, so that a change in between makes it fail with a conflict.
func (a *actor) act(ctx context.Context, m *machine, c call) error {
	virt := a.virt.KubevirtV1().VirtualMachines(m.namespace)
	instances := a.virt.KubevirtV1().VirtualMachineInstances(m.namespace)
	switch c.do {
	case start:
		return virt.Start(ctx, m.name, &virtv1.StartOptions{}) //nolint:wrapcheck // the caller looks at its kind
	case stop:
		return virt.Stop(ctx, m.name, &virtv1.StopOptions{GracePeriod: graceFor(c)}) //nolint:wrapcheck // likewise
	case restart:
		return virt.Restart(ctx, m.name, &virtv1.RestartOptions{GracePeriodSeconds: graceFor(c)}) //nolint:wrapcheck // likewise
	case pause:
		return instances.Pause(ctx, m.name, &virtv1.PauseOptions{}) //nolint:wrapcheck // likewise
	case unpause:
		return instances.Unpause(ctx, m.name, &virtv1.UnpauseOptions{}) //nolint:wrapcheck // likewise
	case setStrategy:
		return a.patch(ctx, m, "", append(strategyOps(m, c.to), markerOps(m, c)...))
	case annotate:
		ops := markerOps(m, c)
		if c.hold != nil && !c.hold.waiting() {
			// Requests for the machine leave the annotation as it is, and would outlive its end.
			ops = append(sameVersion(m), ops...)
		}
		return a.patch(ctx, m, "", ops)
	case unrequest:
		return a.patch(ctx, m, "/status", append(sameVersion(m), operation{Op: "remove", Path: "/status/stateChangeRequests"}))
	case request:
		return a.patch(ctx, m, "/status", append(sameVersion(m), operation{Op: "add", Path: "/status/stateChangeRequests", Value: startRequests(m)}))
	case kill:
		return a.kill(ctx, m)
	default:
		return fmt.Errorf("no call %q", c.do)
	}
}

func graceFor(c call) *int64 {
	if !c.now {
		return nil
	}
	return new(int64)
}

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patch sends a JSON patch for the VM and puts the answer into the store, so that reads show it at once.
func (a *actor) patch(ctx context.Context, m *machine, subresource string, ops []operation) error {
	body, err := json.Marshal(append([]operation{{Op: "test", Path: "/metadata/uid", Value: m.vm.uid}}, ops...))
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	path := vmPath(m.namespace) + "/" + m.name + subresource
	text, err := answer(a.raw.Patch(types.JSONPatchType).AbsPath(path).Body(body).Do(ctx))
	if err != nil {
		return err
	}
	var object wireVM
	if err := json.Unmarshal(text, &object); err != nil {
		return fmt.Errorf("decoding the answer to a patch: %w", err)
	}
	fresh, err := object.record()
	if err != nil {
		return err
	}
	a.store.answered(fresh)
	return nil
}

// answer is the body of an answer, or the error in the API server's own words, which Raw and DoRaw alone drop.
func answer(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err //nolint:wrapcheck // the caller looks at its kind
	}
	return result.Raw() //nolint:wrapcheck // likewise
}

// sameVersion tests that the VM has not changed at all.
func sameVersion(m *machine) []operation {
	return []operation{{Op: "test", Path: "/metadata/resourceVersion", Value: strconv.FormatUint(m.vm.version, 10)}}
}

// strategyOps change the run strategy from what was read, in the field that the VM uses. A VM with
// spec.running keeps it as long as it can say what is wanted.
func strategyOps(m *machine, to strategy) []operation {
	if !m.vm.legacyRunning {
		return []operation{
			{Op: "test", Path: "/spec/runStrategy", Value: m.vm.strategy},
			{Op: "replace", Path: "/spec/runStrategy", Value: to},
		}
	}
	same := operation{Op: "test", Path: "/spec/running", Value: m.vm.strategy == always}
	if to == always || to == halted {
		return []operation{same, {Op: "replace", Path: "/spec/running", Value: to == always}}
	}
	return []operation{same, {Op: "remove", Path: "/spec/running"}, {Op: "add", Path: "/spec/runStrategy", Value: to}}
}

// markerOps write the annotations of a call. The held power-on is written only over what was read.
func markerOps(m *machine, c call) []operation {
	var ops []operation
	if c.hold != nil {
		ops = append(ops, annotationOps(markers.PowerOn, m.vm.annotations.PowerOn, c.hold.String())...)
	}
	was := m.vm.annotations.StoppedRunStrategy
	switch {
	case c.keep != "":
		ops = append(ops, annotationOps(markers.StoppedRunStrategy, string(was), string(c.keep))...)
	case was != "" && c.do == setStrategy && c.to != halted:
		ops = append(ops, annotationOps(markers.StoppedRunStrategy, string(was), "")...)
	}
	if len(ops) > 0 && !m.vm.annotated {
		none := operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{}}
		ops = append([]operation{absent("/metadata/annotations"), none}, ops...)
	}
	return ops
}

// annotationOps change an annotation from what was read; an empty value is none.
func annotationOps(name, was, is string) []operation {
	path := "/metadata/annotations/" + strings.ReplaceAll(name, "/", "~1")
	ops := []operation{absent(path)}
	if was != "" {
		ops[0] = operation{Op: "test", Path: path, Value: was}
	}
	if is == "" {
		return append(ops, operation{Op: "remove", Path: path})
	}
	return append(ops, operation{Op: "add", Path: path, Value: is})
}

// absent tests that there is nothing at the path: the API server takes a test for null as that.
func absent(path string) operation {
	return operation{Op: "test", Path: path, Value: json.RawMessage("null")}
}

// startRequests are the requests with which virt-api starts a VM whose strategy leaves that to requests.
func startRequests(m *machine) []map[string]string {
	requests := []map[string]string{{"action": actionStart}}
	if m.vmi != nil {
		requests = append([]map[string]string{{"action": actionStop, "uid": m.vmi.uid}}, requests...)
	}
	return requests
}

// kill deletes the launcher pod of the instance with a grace of one second. It is never forced: with a lost
// host that could make two of one machine.
func (a *actor) kill(ctx context.Context, m *machine) error {
	pods := a.kube.CoreV1().Pods(m.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: virtv1.CreatedByLabel + "=" + m.vmi.uid})
	if err != nil {
		return err //nolint:wrapcheck // the caller looks at its kind
	}
	for i := range list.Items {
		uid, grace := list.Items[i].UID, int64(1)
		opts := metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &uid}}
		if err := pods.Delete(ctx, list.Items[i].Name, opts); err != nil {
			return err //nolint:wrapcheck // likewise
		}
	}
	return nil
}

func vmPath(namespace string) string {
	return "/apis/kubevirt.io/v1/namespaces/" + namespace + "/virtualmachines"
}
