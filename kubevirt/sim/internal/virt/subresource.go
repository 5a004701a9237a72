package virt

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// SubresourceGroup is the API group that virt-api serves.
const SubresourceGroup = "subresources.kubevirt.io"

// call is one subresource request with what it is about.
type call struct {
	virt *Virt
	key  store.Key
	vm   *vmObject
	vmi  *vmiObject // nil when there is none
	body options

	strategy kubevirtv1.VirtualMachineRunStrategy
}

// options is the union of the bodies of all verbs.
type options struct {
	Paused             bool     `json:"paused"`
	GracePeriod        *int64   `json:"gracePeriod"`        // of stop, seconds
	GracePeriodSeconds *int64   `json:"gracePeriodSeconds"` // of restart
	DryRun             []string `json:"dryRun"`
}

// APIResources is what discovery lists in the group.
func APIResources() []metav1.APIResource {
	var list []metav1.APIResource
	add := func(name string) {
		list = append(list, metav1.APIResource{Name: name, Namespaced: true, Kind: "VirtualMachine", Verbs: metav1.Verbs{"get", "update"}})
	}
	add(resource.VirtualMachines.Plural + "/expand-spec")
	add(resource.VirtualMachineInstances.Plural + "/guestosinfo")
	for _, r := range rules {
		if name := r.plural() + "/" + r.verb; !slices.ContainsFunc(list, func(a metav1.APIResource) bool { return a.Name == name }) {
			add(name)
		}
	}
	return list
}

// Call carries out a subresource and returns the status code and the object of the answer; nil is no body.
func (v *Virt) Call(method, plural, verb string, key store.Key, body []byte) (int, any, error) {
	switch {
	case method == http.MethodGet && plural == "version":
		return http.StatusOK, kubeVirtVersion, nil
	case method == http.MethodGet && plural == resource.VirtualMachines.Plural && verb == "expand-spec":
		vm, err := v.expandSpec(key)
		return http.StatusOK, vm, err
	case method == http.MethodGet && plural == resource.VirtualMachineInstances.Plural && verb == "guestosinfo":
		info, err := v.guestOSInfo(key)
		return http.StatusOK, info, err
	case method == http.MethodPut:
		code, err := v.power(plural, verb, key, body)
		return code, nil, err
	}
	return 0, nil, notFound(schema.GroupResource{Group: SubresourceGroup, Resource: plural}, key.Name)
}

func notFound(gr schema.GroupResource, name string) error { return apierrors.NewNotFound(gr, name) }

// power finds the first rule that applies and does what it says.
func (v *Virt) power(plural, verb string, key store.Key, body []byte) (int, error) {
	c := &call{virt: v, key: key}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &c.body); err != nil {
			return 0, apierrors.NewBadRequest(fmt.Sprintf("Can not unmarshal Request body to struct, error: %s", err))
		}
	}
	if err := c.checkRestart(verb); err != nil {
		return 0, err
	}
	if err := c.load(plural); err != nil {
		return 0, err
	}
	for _, r := range rules {
		if r.verb == verb && r.plural() == plural && r.applies(c) {
			return r.code(), r.then(c)
		}
	}
	return 0, notFound(schema.GroupResource{Group: SubresourceGroup, Resource: plural}, key.Name)
}

func (c *call) checkRestart(verb string) error {
	g := c.body.GracePeriodSeconds
	switch {
	case verb != "restart" || g == nil || *g == 0:
		return nil
	case *g > 0:
		return apierrors.NewBadRequest("For force restart, only gracePeriod=0 is supported for now")
	}
	return apierrors.NewBadRequest("gracePeriod has to be greater or equal to 0")
}

func (c *call) load(plural string) error {
	var err error
	if c.vm, err = c.virt.vm(c.key); err != nil {
		return err
	}
	if c.vmi, err = c.virt.vmi(c.key); err != nil {
		return err
	}
	switch {
	case plural == resource.VirtualMachines.Plural && c.vm == nil:
		return notFound(schema.GroupResource{Group: "kubevirt.io", Resource: "virtualmachine"}, c.key.Name)
	case plural == resource.VirtualMachineInstances.Plural && c.vmi == nil:
		return notFound(schema.GroupResource{Group: "kubevirt.io", Resource: "virtualmachineinstance"}, c.key.Name)
	}
	if c.vm != nil {
		if c.strategy, err = c.vm.RunStrategy(); err != nil {
			return apierrors.NewInternalError(err)
		}
	}
	return nil
}

func (c *call) conflict(kind, format string, args ...any) error {
	return apierrors.NewConflict(schema.GroupResource{Group: "kubevirt.io", Resource: kind}, c.key.Name, fmt.Errorf(format, args...))
}

func (c *call) dryRun() bool { return len(c.body.DryRun) > 0 }

// setGrace shortens (or lengthens) the grace period of the running instance, in seconds.
func (c *call) setGrace(seconds int64) error {
	if c.vmi == nil || c.vmi.IsFinal() || c.dryRun() {
		return nil
	}
	_, err := change(c.virt.Store, resource.VirtualMachineInstances, c.key, spec, func(vmi *vmiObject) error {
		vmi.Spec.TerminationGracePeriodSeconds = &seconds
		return nil
	})
	return ignoreNotFound(err)
}

