package node

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/reconcile"
)

const defaultGracePeriod = 30 * time.Second // KubeVirt's, for a VMI that names none

// vmi returns the cached VMI, nil when there is none. It may not be changed.
func (f *Fleet) vmi(key string) *v1.VirtualMachineInstance {
	if o, ok, _ := f.vmis.GetByKey(key); ok {
		return o.(*v1.VirtualMachineInstance)
	}
	return nil
}

func (f *Fleet) writeVMI(ctx context.Context, vmi *v1.VirtualMachineInstance) error {
	client := f.handlers[vmi.Status.NodeName]
	if client == nil {
		return fmt.Errorf("no virt-handler on node %q", vmi.Status.NodeName)
	}
	_, err := client.KubevirtV1().VirtualMachineInstances(vmi.Namespace).Update(ctx, vmi, metav1.UpdateOptions{})
	return err
}

// syncVMI is virt-handler's look at one VMI.
func (f *Fleet) syncVMI(ctx context.Context, key string) (time.Duration, error) {
	vmi := f.vmi(key)
	if vmi == nil || !f.up(vmi.Status.NodeName) {
		return 0, nil
	}
	f.wakePods(vmi)
	switch {
	case vmi.IsFinal():
		return 0, nil
	case vmi.Status.Phase != v1.Running && vmi.Status.Phase != v1.Scheduled:
		return 0, nil // not handed over to the node yet
	case vmi.DeletionTimestamp != nil:
		return f.shutdown(ctx, vmi, "VMI was deleted")
	case vmi.Status.Phase == v1.Scheduled:
		return f.startVMI(ctx, vmi.DeepCopy())
	}
	return f.runVMI(ctx, vmi.DeepCopy())
}

// wakePods lets the kubelet look at the pods of a VMI: their readiness and their end depend on it.
func (f *Fleet) wakePods(vmi *v1.VirtualMachineInstance) {
	for _, p := range f.podsOf(vmi) {
		f.podLoop.Add(p)
	}
}

func (f *Fleet) podsOf(vmi *v1.VirtualMachineInstance) []*corev1.Pod {
	var out []*corev1.Pod
	objects, _ := f.pods.ByIndex(byOwner, string(vmi.UID))
	for _, o := range objects {
		if p := o.(*corev1.Pod); isLauncher(p) {
			out = append(out, p)
		}
	}
	return out
}

// startVMI takes a Scheduled VMI to Running.
func (f *Fleet) startVMI(ctx context.Context, vmi *v1.VirtualMachineInstance) (time.Duration, error) {
	changed, again := f.hotplug(vmi)
	if changed || vmi.Status.SelinuxContext == "" {
		vmi.Status.SelinuxContext = "none" // without it virt-controller silently makes no attachment pod
		return again, f.writeVMI(ctx, vmi)
	}
	if !guest.HotplugMounted(vmi) {
		return again, nil
	}
	if left := guest.Delay(vmi, knob.BootTime, f.Delays.Boot) - f.memory.age(vmi.UID, "boot"); left > 0 {
		return left, nil
	}
	if vmi.Annotations[knob.StartFail] == "true" {
		return 0, f.finishVMI(ctx, vmi, v1.Failed, "told not to start")
	}
	f.describe(vmi)
	return 0, f.boot(ctx, vmi, "start")
}

// describe fills in what virt-handler knows once the domain runs.
func (f *Fleet) describe(vmi *v1.VirtualMachineInstance) {
	guest.SetPhase(vmi, v1.Running)
	guest.AddCondition(vmi, v1.VirtualMachineInstanceIsMigratable, "", "")
	guest.AddCondition(vmi, v1.VirtualMachineInstanceIsStorageLiveMigratable, "", "")
	if s := vmi.Spec.StartStrategy; s != nil && *s == v1.StartStrategyPaused {
		guest.AddCondition(vmi, v1.VirtualMachineInstancePaused, "PausedByUser", "VMI was paused by user")
	}
	vmi.Status.MigrationMethod = v1.BlockMigration
	vmi.Status.Machine = &v1.Machine{Type: "pc-q35-rhel9.6.0"}
	ip := ""
	for _, p := range f.podsOf(vmi) {
		ip = p.Status.PodIP
	}
	vmi.Status.Interfaces = nil
	for i, n := range vmi.Spec.Domain.Devices.Interfaces {
		mac := n.MacAddress
		if mac == "" {
			mac = fmt.Sprintf("02:00:00:%02x:%02x:%02x", vmi.UID[0], vmi.UID[1], i)
		}
		vmi.Status.Interfaces = append(vmi.Status.Interfaces, v1.VirtualMachineInstanceNetworkInterface{
			Name: n.Name, IP: ip, IPs: []string{ip}, MAC: mac, InfoSource: "domain", QueueCount: 1, PodInterfaceName: "eth0",
		})
	}
}

