package virt

import (
	"fmt"

	kubevirtv1 "kubevirt.io/api/core/v1"
	instancetypev1beta1 "kubevirt.io/api/instancetype/v1beta1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// expand applies the VM's instance type and preference to a copy of its template.
func (v *Virt) expand(vm *vmObject, s *kubevirtv1.VirtualMachineInstanceSpec) error {
	if err := v.expandInstanceType(vm, s); err != nil {
		return err
	}
	return v.expandPreference(vm, s)
}

func (v *Virt) expandInstanceType(vm *vmObject, s *kubevirtv1.VirtualMachineInstanceSpec) error {
	m := vm.Spec.Instancetype
	if m == nil {
		return nil
	}
	t, key := resource.ClusterInstanceTypes, store.Key{Name: m.Name}
	if m.Kind == resource.InstanceTypes.Kind || m.Kind == resource.InstanceTypes.Singular {
		t, key.Namespace = resource.InstanceTypes, vm.Namespace
	}
	// both kinds have the same content
	it, _, err := load[instancetypev1beta1.VirtualMachineInstancetype](v.Store, t, key)
	if err != nil {
		return err
	}
	if it == nil {
		return fmt.Errorf("%s.%s %q not found", t.Plural, t.Group, m.Name)
	}
	preferred := s.Domain.CPU
	s.Domain.CPU = &kubevirtv1.CPU{Sockets: it.Spec.CPU.Guest, Cores: 1, Threads: 1}
	if preferred != nil {
		s.Domain.CPU.Model, s.Domain.CPU.Features = preferred.Model, preferred.Features
	}
	if it.Spec.CPU.Model != nil {
		s.Domain.CPU.Model = *it.Spec.CPU.Model
	}
	guest := it.Spec.Memory.Guest.DeepCopy()
	s.Domain.Memory = &kubevirtv1.Memory{Guest: &guest, Hugepages: it.Spec.Memory.Hugepages}
	if it.Spec.IOThreadsPolicy != nil {
		s.Domain.IOThreadsPolicy = it.Spec.IOThreadsPolicy
	}
	return nil
}

func (v *Virt) expandPreference(vm *vmObject, s *kubevirtv1.VirtualMachineInstanceSpec) error {
	m := vm.Spec.Preference
	if m == nil {
		return nil
	}
	t, key := resource.ClusterPreferences, store.Key{Name: m.Name}
	if m.Kind == resource.Preferences.Kind || m.Kind == resource.Preferences.Singular {
		t, key.Namespace = resource.Preferences, vm.Namespace
	}
	p, _, err := load[instancetypev1beta1.VirtualMachinePreference](v.Store, t, key)
	if err != nil {
		return err
	}
	if p == nil {
		return fmt.Errorf("%s.%s %q not found", t.Plural, t.Group, m.Name)
	}
	prefer(&p.Spec, s)
	return nil
}

// prefer fills what the template leaves open.
func prefer(p *instancetypev1beta1.VirtualMachinePreferenceSpec, s *kubevirtv1.VirtualMachineInstanceSpec) {
	d := &s.Domain
	if p.CPU != nil && p.CPU.PreferredCPUTopology != nil && d.CPU != nil {
		spread(*p.CPU.PreferredCPUTopology, d.CPU)
	}
	if p.Machine != nil && d.Machine == nil && p.Machine.PreferredMachineType != "" {
		d.Machine = &kubevirtv1.Machine{Type: p.Machine.PreferredMachineType}
	}
	if p.Firmware != nil && p.Firmware.PreferredEfi != nil {
		preferEFI(p.Firmware.PreferredEfi, d)
	}
	if p.Devices != nil {
		preferDevices(p.Devices, &d.Devices)
	}
}

func preferEFI(efi *kubevirtv1.EFI, d *kubevirtv1.DomainSpec) {
	if d.Firmware == nil {
		d.Firmware = &kubevirtv1.Firmware{}
	}
	if d.Firmware.Bootloader == nil {
		d.Firmware.Bootloader = &kubevirtv1.Bootloader{EFI: efi.DeepCopy()}
	}
}

func preferDevices(p *instancetypev1beta1.DevicePreferences, d *kubevirtv1.Devices) {
	for i := range d.Disks {
		switch disk := &d.Disks[i]; {
		case disk.CDRom != nil && disk.CDRom.Bus == "":
			disk.CDRom.Bus = p.PreferredCdromBus
		case disk.Disk != nil && disk.Disk.Bus == "":
			disk.Disk.Bus = p.PreferredDiskBus
		}
	}
	for i := range d.Interfaces {
		if d.Interfaces[i].Model == "" {
			d.Interfaces[i].Model = p.PreferredInterfaceModel
		}
	}
}

// spread turns an instance type's CPUs, which come as sockets, into the preferred topology.
func spread(t instancetypev1beta1.PreferredCPUTopology, c *kubevirtv1.CPU) {
	switch t {
	case instancetypev1beta1.Cores, instancetypev1beta1.DeprecatedPreferCores:
		c.Sockets, c.Cores = c.Cores, c.Sockets
	case instancetypev1beta1.Threads, instancetypev1beta1.DeprecatedPreferThreads:
		c.Sockets, c.Threads = c.Threads, c.Sockets
	}
}
