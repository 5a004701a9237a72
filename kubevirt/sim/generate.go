package sim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	cdiv1beta1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
)

// generatedNamespaces is over how many namespaces Generate spreads machines.
const generatedNamespaces = 4

// Generate makes n machines in the namespaces fleet-0 to fleet-3. Every second one runs; sizes, firmware and
// the number of NICs vary. The same n gives the same fleet.
func Generate(n int) (Fleet, error) {
	f := Fleet{}
	for i := range n {
		one, err := FleetOf(generatedVM(i))
		if err != nil {
			return f, err
		}
		f.objects = append(f.objects, one.objects...)
	}
	return f, nil
}

func generatedVM(i int) *kubevirtv1.VirtualMachine {
	name := fmt.Sprintf("vm-%05d", i)
	strategy := kubevirtv1.RunStrategyHalted
	if i%2 == 0 {
		strategy = kubevirtv1.RunStrategyAlways
	}
	grace := int64(180)
	vm := &kubevirtv1.VirtualMachine{
		TypeMeta:   metav1.TypeMeta{APIVersion: kubevirtv1.GroupVersion.String(), Kind: "VirtualMachine"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: fmt.Sprintf("fleet-%d", i%generatedNamespaces), Labels: map[string]string{"app": "fleet", "tier": fmt.Sprintf("t%d", i%3)}},
		Spec: kubevirtv1.VirtualMachineSpec{
			RunStrategy:         &strategy,
			DataVolumeTemplates: []kubevirtv1.DataVolumeTemplateSpec{generatedDisk(name+"-root", int64(20+20*(i%5)))},
			Template: &kubevirtv1.VirtualMachineInstanceTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "fleet"}},
				Spec: kubevirtv1.VirtualMachineInstanceSpec{
					TerminationGracePeriodSeconds: &grace,
					Domain:                        generatedDomain(i, name),
					Volumes: []kubevirtv1.Volume{{Name: "root", VolumeSource: kubevirtv1.VolumeSource{
						DataVolume: &kubevirtv1.DataVolumeSource{Name: name + "-root"}}}},
				},
			},
		},
	}
	nics := &vm.Spec.Template.Spec.Domain.Devices.Interfaces
	for n := range 1 + i%2 {
		nic := kubevirtv1.Interface{Name: fmt.Sprintf("net%d", n), Model: "virtio", MacAddress: fmt.Sprintf("02:%02x:%02x:%02x:00:%02x", i>>16&0xff, i>>8&0xff, i&0xff, n)}
		nic.Bridge = &kubevirtv1.InterfaceBridge{}
		*nics = append(*nics, nic)
		vm.Spec.Template.Spec.Networks = append(vm.Spec.Template.Spec.Networks, kubevirtv1.Network{Name: nic.Name,
			NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: fmt.Sprintf("machine-%d", n)}}})
	}
	return vm
}

func generatedDomain(i int, serial string) kubevirtv1.DomainSpec {
	memory := resource.MustParse(fmt.Sprintf("%dGi", 4<<(i%4)))
	d := kubevirtv1.DomainSpec{
		CPU:      &kubevirtv1.CPU{Sockets: 1, Cores: uint32(2 << (i % 3)), Threads: 1},
		Memory:   &kubevirtv1.Memory{Guest: &memory},
		Firmware: &kubevirtv1.Firmware{Serial: serial, Bootloader: &kubevirtv1.Bootloader{BIOS: &kubevirtv1.BIOS{}}},
	}
	if i%3 != 0 {
		d.Firmware.Bootloader = &kubevirtv1.Bootloader{EFI: &kubevirtv1.EFI{SecureBoot: new(false)}}
	}
	first := uint(1)
	d.Devices.Disks = []kubevirtv1.Disk{{Name: "root", BootOrder: &first, DiskDevice: kubevirtv1.DiskDevice{Disk: &kubevirtv1.DiskTarget{Bus: kubevirtv1.DiskBusVirtio}}}}
	return d
}

func generatedDisk(name string, gib int64) kubevirtv1.DataVolumeTemplateSpec {
	return kubevirtv1.DataVolumeTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: cdiv1beta1.DataVolumeSpec{
			Source: &cdiv1beta1.DataVolumeSource{HTTP: &cdiv1beta1.DataVolumeSourceHTTP{URL: "http://images.example.com/base.qcow2"}},
			Storage: &cdiv1beta1.StorageSpec{
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: new("standard"),
				Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(gib<<30, resource.BinarySI)}},
			},
		},
	}
}
