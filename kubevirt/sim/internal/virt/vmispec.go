package virt

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	kubevirtv1 "kubevirt.io/api/core/v1"

	sim "github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// machineType is what KubeVirt 1.9 gives an amd64 machine, in the template and resolved by QEMU.
const (
	machineType         = "q35"
	machineTypeResolved = "pc-q35-rhel9.6.0"
	architecture        = "amd64"
)

// guestOS is what every guest agent of the simulator reports.
var guestOS = kubevirtv1.VirtualMachineInstanceGuestOSInfo{
	ID: "fedora", Name: "Fedora Linux", PrettyName: "Fedora Linux 42 (Server Edition)", Version: "42 (Server Edition)", VersionID: "42",
	KernelRelease: "6.14.0-63.fc42.x86_64", KernelVersion: "#1 SMP PREEMPT_DYNAMIC", Machine: "x86_64",
}

// newVMI makes the instance of a VM: the template with instance type, preference and defaults applied.
func (v *Virt) newVMI(vm *vmObject) (*vmiObject, error) {
	template := vm.Spec.Template.Spec.DeepCopy()
	if err := v.expand(vm, template); err != nil {
		return nil, err
	}
	annotations := maps.Clone(vm.Spec.Template.ObjectMeta.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[kubevirtv1.VirtualMachineGenerationAnnotation] = strconv.FormatInt(vm.Generation, 10)
	vmi := &vmiObject{
		ObjectMeta: metav1.ObjectMeta{
			Name: vm.Name, Namespace: vm.Namespace, UID: uuid.NewUUID(), Annotations: annotations, Labels: maps.Clone(vm.Spec.Template.ObjectMeta.Labels),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vm, kubevirtv1.VirtualMachineGroupVersionKind)},
			Finalizers:      []string{kubevirtv1.VirtualMachineControllerFinalizer, kubevirtv1.VirtualMachineInstanceFinalizer},
		},
		Spec: *template,
	}
	setVMIDefaults(&vmi.Spec)
	if hasPausedStartRequest(vm) {
		paused := kubevirtv1.StartStrategyPaused
		vmi.Spec.StartStrategy = &paused
	}
	vmi.Status.VirtualMachineRevisionName = fmt.Sprintf("revision-start-vm-%s-%d", vm.UID, vm.Generation)
	v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionFalse, kubevirtv1.PodNotExistsReason, "virt-launcher pod has not yet been scheduled")
	v.setPhase(vmi, kubevirtv1.Pending)
	v.guests.use(keyOf(vmi), vmi.UID, func(in *instance) { in.template = vm.Spec.Template.Spec.DeepCopy() })
	return vmi, nil
}

