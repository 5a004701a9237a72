package virt

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

const defaultGrace = 30 // seconds, when the instance has no terminationGracePeriodSeconds

// reconcileVMI does the next step in the life of an instance.
func (v *Virt) reconcileVMI(key store.Key) error {
	vmi, err := v.vmi(key)
	if err != nil {
		return err
	}
	if vmi == nil {
		v.guests.forget(key)
		return nil
	}
	var since time.Duration
	v.guests.use(key, vmi.UID, func(in *instance) { since = in.enter(vmi.Status.Phase, v.Clock.Now()) })
	switch vmi.Status.Phase {
	case kubevirtv1.VmPhaseUnset, kubevirtv1.Pending:
		return v.admitToNode(vmi)
	case kubevirtv1.Scheduling:
		return v.schedule(vmi, since)
	case kubevirtv1.Scheduled:
		return v.launch(vmi, since)
	case kubevirtv1.Running:
		return v.run(vmi)
	}
	return v.cleanUp(vmi)
}

// changeVMI writes metadata and status, if f changed anything.
func (v *Virt) changeVMI(vmi *vmiObject, f func(*vmiObject)) error {
	_, err := change(v.Store, resource.VirtualMachineInstances, keyOf(vmi), meta|status, func(cur *vmiObject) error {
		if cur.UID != vmi.UID {
			return errStop
		}
		before := cur.DeepCopy()
		f(cur)
		if equality.Semantic.DeepEqual(before, cur) {
			return errStop
		}
		return nil
	})
	return err
}

func (v *Virt) setPhase(vmi *vmiObject, p kubevirtv1.VirtualMachineInstancePhase) {
	vmi.Status.Phase = p
	vmi.Status.PhaseTransitionTimestamps = append(vmi.Status.PhaseTransitionTimestamps,
		kubevirtv1.VirtualMachineInstancePhaseTransitionTimestamp{Phase: p, PhaseTransitionTimestamp: v.now()})
}

// admitToNode waits for the volumes and makes the launcher pod.
func (v *Virt) admitToNode(vmi *vmiObject) error {
	if vmi.DeletionTimestamp != nil {
		return v.finish(vmi, kubevirtv1.Failed)
	}
	state, message := v.volumesReady(vmi)
	switch state {
	case volumesFailed:
		return v.finish(vmi, kubevirtv1.Failed)
	case volumesWait:
		return nil // a change of the volume comes back here
	case volumesMissing:
		return v.changeVMI(vmi, func(vmi *vmiObject) {
			v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceSynchronized, corev1.ConditionFalse, reasonNoClaim, message)
		})
	}
	pod := newLauncher(vmi)
	if err := create(v.Store, resource.Pods, pod); err != nil {
		return err
	}
	v.guests.use(keyOf(vmi), vmi.UID, func(in *instance) { in.pod = pod.Name })
	return v.changeVMI(vmi, func(vmi *vmiObject) {
		v.setScheduling(vmi, pod)
	})
}

func (v *Virt) setScheduling(vmi *vmiObject, pod *corev1.Pod) {
	removeVMICondition(vmi, kubevirtv1.VirtualMachineInstanceSynchronized)
	vmi.Status.ActivePods = map[typesUID]string{pod.UID: ""}
	v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionFalse, kubevirtv1.GuestNotRunningReason, "Guest VM is not reported as running")
	v.setPhase(vmi, kubevirtv1.Scheduling)
}

// schedule finds a node for the launcher pod.
func (v *Virt) schedule(vmi *vmiObject, since time.Duration) error {
	if vmi.DeletionTimestamp != nil {
		return v.finish(vmi, kubevirtv1.Failed)
	}
	if v.waits(vmi, v.Delays.Schedule-since) {
		return nil
	}
	node, reason := v.pickNode(vmi)
	if node == "" {
		if err := v.changeLauncher(vmi, func(p *corev1.Pod) { v.setPodUnschedulable(p, reason) }); err != nil {
			return err
		}
		return v.changeVMI(vmi, func(vmi *vmiObject) {
			v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceConditionType(corev1.PodScheduled), corev1.ConditionFalse, corev1.PodReasonUnschedulable, reason)
		})
	}
	if err := v.changeLauncher(vmi, func(p *corev1.Pod) { v.setPodRunning(p, node) }); err != nil {
		return err
	}
	return v.changeVMI(vmi, func(vmi *vmiObject) { v.setScheduled(vmi, node) })
}

