package node

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// statusPeriod is how often a kubelet writes its node's whole status, beside the lease.
const statusPeriod = 30 * time.Second

func (f *Fleet) register(ctx context.Context, name, address string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			"topology.kubernetes.io/zone": "zone-" + name[len("node-"):],
			"kubevirt.io/schedulable":     "true", "cpu-vendor.node.kubevirt.io/Intel": "true",
			"host-model-cpu.node.kubevirt.io/Skylake-Server": "true", "cpu-model.node.kubevirt.io/Skylake-Server": "true",
			"machine-type.node.kubevirt.io/q35": "true", "machine-type.node.kubevirt.io/pc-q35-rhel9.6.0": "true",
		},
		Annotations: map[string]string{"kubevirt.io/heartbeat": now()},
	}}
	_, err := f.kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return f.writeNode(ctx, name, address)
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// writeNode sets the whole status. Kubernetes' node life-cycle controller changes nodes at the same time, hence the retry.
func (f *Fleet) writeNode(ctx context.Context, name, address string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := f.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		q := resource.MustParse
		node.Status.Capacity = corev1.ResourceList{
			"cpu": q("32"), "memory": q("128Gi"), "pods": q("110"), "ephemeral-storage": q("500Gi"),
			"devices.kubevirt.io/kvm": q("1k"), "devices.kubevirt.io/tun": q("1k"), "devices.kubevirt.io/vhost-net": q("1k"),
		}
		node.Status.Allocatable = node.Status.Capacity
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name}}
		node.Status.NodeInfo = corev1.NodeSystemInfo{
			KubeletVersion: "v1.34.4-lab", OperatingSystem: "linux", Architecture: "amd64", OSImage: "lab", ContainerRuntimeVersion: "fake://0",
		}
		node.Status.Conditions = nodeConditions(node.Status.Conditions)
		_, err = f.kube.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

func nodeConditions(old []corev1.NodeCondition) []corev1.NodeCondition {
	at := metav1.Now()
	out := []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse},
	}
	for i := range out {
		out[i].LastHeartbeatTime, out[i].LastTransitionTime, out[i].Reason = at, at, "Lab"
		for _, c := range old {
			if c.Type == out[i].Type && c.Status == out[i].Status {
				out[i].LastTransitionTime = c.LastTransitionTime
			}
		}
	}
	return out
}

// heartbeat renews a node's lease while the node lives.
func (f *Fleet) heartbeat(ctx context.Context, name string) {
	tick := time.NewTicker(f.Heartbeat)
	defer tick.Stop()
	var written time.Time
	for {
		if !f.up(name) {
			written = time.Time{} // once it is back, its status is written at once
		} else if err := f.beat(ctx, name, &written); err != nil && ctx.Err() == nil {
			slog.Warn("heartbeat", "node", name, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (f *Fleet) beat(ctx context.Context, name string, written *time.Time) error {
	if err := f.renewLease(ctx, name); err != nil {
		return err
	}
	if time.Since(*written) < statusPeriod {
		return nil
	}
	if err := f.writeNode(ctx, name, f.address[name]); err != nil {
		return err
	}
	*written = time.Now()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"kubevirt.io/heartbeat":%q}}}`, now())
	_, err := f.kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (f *Fleet) renewLease(ctx context.Context, name string) error {
	leases := f.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	renewed, seconds := metav1.NewMicroTime(time.Now()), int32(40)
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec.RenewTime = &renewed
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}
