package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"
)

// Knobs of the lab's guests, see test/lab/programs/knob.
const (
	knobIgnoreACPI = "lab.kubevirt-redfish.io/ignore-acpi"
	knobStartFail  = "lab.kubevirt-redfish.io/start-fail"
	knobAgent      = "lab.kubevirt-redfish.io/agent"
	knobGuest      = "lab.kubevirt-redfish.io/guest"
	knobNodeDown   = "lab.kubevirt-redfish.io/down"
)

// machine describes a VirtualMachine with a disk and a NIC; its zero value is Halted.
type machine struct {
	strategy virtv1.VirtualMachineRunStrategy
	running  *bool // in the place of the strategy
	grace    int64 // seconds; 0 stands for 60
	knobs    map[string]string
	// change makes what is special.
	change func(*virtv1.VirtualMachine)
}

func (m machine) object(name string) *virtv1.VirtualMachine {
	if m.strategy == "" {
		m.strategy = virtv1.RunStrategyHalted
	}
	if m.grace == 0 {
		m.grace = 60
	}
	memory, first := resource.MustParse("64Mi"), uint(1)
	vm := &virtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: virtv1.VirtualMachineSpec{
		RunStrategy: &m.strategy,
		Template: &virtv1.VirtualMachineInstanceTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: m.knobs},
			Spec: virtv1.VirtualMachineInstanceSpec{
				TerminationGracePeriodSeconds: &m.grace,
				Domain: virtv1.DomainSpec{
					Memory: &virtv1.Memory{Guest: &memory},
					Devices: virtv1.Devices{
						Disks: []virtv1.Disk{{Name: "root", BootOrder: &first, DiskDevice: virtv1.DiskDevice{Disk: &virtv1.DiskTarget{Bus: virtv1.DiskBusVirtio}}}},
						Interfaces: []virtv1.Interface{{
							Name: "default", InterfaceBindingMethod: virtv1.InterfaceBindingMethod{Masquerade: &virtv1.InterfaceMasquerade{}},
						}},
					},
				},
				Networks: []virtv1.Network{*virtv1.DefaultPodNetwork()},
				Volumes: []virtv1.Volume{{Name: "root", VolumeSource: virtv1.VolumeSource{
					ContainerDisk: &virtv1.ContainerDiskSource{Image: "lab.invalid/disk:1"},
				}}},
			},
		},
	}}
	if m.running != nil {
		vm.Spec.RunStrategy, vm.Spec.Running = nil, m.running
	}
	if m.change != nil {
		m.change(vm)
	}
	return vm
}

// create makes the machine and returns its system id.
func (s *Space) create(t *testing.T, name string, m machine) string {
	t.Helper()
	_, err := s.virt.KubevirtV1().VirtualMachines(s.Name).Create(t.Context(), m.object(name), metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, name+" is there", func() bool { return s.vm(name) != nil })
	return s.Name + "." + name
}

// vm is the VirtualMachine; nil when there is none. It may be a moment old.
func (s *Space) vm(name string) *virtv1.VirtualMachine {
	found, _ := s.vms.get(name).(*virtv1.VirtualMachine)
	return found
}

// vmi is the VirtualMachineInstance; nil when there is none. It may be a moment old.
func (s *Space) vmi(name string) *virtv1.VirtualMachineInstance {
	found, _ := s.vmis.get(name).(*virtv1.VirtualMachineInstance)
	return found
}

// uid of the instance, empty when there is none.
func (s *Space) uid(name string) types.UID {
	if vmi := s.vmi(name); vmi != nil {
		return vmi.UID
	}
	return ""
}

// patience is for what takes a second or two when nothing else runs.
const patience = time.Minute

// eventually waits until it is so. It asks in the test's own goroutine, so that asking may fail the test.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !reached(); <-tick.C {
		require.True(t, time.Now().Before(deadline), "not within %s: %s", patience, what)
	}
}

// runs waits until the instance is Running and no request is pending.
func (s *Space) runs(t *testing.T, name string) *virtv1.VirtualMachineInstance {
	t.Helper()
	eventually(t, name+" runs", func() bool {
		vmi := s.vmi(name)
		return vmi != nil && vmi.Status.Phase == virtv1.Running
	})
	s.settled(t, name)
	return s.vmi(name)
}

// gone waits until there is no instance and no request is pending.
func (s *Space) gone(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" has no instance", func() bool { return s.vmi(name) == nil })
	s.settled(t, name)
}

func (s *Space) settled(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" has no request", func() bool {
		vm := s.vm(name)
		return vm != nil && len(vm.Status.StateChangeRequests) == 0
	})
}

// stop is the stop of a user other than the product.
func (s *Space) stop(t *testing.T, name string, grace *int64) {
	t.Helper()
	require.NoError(t, s.virt.KubevirtV1().VirtualMachines(s.Name).Stop(t.Context(), name, &virtv1.StopOptions{GracePeriod: grace}))
}

// ending waits until the instance is on its way down.
func (s *Space) ending(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" shuts down", func() bool {
		vmi := s.vmi(name)
		return vmi != nil && vmi.DeletionTimestamp != nil
	})
}

// guest makes the guest do something by itself: shutdown, crash or hang.
func (s *Space) guest(t *testing.T, name, what string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, knobGuest, what)
	_, err := s.virt.KubevirtV1().VirtualMachineInstances(s.Name).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

// onSpare puts a machine on the spare node.
func onSpare(vm *virtv1.VirtualMachine) {
	spec := &vm.Spec.Template.Spec
	spec.NodeSelector = map[string]string{corev1.LabelHostname: spareNode}
	spec.Tolerations = []corev1.Toleration{{Key: spareTaint, Operator: corev1.TolerationOpExists}}
}

// restoreSpare brings the spare node back.
func (s *Space) restoreSpare(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	require.NoError(t, s.patchNode(ctx, spareNode, `{"metadata": {"annotations": {"`+knobNodeDown+`": null}}}`))
	eventually(t, spareNode+" is back", func() bool {
		node, err := s.kube.CoreV1().Nodes().Get(ctx, spareNode, metav1.GetOptions{})
		require.NoError(t, err)
		return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	})
}
