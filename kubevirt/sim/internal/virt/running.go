package virt

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
)

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