func generationOf(vmi *vmiObject) int64 {
	n, err := strconv.ParseInt(vmi.Annotations[kubevirtv1.VirtualMachineGenerationAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// setVMIDefaults fills what KubeVirt's webhooks fill in an instance.
func setVMIDefaults(s *kubevirtv1.VirtualMachineInstanceSpec) {
	d := &s.Domain
	if s.Architecture == "" {
		s.Architecture = architecture
	}
	if d.Machine == nil || d.Machine.Type == "" {
		d.Machine = &kubevirtv1.Machine{Type: machineType}
	}
	setCPUDefaults(d)
	setMemoryDefaults(d)
	if d.Features == nil {
		d.Features = &kubevirtv1.Features{}
	}
	if d.Features.ACPI.Enabled == nil {
		on := true
		d.Features.ACPI.Enabled = &on
	}
	if d.Firmware == nil {
		d.Firmware = &kubevirtv1.Firmware{}
	}
	if d.Firmware.UUID == "" {
		d.Firmware.UUID = uuid.NewUUID()
	}
	if len(d.Devices.Interfaces) == 0 && len(s.Networks) == 0 && (d.Devices.AutoattachPodInterface == nil || *d.Devices.AutoattachPodInterface) {
		d.Devices.Interfaces = []kubevirtv1.Interface{*kubevirtv1.DefaultMasqueradeNetworkInterface()}
		s.Networks = []kubevirtv1.Network{*kubevirtv1.DefaultPodNetwork()}
	}
	if s.EvictionStrategy == nil {
		none := kubevirtv1.EvictionStrategyNone
		s.EvictionStrategy = &none
	}
}

func setCPUDefaults(d *kubevirtv1.DomainSpec) {
	if d.CPU == nil {
		d.CPU = &kubevirtv1.CPU{}
	}
	c := d.CPU
	if c.Sockets == 0 && c.Cores == 0 && c.Threads == 0 {
		c.Sockets = socketsFor(d.Resources)
	}
	c.Sockets, c.Cores, c.Threads = max(c.Sockets, 1), max(c.Cores, 1), max(c.Threads, 1)
	if c.Model == "" {
		c.Model = kubevirtv1.DefaultCPUModel
	}
}

// socketsFor counts one socket per CPU of the limits, else of the requests.
func socketsFor(r kubevirtv1.ResourceRequirements) uint32 {
	for _, list := range []corev1.ResourceList{r.Limits, r.Requests} {
		if cpu, ok := list[corev1.ResourceCPU]; ok {
			return uint32(max(cpu.Value(), 1)) //nolint:gosec // a count of CPUs
		}
	}
	return 1
}

func setMemoryDefaults(d *kubevirtv1.DomainSpec) {
	if d.Memory == nil {
		d.Memory = &kubevirtv1.Memory{}
	}
	if d.Memory.Guest == nil {
		for _, list := range []corev1.ResourceList{d.Resources.Requests, d.Resources.Limits} {
			if m, ok := list[corev1.ResourceMemory]; ok {
				d.Memory.Guest = &m
				break
			}
		}
	}
	if d.Memory.Guest == nil {
		m := resource.MustParse("8Mi") // KubeVirt's own last resort
		d.Memory.Guest = &m
	}
	if d.Resources.Requests == nil {
		d.Resources.Requests = corev1.ResourceList{}
	}
	if _, ok := d.Resources.Requests[corev1.ResourceMemory]; !ok {
		d.Resources.Requests[corev1.ResourceMemory] = *d.Memory.Guest
	}
}

// setRunning fills what virt-handler reports of a started domain.
func (v *Virt) setRunning(vmi *vmiObject) {
	d := &vmi.Spec.Domain
	s := &vmi.Status
	s.Machine = &kubevirtv1.Machine{Type: machineTypeResolved}
	if d.CPU != nil {
		s.CurrentCPUTopology = &kubevirtv1.CPUTopology{Sockets: d.CPU.Sockets, Cores: d.CPU.Cores, Threads: d.CPU.Threads}
	}
	if d.Memory != nil && d.Memory.Guest != nil {
		s.Memory = &kubevirtv1.MemoryStatus{GuestAtBoot: d.Memory.Guest, GuestCurrent: d.Memory.Guest, GuestRequested: d.Memory.Guest}
	}
	s.QOSClass = new(corev1.PodQOSBurstable)
	s.Interfaces = v.interfaceStatus(vmi)
	s.VolumeStatus = v.volumeStatus(vmi)
	s.SelinuxContext = "none"
	s.LauncherContainerImageVersion = "quay.io/kubevirt/virt-launcher:v1.9.0"
	migratable, reason, message := v.migratable(vmi)
	v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceIsMigratable, migratable, reason, message)
	v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionFalse, kubevirtv1.GuestNotRunningReason, "Guest VM is not reported as running")
	if vmi.Spec.StartStrategy != nil && *vmi.Spec.StartStrategy == kubevirtv1.StartStrategyPaused {
		v.setVMICondition(vmi, kubevirtv1.VirtualMachineInstancePaused, corev1.ConditionTrue, "PausedByUser", "VMI was paused by user")
	}
	v.setPhase(vmi, kubevirtv1.Running)
}

func (v *Virt) interfaceStatus(vmi *vmiObject) []kubevirtv1.VirtualMachineInstanceNetworkInterface {
	pods := map[string]bool{}
	for _, n := range vmi.Spec.Networks {
		pods[n.Name] = n.Pod != nil
	}
	var list []kubevirtv1.VirtualMachineInstanceNetworkInterface
	for i, nic := range vmi.Spec.Domain.Devices.Interfaces {
		st := kubevirtv1.VirtualMachineInstanceNetworkInterface{
			Name: nic.Name, MAC: nic.MacAddress, InfoSource: "domain", QueueCount: 1, LinkState: "up", PodInterfaceName: fmt.Sprintf("eth%d", i),
		}
		if st.MAC == "" {
			st.MAC = madeUpMAC(string(vmi.UID) + nic.Name) // another one at each start, as without a MAC pool
		}
		if pods[nic.Name] {
			st.IP = podIP(string(vmi.UID))
			st.IPs = []string{st.IP}
		}
		list = append(list, st)
	}
	return list
}

func madeUpMAC(seed string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(seed)) // never fails
	return net.HardwareAddr(h.Sum([]byte{2, 0})).String()
}