func (v *Virt) setScheduled(vmi *vmiObject, node string) {
	removeVMICondition(vmi, kubevirtv1.VirtualMachineInstanceConditionType(corev1.PodScheduled))
	vmi.Status.NodeName = node
	for uid := range vmi.Status.ActivePods {
		vmi.Status.ActivePods[uid] = node
	}
	if vmi.Labels == nil {
		vmi.Labels = map[string]string{}
	}
	vmi.Labels[kubevirtv1.NodeNameLabel] = node
	v.setPhase(vmi, kubevirtv1.Scheduled)
}

// launch starts the hypervisor.
func (v *Virt) launch(vmi *vmiObject, since time.Duration) error {
	if vmi.DeletionTimestamp != nil {
		return v.finish(vmi, kubevirtv1.Succeeded)
	}
	if v.waits(vmi, v.Delays.Launch-since) {
		return nil
	}
	b := v.behaviour(vmi)
	if b.StartFail {
		return v.finish(vmi, kubevirtv1.Failed)
	}
	v.powerOn(vmi, b)
	return v.changeVMI(vmi, v.setRunning)
}

func (v *Virt) powerOn(vmi *vmiObject, b guest.Behaviour) {
	m := v.machine(vmi)
	v.guests.use(keyOf(vmi), vmi.UID, func(in *instance) {
		now := v.Clock.Now()
		in.guest = guest.Start(m, b, now)
		in.enter(kubevirtv1.Running, now)
		if vmi.Spec.StartStrategy != nil && *vmi.Spec.StartStrategy == kubevirtv1.StartStrategyPaused {
			in.guest.Pause(now)
		}
	})
}

// waits tells whether a step is not due yet, and comes back when it is.
func (v *Virt) waits(vmi *vmiObject, d time.Duration) bool {
	if d <= 0 {
		return false
	}
	v.enqueueAfter(resource.VirtualMachineInstances, keyOf(vmi), d)
	return true
}

// finish ends an instance and its pod.
func (v *Virt) finish(vmi *vmiObject, phase kubevirtv1.VirtualMachineInstancePhase) error {
	if err := v.changeLauncher(vmi, func(p *corev1.Pod) { v.setPodEnded(p, phase) }); err != nil {
		return err
	}
	return v.changeVMI(vmi, func(vmi *vmiObject) {
		if vmi.IsFinal() {
			return
		}
		delete(vmi.Annotations, Do)
		for _, c := range []kubevirtv1.VirtualMachineInstanceConditionType{kubevirtv1.VirtualMachineInstanceAgentConnected,
			kubevirtv1.VirtualMachineInstancePaused, kubevirtv1.VirtualMachineInstanceConditionType(corev1.PodScheduled)} {
			removeVMICondition(vmi, c)
		}
		v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionFalse, kubevirtv1.PodTerminatingReason, "virt-launcher pod is terminating")
		v.setPhase(vmi, phase)
	})
}

// cleanUp removes what is left of an ended instance once somebody deleted it or its pod.
func (v *Virt) cleanUp(vmi *vmiObject) error {
	pod, err := v.launcher(vmi)
	if err != nil {
		return err
	}
	if pod != nil && (vmi.DeletionTimestamp != nil || pod.DeletionTimestamp != nil) {
		zero := int64(0)
		if _, _, err := v.Store.Delete(resource.Pods, keyOf(pod), metav1.DeleteOptions{GracePeriodSeconds: &zero}); ignoreNotFound(err) != nil {
			return err
		}
	}
	if vmi.DeletionTimestamp == nil {
		return nil
	}
	return v.removeFinalizer(vmi, kubevirtv1.VirtualMachineInstanceFinalizer)
}

func (v *Virt) setVMICondition(vmi *vmiObject, t kubevirtv1.VirtualMachineInstanceConditionType, s corev1.ConditionStatus, reason, message string) {
	c := kubevirtv1.VirtualMachineInstanceCondition{Type: t, Status: s, Reason: reason, Message: message, LastTransitionTime: v.now()}
	for i, old := range vmi.Status.Conditions {
		if old.Type == t {
			if old.Status == s {
				c.LastTransitionTime = old.LastTransitionTime
			}
			vmi.Status.Conditions[i] = c
			return
		}
	}
	vmi.Status.Conditions = append(vmi.Status.Conditions, c)
}

func removeVMICondition(vmi *vmiObject, t kubevirtv1.VirtualMachineInstanceConditionType) {
	vmi.Status.Conditions = slices.DeleteFunc(vmi.Status.Conditions, func(c kubevirtv1.VirtualMachineInstanceCondition) bool { return c.Type == t })
}
