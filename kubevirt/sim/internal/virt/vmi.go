package virt

import (
	"slices"
	"strconv"
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

// run looks at a running guest.
func (v *Virt) run(vmi *vmiObject) error {
	if v.nodeDown(vmi.Status.NodeName) {
		return v.nodeLost(vmi)
	}
	pod, err := v.launcher(vmi)
	if err != nil {
		return err
	}
	if pod == nil {
		return v.finish(vmi, kubevirtv1.Failed) // removed without grace: the process is gone
	}
	seen := v.look(vmi, pod)
	if seen.end != "" {
		return v.finish(vmi, seen.end)
	}
	if !seen.wake.IsZero() {
		v.enqueueAfter(resource.VirtualMachineInstances, keyOf(vmi), max(seen.wake.Sub(v.Clock.Now()), time.Millisecond))
	}
	ready := v.readiness(vmi, seen)
	if err := v.changeLauncher(vmi, func(p *corev1.Pod) { v.setPodReady(p, ready) }); err != nil {
		return err
	}
	return v.changeVMI(vmi, func(vmi *vmiObject) { v.reportGuest(vmi, seen, ready) })
}

// sight is what the node sees of a guest.
type sight struct {
	end    kubevirtv1.VirtualMachineInstancePhase // "" while it runs
	agent  bool
	boots  int
	booted string
	did    string    // the Do annotation that was carried out
	wake   time.Time // when to look again, zero for not before something happens
}

// look lets the guest react to what is asked of it.
func (v *Virt) look(vmi *vmiObject, pod *corev1.Pod) sight {
	var s sight
	v.guests.use(keyOf(vmi), vmi.UID, func(in *instance) {
		now := v.Clock.Now()
		if in.guest == nil { // an instance that was there before this process
			in.guest = guest.Start(v.machine(vmi), v.behaviour(vmi), now.Add(-settled))
		}
		in.guest.Behave(v.behaviour(vmi))
		s.did = vmi.Annotations[Do]
		act(in.guest, s.did, now)
		deadline, grace := in.stop(vmi, pod, now)
		switch state := in.guest.State(now); {
		case state == guest.Off:
			s.end = kubevirtv1.Succeeded
		case state == guest.Crashed:
			s.end = kubevirtv1.Failed
		case !deadline.IsZero() && !now.Before(deadline):
			s.end = kubevirtv1.Failed
			if grace == 0 {
				s.end = kubevirtv1.Succeeded
			}
		}
		s.agent, s.boots, s.booted = in.guest.Agent(now), in.guest.Boots(), bootedFrom(in.guest.BootedFrom())
		s.wake = in.guest.NextChange(now)
		if !deadline.IsZero() && (s.wake.IsZero() || deadline.Before(s.wake)) {
			s.wake = deadline
		}
	})
	return s
}

// act does what the Do annotation says.
func act(g *guest.Guest, what string, now time.Time) {
	switch what {
	case "shutdown":
		g.End(guest.Off)
	case "crash":
		g.End(guest.Crashed)
	case "reboot":
		g.Reset(now)
	}
}

// stop presses the button of an instance that is to end, and returns when and with which grace period, in
// seconds, it is killed; zero while nobody stops it.
func (in *instance) stop(vmi *vmiObject, pod *corev1.Pod, now time.Time) (time.Time, int64) {
	if vmi.DeletionTimestamp == nil && pod.DeletionTimestamp == nil {
		return time.Time{}, 0
	}
	if in.stopping.IsZero() {
		in.stopping = now
	}
	in.guest.PowerButton(now)
	grace := int64(defaultGrace)
	if g := vmi.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = *g
	}
	deadline := in.stopping.Add(time.Duration(grace) * time.Second)
	if g := pod.DeletionGracePeriodSeconds; g != nil && *g < grace {
		if kill := in.stopping.Add(time.Duration(*g) * time.Second); kill.Before(deadline) {
			return kill, max(*g, 1) // killed with its pod, which is never a clean end
		}
	}
	return deadline, grace
}

// reportGuest writes what is seen into the status.
func (v *Virt) reportGuest(vmi *vmiObject, s sight, ready podReadiness) {
	if vmi.Annotations == nil {
		vmi.Annotations = map[string]string{}
	}
	if vmi.Annotations[Do] == s.did { // another one may have come meanwhile
		delete(vmi.Annotations, Do)
	}
	vmi.Annotations[BootedFrom], vmi.Annotations[Boots] = s.booted, strconv.Itoa(s.boots)
	v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceReady, ready.status, ready.reason, ready.message)
	if !s.agent {
		removeVMICondition(vmi, kubevirtv1.VirtualMachineInstanceAgentConnected)
		vmi.Status.GuestOSInfo = kubevirtv1.VirtualMachineInstanceGuestOSInfo{}
		return
	}
	v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceAgentConnected, corev1.ConditionTrue, "", "")
	vmi.Status.GuestOSInfo = guestOS
}

// nodeLost is what is left to see of an instance on a dead node: it stays Running.
func (v *Virt) nodeLost(vmi *vmiObject) error {
	lost := podReadiness{status: corev1.ConditionFalse}
	if err := v.changeLauncher(vmi, func(p *corev1.Pod) { v.setPodReady(p, lost) }); err != nil {
		return err
	}
	return v.changeVMI(vmi, func(vmi *vmiObject) {
		v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceReady, lost.status, lost.reason, lost.message)
	})
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