// setStrategy changes the run strategy of the VM.
func (c *call) setStrategy(s kubevirtv1.VirtualMachineRunStrategy) error {
	if c.dryRun() {
		return nil
	}
	_, err := change(c.virt.Store, resource.VirtualMachines, c.key, spec, func(vm *vmObject) error {
		setStrategy(vm, s)
		return nil
	})
	return err
}

// request queues state changes in the VM's status. Only a single stop may replace what is queued.
func (c *call) request(changes ...kubevirtv1.VirtualMachineStateChangeRequest) error {
	_, err := change(c.virt.Store, resource.VirtualMachines, c.key, status, func(vm *vmObject) error {
		onlyStop := len(changes) == 1 && changes[0].Action == kubevirtv1.StopRequest
		if len(vm.Status.StateChangeRequests) > 0 && !onlyStop {
			return apierrors.NewInternalError(errors.New("unable to complete request: stop/start already underway"))
		}
		if c.dryRun() {
			return errStop
		}
		vm.Status.StateChangeRequests = changes
		vm.Status.StartFailure = nil
		return nil
	})
	return err
}

func (c *call) stopRequest() kubevirtv1.VirtualMachineStateChangeRequest {
	return kubevirtv1.VirtualMachineStateChangeRequest{Action: kubevirtv1.StopRequest, UID: &c.vmi.UID}
}

func (c *call) startRequest() kubevirtv1.VirtualMachineStateChangeRequest {
	r := kubevirtv1.VirtualMachineStateChangeRequest{Action: kubevirtv1.StartRequest}
	if c.body.Paused {
		r.Data = map[string]string{kubevirtv1.StartRequestDataPausedKey: kubevirtv1.StartRequestDataPausedTrue}
	}
	return r
}

// onGuest does something to the guest of a running instance and looks at it again.
func (c *call) onGuest(f func(*instance)) {
	c.virt.guests.use(c.key, c.vmi.UID, func(in *instance) {
		if in.guest != nil {
			f(in)
		}
	})
	c.virt.enqueue(resource.VirtualMachineInstances, c.key)
}

func (c *call) setPaused(on bool) error {
	if c.dryRun() {
		return nil
	}
	now := c.virt.Clock.Now()
	c.onGuest(func(in *instance) {
		if on {
			in.guest.Pause(now)
		} else {
			in.guest.Resume(now)
		}
	})
	return c.virt.changeVMI(c.vmi, func(vmi *vmiObject) {
		if on {
			c.virt.setVMICondition(vmi, kubevirtv1.VirtualMachineInstancePaused, corev1.ConditionTrue, "PausedByUser", "VMI was paused by user")
		} else {
			removeVMICondition(vmi, kubevirtv1.VirtualMachineInstancePaused)
		}
	})
}

func (c *call) reset(soft bool) {
	now := c.virt.Clock.Now()
	c.onGuest(func(in *instance) {
		if soft {
			in.guest.SoftReboot(now)
		} else {
			in.guest.Reset(now)
		}
	})
}

// expandSpec applies instance type, preference and defaults, or returns a VM that has neither as it is.
func (v *Virt) expandSpec(key store.Key) (*vmObject, error) {
	vm, err := v.vm(key)
	if err != nil {
		return nil, err
	}
	if vm == nil {
		return nil, notFound(schema.GroupResource{Group: "kubevirt.io", Resource: "virtualmachine"}, key.Name)
	}
	if vm.Spec.Instancetype == nil && vm.Spec.Preference == nil {
		return vm, nil
	}
	if err := v.expand(vm, &vm.Spec.Template.Spec); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	setVMIDefaults(&vm.Spec.Template.Spec)
	vm.Spec.Instancetype, vm.Spec.Preference = nil, nil
	return vm, nil
}

func (v *Virt) guestOSInfo(key store.Key) (*kubevirtv1.VirtualMachineInstanceGuestAgentInfo, error) {
	c := &call{virt: v, key: key}
	if err := c.load(resource.VirtualMachineInstances.Plural); err != nil {
		return nil, err
	}
	if c.vmi.Status.Phase != kubevirtv1.Running {
		return nil, c.conflict("virtualmachineinstance", "VMI is not running")
	}
	if !hasVMICondition(c.vmi, kubevirtv1.VirtualMachineInstanceAgentConnected) {
		return nil, c.conflict("virtualmachineinstance", "VMI does not have guest agent connected")
	}
	return &kubevirtv1.VirtualMachineInstanceGuestAgentInfo{
		TypeMeta: metav1.TypeMeta{APIVersion: "kubevirt.io/v1", Kind: "VirtualMachineInstanceGuestAgentInfo"},
		Hostname: c.key.Name, OS: guestOS, Timezone: "UTC, 0", GAVersion: "9.2.0",
	}, nil
}

// version is KubeVirt's own version document.
type version struct {
	GitVersion   string `json:"gitVersion"`
	GitCommit    string `json:"gitCommit"`
	GitTreeState string `json:"gitTreeState"`
	BuildDate    string `json:"buildDate"`
	GoVersion    string `json:"goVersion"`
	Compiler     string `json:"compiler"`
	Platform     string `json:"platform"`
}

// Version is the KubeVirt that is imitated.
const Version = "v1.9.0"

var kubeVirtVersion = version{GitVersion: Version, GitCommit: strings.Repeat("0", 40), GitTreeState: "clean",
	BuildDate: "2026-07-28T00:00:00Z", GoVersion: "go1.25", Compiler: "gc", Platform: "linux/amd64"}
