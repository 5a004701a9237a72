package node

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/guest"
)

// syncPod is the kubelet's look at one pod.
func (f *Fleet) syncPod(ctx context.Context, key string) (time.Duration, error) {
	o, ok, _ := f.pods.GetByKey(key)
	if !ok {
		return 0, nil
	}
	p := o.(*corev1.Pod)
	if !f.up(p.Spec.NodeName) {
		return 0, nil
	}
	switch {
	case p.DeletionTimestamp != nil:
		return f.terminatePod(ctx, p)
	case finished(p):
		f.memory.forget(p.UID)
		return 0, nil
	case p.Status.Phase != corev1.PodRunning:
		return f.startPod(ctx, p)
	}
	if vmi := f.vmiOf(p); vmi != nil && vmi.IsFinal() {
		return 0, f.finishPod(ctx, p) // the domain is gone, virt-launcher exits
	}
	p = p.DeepCopy()
	if !f.setReadiness(p) {
		return 0, nil
	}
	return 0, f.writePod(ctx, p)
}

// terminatePod is what SIGTERM does: virt-launcher shuts its guest down, and is killed when the pod's own grace period is over
// first; any other program ends at once.
func (f *Fleet) terminatePod(ctx context.Context, p *corev1.Pod) (time.Duration, error) {
	if !isLauncher(p) || finished(p) {
		return 0, f.removePod(ctx, p)
	}
	vmi := f.vmiOf(p)
	if vmi == nil || vmi.IsFinal() || vmi.Status.NodeName == "" {
		return 0, f.finishPod(ctx, p)
	}
	if grace := p.DeletionGracePeriodSeconds; grace != nil {
		left := time.Duration(*grace)*time.Second - f.memory.age(p.UID, "terminating")
		if left <= 0 {
			return 0, f.finishVMI(ctx, vmi, v1.Failed, "launcher pod was killed")
		}
		again, err := f.shutdown(ctx, vmi, "launcher pod was deleted")
		return min(again, left), err
	}
	return f.shutdown(ctx, vmi, "launcher pod was deleted")
}

func (f *Fleet) removePod(ctx context.Context, p *corev1.Pod) error {
	err := f.kube.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &p.UID},
	})
	f.memory.forget(p.UID)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // already gone, or another pod of that name
	}
	return err
}

func (f *Fleet) startPod(ctx context.Context, p *corev1.Pod) (time.Duration, error) {
	if left := f.Delays.PodStart - f.memory.age(p.UID, "start"); left > 0 {
		return left, nil
	}
	p = p.DeepCopy()
	started := metav1.Now()
	p.Status.Phase, p.Status.StartTime, p.Status.HostIP = corev1.PodRunning, &started, f.address[p.Spec.NodeName]
	p.Status.PodIP = f.podIP(p)
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}
	p.Status.InitContainerStatuses = initStatuses(p, running)
	p.Status.ContainerStatuses = containerStatuses(p, running, true)
	setPodCondition(p, corev1.PodInitialized, corev1.ConditionTrue)
	f.setReadiness(p)
	return 0, f.writePod(ctx, p)
}

// podIP is an address that nobody dials, but for virt-handler's: there our endpoint listens.
func (f *Fleet) podIP(p *corev1.Pod) string {
	if p.Labels[v1.AppLabel] == "virt-handler" {
		return f.address[p.Spec.NodeName]
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.UID))
	sum := h.Sum32()
	return fmt.Sprintf("10.244.%d.%d", sum>>8&0xff, 1+sum%250)
}

func (f *Fleet) finishPod(ctx context.Context, p *corev1.Pod) error {
	p = p.DeepCopy()
	p.Status.Phase = corev1.PodSucceeded
	p.Status.ContainerStatuses = containerStatuses(p, corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now()},
	}, false)
	setPodCondition(p, corev1.ContainersReady, corev1.ConditionFalse)
	setPodCondition(p, corev1.PodReady, corev1.ConditionFalse)
	return f.writePod(ctx, p)
}

func (f *Fleet) writePod(ctx context.Context, p *corev1.Pod) error {
	_, err := f.kube.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// setReadiness works out the ready conditions of a running pod, from its readiness gates and a readiness probe of the guest.
// True means that they changed.
func (f *Fleet) setReadiness(p *corev1.Pod) bool {
	ready := corev1.ConditionTrue
	for i, c := range p.Spec.Containers {
		if !isLauncher(p) || c.Name != "compute" || c.ReadinessProbe == nil || i >= len(p.Status.ContainerStatuses) {
			continue
		}
		p.Status.ContainerStatuses[i].Ready = f.probe(p, c.ReadinessProbe)
		if !p.Status.ContainerStatuses[i].Ready {
			ready = corev1.ConditionFalse
		}
	}
	changed := setPodCondition(p, corev1.ContainersReady, ready)
	for _, gate := range p.Spec.ReadinessGates {
		if !podConditionTrue(p, gate.ConditionType) {
			ready = corev1.ConditionFalse
		}
	}
	return setPodCondition(p, corev1.PodReady, ready) || changed
}

func (f *Fleet) probe(p *corev1.Pod, probe *corev1.Probe) bool {
	vmi := f.vmiOf(p)
	if vmi == nil {
		return false
	}
	return guest.IsReady(vmi, probe.Exec != nil, guest.Uptime(vmi, time.Now()), f.Delays.Agent)
}

// vmiOf is the VMI that a launcher pod belongs to, nil when it is gone.
func (f *Fleet) vmiOf(p *corev1.Pod) *v1.VirtualMachineInstance {
	owner := metav1.GetControllerOf(p)
	if owner == nil || !isLauncher(p) {
		return nil
	}
	vmi := f.vmi(p.Namespace + "/" + owner.Name)
	if vmi == nil || vmi.UID != owner.UID {
		return nil
	}
	return vmi
}