// runVMI looks at a running VMI: its volumes, then its guest, then the guest's agent.
func (f *Fleet) runVMI(ctx context.Context, vmi *v1.VirtualMachineInstance) (time.Duration, error) {
	changed, again := f.hotplug(vmi)
	if changed {
		return again, f.writeVMI(ctx, vmi)
	}
	if vmi.Annotations[knob.BootedFrom] == "" { // somebody removed it
		return again, f.boot(ctx, vmi, "unknown")
	}
	if guest.HasCondition(vmi, v1.VirtualMachineInstancePaused) {
		return again, nil
	}
	acted, wake, err := f.act(ctx, vmi)
	if acted || err != nil {
		return wake, err
	}
	again = reconcile.Sooner(again, wake)
	uptime := guest.Uptime(vmi, time.Now())
	want := guest.HasAgent(vmi, uptime, f.Delays.Agent)
	if want == guest.HasCondition(vmi, v1.VirtualMachineInstanceAgentConnected) {
		return reconcile.Sooner(again, f.Delays.Agent-uptime), nil
	}
	setAgent(vmi, want)
	return again, f.writeVMI(ctx, vmi)
}

func setAgent(vmi *v1.VirtualMachineInstance, connected bool) {
	if !connected {
		guest.DropCondition(vmi, v1.VirtualMachineInstanceAgentConnected)
		return
	}
	guest.AddCondition(vmi, v1.VirtualMachineInstanceAgentConnected, "", "")
	vmi.Status.GuestOSInfo = v1.VirtualMachineInstanceGuestOSInfo{
		ID: "fedora", Name: "Fedora Linux", PrettyName: "Fedora Linux 42", Version: "42", VersionID: "42", KernelRelease: "6.14.0", Machine: "x86_64",
	}
	for i := range vmi.Status.Interfaces {
		vmi.Status.Interfaces[i].InfoSource = "domain, guest-agent"
		vmi.Status.Interfaces[i].InterfaceName = fmt.Sprintf("eth%d", i)
	}
}

// shutdown looks at a guest that was asked to power off: it obeys after a while, or is killed when the grace period is over.
func (f *Fleet) shutdown(ctx context.Context, vmi *v1.VirtualMachineInstance, why string) (time.Duration, error) {
	grace := defaultGracePeriod
	if g := vmi.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	takes := guest.Delay(vmi, knob.ShutdownTime, f.Delays.Shutdown)
	age := f.memory.age(vmi.UID, "shutdown")
	obeys := guest.HearsACPI(vmi) && takes <= grace
	switch {
	case grace == 0:
		return 0, f.finishVMI(ctx, vmi, v1.Succeeded, why+", no grace period") // as virt-handler decides
	case obeys && age >= takes:
		return 0, f.finishVMI(ctx, vmi, v1.Succeeded, why)
	case obeys:
		return takes - age, nil
	case age >= grace:
		return 0, f.finishVMI(ctx, vmi, v1.Failed, why+", killed after the grace period")
	}
	return grace - age, nil
}

// finishVMI ends a VMI: its domain is gone.
func (f *Fleet) finishVMI(ctx context.Context, vmi *v1.VirtualMachineInstance, phase v1.VirtualMachineInstancePhase, why string) error {
	vmi = vmi.DeepCopy()
	guest.DropCondition(vmi, v1.VirtualMachineInstanceAgentConnected)
	guest.SetPhase(vmi, phase)
	err := f.writeVMI(ctx, vmi)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	slog.Info("VMI ended", "node", vmi.Status.NodeName, "vmi", vmi.Namespace+"/"+vmi.Name, "phase", phase, "why", why)
	return f.log(ctx, vmi, fmt.Sprintf("end=%s why=%q", phase, why))
}
