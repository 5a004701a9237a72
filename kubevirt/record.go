package kubevirt

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// key names an object within its kind.
type key struct{ namespace, name string }

// record is what is kept of one object: only what is read, in compact form. Records are immutable.
type record interface {
	*vmRecord | *vmiRecord | *claimRecord
	runtime.Object
	id() identity
}

// identity is the part of the metadata that every record keeps.
type identity struct {
	key
	uid     string
	version uint64 // resourceVersion; comparable since Kubernetes documents it as a growing decimal number
	created time.Time
	deleted time.Time // deletionTimestamp, zero without
}

func (i *identity) id() identity { return *i }

// DeepCopyObject is part of runtime.Object. Records are immutable, so that they are their own copy; each kind
// overrides it to keep its type.
func (i *identity) DeepCopyObject() runtime.Object { return nil }

// GetObjectKind is part of runtime.Object; records know their kind by their Go type.
func (i *identity) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// GetObjectMeta gives the reflector what it reads of an object.
func (i *identity) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Name: i.name, Namespace: i.namespace, ResourceVersion: strconv.FormatUint(i.version, 10)}
}

// vmRecord is a VirtualMachine.
type vmRecord struct {
	identity
	generation  int64
	labels      map[string]string
	annotations wireAnnotations
	annotated   bool // there are annotations at all

	strategy       strategy // spec.runStrategy, or what spec.running means
	legacyRunning  bool     // the VM has spec.running instead of spec.runStrategy
	statusStrategy strategy // status.runStrategy: what virt-controller has last acted on
	instancetype   string   // "Kind/name", empty without
	preference     string
	revisions      string // names of the ControllerRevisions of instancetype and preference
	template       hardware
	printable      string
	hasInstance    bool // virt-controller knows of one
	conditions     []condition
	requests       []changeRequest
	startFailures  int
	retryAfter     time.Time
}

// vmiRecord is a VirtualMachineInstance.
type vmiRecord struct {
	identity
	hardware   hardware
	phase      string
	node       string
	running    time.Time // when it became Running
	conditions []condition
	nics       []nicState
	volumes    []volumeState
	topology   topology // currentCPUTopology; zero when not reported
	memory     int64    // guestCurrent in bytes; 0 when not reported
	guestOS    string
}

// claimRecord is a PersistentVolumeClaim: how large the disk is that it holds.
type claimRecord struct {
	identity
	bytes int64
}

// condition is a condition of a VM or VMI.
type condition struct {
	kind, status, reason, message string
	since                         time.Time
}

// changeRequest is a member of a VM's status.stateChangeRequests.
type changeRequest struct{ action, uid string }

// nicState is what a running instance reports of an interface.
type nicState struct {
	name, mac string
	down      bool
	addresses []string
}

// volumeState is the size that a running instance reports of a volume.
type volumeState struct {
	name  string
	bytes int64
}

func (r *vmRecord) DeepCopyObject() runtime.Object    { return r }
func (r *vmiRecord) DeepCopyObject() runtime.Object   { return r }
func (r *claimRecord) DeepCopyObject() runtime.Object { return r }

// strategy is a VM's run strategy.
type strategy string

const (
	always         strategy = "Always"
	rerunOnFailure strategy = "RerunOnFailure"
	manual         strategy = "Manual"
	once           strategy = "Once"
	halted         strategy = "Halted"
	waitAsReceiver strategy = "WaitAsReceiver"
)

// Phases of a VirtualMachineInstance.
const (
	phasePending   = "Pending"
	phaseRunning   = "Running"
	phaseSucceeded = "Succeeded"
	phaseFailed    = "Failed"
)

// final reports whether the instance has ended.
func (r *vmiRecord) final() bool { return r.phase == phaseSucceeded || r.phase == phaseFailed }

// conditionOf finds a condition by its type; nil when it is not there.
func conditionOf(conditions []condition, kind string) *condition {
	for i := range conditions {
		if conditions[i].kind == kind {
			return &conditions[i]
		}
	}
	return nil
}

// isTrue reports whether the condition is there with status True.
func isTrue(conditions []condition, kind string) bool {
	c := conditionOf(conditions, kind)
	return c != nil && c.status == "True"
}

// compare orders keys by namespace, then name.
func (k key) compare(other key) int {
	if c := strings.Compare(k.namespace, other.namespace); c != 0 {
		return c
	}
	return strings.Compare(k.name, other.name)
}