func (v *Virt) volumeStatus(vmi *vmiObject) []kubevirtv1.VolumeStatus {
	var list []kubevirtv1.VolumeStatus
	letters := map[string]byte{}
	for _, disk := range vmi.Spec.Domain.Devices.Disks {
		bus := busPrefix(disk)
		target := fmt.Sprintf("%s%c", bus, 'a'+letters[bus])
		letters[bus]++
		vol := volumeNamed(vmi.Spec.Volumes, disk.Name)
		if vol == nil {
			continue
		}
		st := kubevirtv1.VolumeStatus{Name: vol.Name, Target: target}
		if claim := claimName(vol); claim != "" {
			st.PersistentVolumeClaimInfo = v.claimInfo(vmi.Namespace, claim)
		} else {
			st.Size = madeUpSize(vol)
		}
		list = append(list, st)
	}
	return list
}

func busPrefix(d kubevirtv1.Disk) string {
	bus := kubevirtv1.DiskBusVirtio
	switch {
	case d.CDRom != nil:
		bus = d.CDRom.Bus
	case d.Disk != nil && d.Disk.Bus != "":
		bus = d.Disk.Bus
	}
	if bus == kubevirtv1.DiskBusVirtio {
		return "vd"
	}
	return "sd"
}

func madeUpSize(vol *kubevirtv1.Volume) int64 {
	if vol.ContainerDisk != nil {
		return 4 << 30
	}
	return 1 << 20
}

func (v *Virt) claimInfo(namespace, name string) *kubevirtv1.PersistentVolumeClaimInfo {
	pvc, _, err := load[corev1.PersistentVolumeClaim](v.Store, sim.PersistentVolumeClaims, store.Key{Namespace: namespace, Name: name})
	if err != nil || pvc == nil {
		return nil
	}
	return &kubevirtv1.PersistentVolumeClaimInfo{ClaimName: name, AccessModes: pvc.Spec.AccessModes, VolumeMode: pvc.Spec.VolumeMode,
		Capacity: pvc.Status.Capacity, Requests: pvc.Spec.Resources.Requests}
}

// migratable is false for an instance with a claim that only one node may use.
func (v *Virt) migratable(vmi *vmiObject) (corev1.ConditionStatus, string, string) {
	for _, st := range vmi.Status.VolumeStatus {
		if i := st.PersistentVolumeClaimInfo; i != nil && !slices.Contains(i.AccessModes, corev1.ReadWriteMany) {
			return corev1.ConditionFalse, kubevirtv1.VirtualMachineInstanceReasonDisksNotMigratable,
				fmt.Sprintf("cannot migrate VMI: PVC %s is not shared, live migration requires that all PVCs must be shared (using ReadWriteMany access mode)", i.ClaimName)
		}
	}
	return corev1.ConditionTrue, "", ""
}
