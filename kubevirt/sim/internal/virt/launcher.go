package virt

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

type typesUID = types.UID

// podGracePadding is what a launcher pod's grace period is longer than its instance's, in seconds.
const podGracePadding = 30

// newLauncher describes the pod that runs an instance.
func newLauncher(vmi *vmiObject) *corev1.Pod {
	grace := int64(defaultGrace + podGracePadding)
	if g := vmi.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = *g + podGracePadding
	}
	l := maps.Clone(vmi.Labels)
	if l == nil {
		l = map[string]string{}
	}
	l[kubevirtv1.AppLabel] = "virt-launcher"
	l[kubevirtv1.CreatedByLabel] = string(vmi.UID)
	l[kubevirtv1.DeprecatedVirtualMachineNameLabel] = vmi.Name
	l[kubevirtv1.VirtualMachineInstanceIDLabel] = vmi.Name
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "virt-launcher-" + vmi.Name + "-" + rand.String(5), Namespace: vmi.Namespace, UID: uuid.NewUUID(), Labels: l,
			Annotations:     map[string]string{kubevirtv1.DomainAnnotation: vmi.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vmi, kubevirtv1.VirtualMachineInstanceGroupVersionKind)},
		},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "compute", Image: "quay.io/kubevirt/virt-launcher:v1.9.0"}},
			NodeSelector:                  vmi.Spec.NodeSelector,
			TerminationGracePeriodSeconds: &grace,
			RestartPolicy:                 corev1.RestartPolicyNever,
			ReadinessGates:                []corev1.PodReadinessGate{{ConditionType: kubevirtv1.VirtualMachineUnpaused}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// launcher is the pod of an instance; nil when there is none or it is gone.
func (v *Virt) launcher(vmi *vmiObject) (*corev1.Pod, error) {
	var name string
	v.guests.use(keyOf(vmi), vmi.UID, func(in *instance) { name = in.pod })
	if name == "" {
		return nil, nil
	}
	pod, _, err := load[corev1.Pod](v.Store, resource.Pods, store.Key{Namespace: vmi.Namespace, Name: name})
	return pod, err
}

func (v *Virt) changeLauncher(vmi *vmiObject, f func(*corev1.Pod)) error {
	pod, err := v.launcher(vmi)
	if err != nil || pod == nil {
		return err
	}
	_, err = change(v.Store, resource.Pods, keyOf(pod), spec|status, func(p *corev1.Pod) error {
		before := p.DeepCopy()
		f(p)
		if equality.Semantic.DeepEqual(before, p) {
			return errStop
		}
		return nil
	})
	return ignoreNotFound(err)
}

// podChanged wakes the instance of a launcher pod.
func (v *Virt) podChanged(e store.Event) {
	if name := e.Object.Meta.Labels[kubevirtv1.DeprecatedVirtualMachineNameLabel]; name != "" {
		v.enqueue(resource.VirtualMachineInstances, store.Key{Namespace: e.Object.Meta.Namespace, Name: name})
	}
	v.enqueue(resource.Pods, e.Object.Key())
}

// reconcilePod ends a deleted pod that runs no instance, as its node would.
func (v *Virt) reconcilePod(key store.Key) error {
	pod, _, err := load[corev1.Pod](v.Store, resource.Pods, key)
	if err != nil || pod == nil || pod.DeletionTimestamp == nil {
		return err
	}
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "VirtualMachineInstance" {
		vmi, err := v.vmi(store.Key{Namespace: key.Namespace, Name: owner.Name})
		if err != nil || (vmi != nil && vmi.UID == owner.UID) {
			return err
		}
	}
	zero := int64(0)
	_, _, err = v.Store.Delete(resource.Pods, key, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	return ignoreNotFound(err)
}

// pickNode spreads instances over the nodes by their names, so that the same fleet always lies the same way;
// "" with the scheduler's reason when no node fits.
func (v *Virt) pickNode(vmi *vmiObject) (string, string) {
	var fit, all []string
	want := labels.SelectorFromSet(vmi.Spec.NodeSelector)
	for _, o := range v.Store.List(resource.Nodes).Objects {
		all = append(all, o.Meta.Name)
		var n corev1.Node
		if err := o.Into(&n); err == nil && want.Matches(labels.Set(n.Labels)) && !n.Spec.Unschedulable && n.Annotations[Down] != "true" {
			fit = append(fit, n.Name)
		}
	}
	if len(fit) == 0 {
		return "", fmt.Sprintf("0/%d nodes are available: %d node(s) didn't match Pod's node affinity/selector.", len(all), len(all))
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(vmi.Namespace + "/" + vmi.Name)) // never fails
	return fit[h.Sum32()%uint32(len(fit))], ""             //nolint:gosec // a handful of nodes
}

func (v *Virt) nodeDown(name string) bool {
	o, err := v.Store.Get(resource.Nodes, store.Key{Name: name})
	return err != nil || o.Meta.Annotations[Down] == "true"
}

// podReadiness is the Ready condition of a launcher pod, and so of its instance.
type podReadiness struct {
	status          corev1.ConditionStatus
	reason, message string
}

// readiness follows the readiness gate of a paused guest and the probe of its agent.
func (v *Virt) readiness(vmi *vmiObject, s sight) podReadiness {
	probe := vmi.Spec.ReadinessProbe
	switch {
	case vmiCondition(vmi, kubevirtv1.VirtualMachineInstancePaused, corev1.ConditionTrue):
		return podReadiness{corev1.ConditionFalse, "ReadinessGatesNotReady",
			fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but False", kubevirtv1.VirtualMachineUnpaused)}
	case probe != nil && probe.GuestAgentPing != nil && !s.agent:
		return podReadiness{corev1.ConditionFalse, "ContainersNotReady", "containers with unready status: [compute]"}
	}
	return podReadiness{status: corev1.ConditionTrue}
}

func (v *Virt) setPodUnschedulable(p *corev1.Pod, message string) {
	v.setPodCondition(p, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message})
}

func (v *Virt) setPodRunning(p *corev1.Pod, node string) {
	p.Spec.NodeName = node
	p.Status.Phase = corev1.PodRunning
	p.Status.PodIP = podIP(string(p.UID))
	now := v.now()
	p.Status.StartTime = &now
	v.setPodCondition(p, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
}

func (v *Virt) setPodReady(p *corev1.Pod, r podReadiness) {
	v.setPodCondition(p, corev1.PodCondition{Type: corev1.PodReady, Status: r.status, Reason: r.reason, Message: r.message})
}

func (v *Virt) setPodEnded(p *corev1.Pod, phase kubevirtv1.VirtualMachineInstancePhase) {
	p.Status.Phase = corev1.PodSucceeded
	if phase == kubevirtv1.Failed {
		p.Status.Phase = corev1.PodFailed
	}
	v.setPodReady(p, podReadiness{corev1.ConditionFalse, "PodCompleted", ""})
}

func (v *Virt) setPodCondition(p *corev1.Pod, c corev1.PodCondition) {
	i := slices.IndexFunc(p.Status.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type })
	c.LastTransitionTime = v.now()
	if i < 0 {
		p.Status.Conditions = append(p.Status.Conditions, c)
		return
	}
	if p.Status.Conditions[i].Status == c.Status {
		c.LastTransitionTime = p.Status.Conditions[i].LastTransitionTime
	}
	p.Status.Conditions[i] = c
}

// podIP makes up an address from a UID.
func podIP(uid string) string {
	h := 0
	for _, c := range strings.ReplaceAll(uid, "-", "") {
		h = (h*31 + int(c)) & 0xffff
	}
	return fmt.Sprintf("10.244.%d.%d", h>>8, max(h&0xff, 1))
}
