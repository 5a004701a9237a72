package node

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"
)

func isLauncher(p *corev1.Pod) bool { return p.Labels[v1.AppLabel] == "virt-launcher" }

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func containerStatuses(p *corev1.Pod, state corev1.ContainerState, ready bool) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range p.Spec.Containers {
		out = append(out, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "lab://" + c.Image, ContainerID: "lab://" + string(p.UID), Ready: ready, Started: &ready, State: state,
		})
	}
	return out
}

// initStatuses are those of init containers that are done, or run on when they are sidecars (as that of a container disk).
func initStatuses(p *corev1.Pod, running corev1.ContainerState) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	for _, c := range p.Spec.InitContainers {
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		status := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true, State: done}
		if sidecar {
			status.Started, status.State = &sidecar, running
		}
		out = append(out, status)
	}
	return out
}

func podConditionTrue(p *corev1.Pod, t corev1.PodConditionType) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == t {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// setPodCondition returns whether that changed something.
func setPodCondition(p *corev1.Pod, t corev1.PodConditionType, status corev1.ConditionStatus) bool {
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		if c.Type != t {
			continue
		}
		if c.Status == status {
			return false
		}
		c.Status, c.LastTransitionTime = status, metav1.Now()
		return true
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: t, Status: status, LastTransitionTime: metav1.Now()})
	return true
}
