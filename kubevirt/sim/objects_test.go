package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// machine is a small VM in cp1 with an installed disk.
func machine(name string, strategy kubevirtv1.VirtualMachineRunStrategy, edits ...func(*kubevirtv1.VirtualMachine)) *kubevirtv1.VirtualMachine {
	memory := resource.MustParse("64Mi")
	grace := int64(60)
	vm := &kubevirtv1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "cp1"},
		Spec: kubevirtv1.VirtualMachineSpec{RunStrategy: &strategy, Template: &kubevirtv1.VirtualMachineInstanceTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}},
			Spec: kubevirtv1.VirtualMachineInstanceSpec{
				TerminationGracePeriodSeconds: &grace,
				Domain: kubevirtv1.DomainSpec{
					Memory: &kubevirtv1.Memory{Guest: &memory},
					Devices: kubevirtv1.Devices{
						Disks:      []kubevirtv1.Disk{{Name: "root", DiskDevice: kubevirtv1.DiskDevice{Disk: &kubevirtv1.DiskTarget{Bus: kubevirtv1.DiskBusVirtio}}}},
						Interfaces: []kubevirtv1.Interface{*kubevirtv1.DefaultMasqueradeNetworkInterface()},
					},
				},
				Networks: []kubevirtv1.Network{*kubevirtv1.DefaultPodNetwork()},
				Volumes:  []kubevirtv1.Volume{{Name: "root", VolumeSource: kubevirtv1.VolumeSource{ContainerDisk: &kubevirtv1.ContainerDiskSource{Image: "images.example.com/disk:1"}}}},
			},
		}},
	}
	for _, edit := range edits {
		edit(vm)
	}
	return vm
}

// guest describes the machine's guest.
func guest(key, value string) func(*kubevirtv1.VirtualMachine) {
	return func(vm *kubevirtv1.VirtualMachine) { vm.Spec.Template.ObjectMeta.Annotations[key] = value }
}

func template(edit func(*kubevirtv1.VirtualMachineInstanceSpec)) func(*kubevirtv1.VirtualMachine) {
	return func(vm *kubevirtv1.VirtualMachine) { edit(&vm.Spec.Template.Spec) }
}

func create(t *testing.T, c cluster, vm *kubevirtv1.VirtualMachine) *kubevirtv1.VirtualMachine {
	t.Helper()
	vm, err := c.virt.KubevirtV1().VirtualMachines(vm.Namespace).Create(t.Context(), vm, metav1.CreateOptions{})
	require.NoError(t, err)
	return vm
}

func createNamespace(t *testing.T, c cluster, name string) {
	t.Helper()
	_, err := c.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
}
