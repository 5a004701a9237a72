package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	instancetypev1beta1 "kubevirt.io/api/instancetype/v1beta1"
	"kubevirt.io/client-go/containerizeddataimporter"
	cdiv1beta1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

func volumeFrom(source kubevirtv1.VolumeSource) func(*kubevirtv1.VirtualMachine) {
	return template(func(s *kubevirtv1.VirtualMachineInstanceSpec) { s.Volumes[0].VolumeSource = source })
}

func dataVolume(name, class string) *cdiv1beta1.DataVolume {
	return &cdiv1beta1.DataVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "cp1"}, Spec: cdiv1beta1.DataVolumeSpec{
		Source: &cdiv1beta1.DataVolumeSource{HTTP: &cdiv1beta1.DataVolumeSourceHTTP{URL: "http://images.example.com/x"}},
		Storage: &cdiv1beta1.StorageSpec{StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}}
}

func TestInstanceWaitsForItsDataVolume(t *testing.T) {
	for name, tc := range map[string]struct {
		class string
		first kubevirtv1.VirtualMachinePrintableStatus
	}{
		"imported at once":       {"standard", kubevirtv1.VirtualMachineStatusProvisioning},
		"imported when consumed": {"local", kubevirtv1.VirtualMachineStatusProvisioning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, sim.Options{Delays: &sim.Delays{Import: 300 * time.Millisecond}})
			cdi, err := containerizeddataimporter.NewForConfig(c.RESTConfig())
			require.NoError(t, err)
			createNamespace(t, c, "cp1")
			create(t, c, machine("m", "Halted", volumeFrom(kubevirtv1.VolumeSource{DataVolume: &kubevirtv1.DataVolumeSource{Name: "disk"}})))
			_, err = cdi.CdiV1beta1().DataVolumes("cp1").Create(t.Context(), dataVolume("disk", tc.class), metav1.CreateOptions{})
			require.NoError(t, err)
			phase := func() cdiv1beta1.DataVolumePhase {
				dv, err := cdi.CdiV1beta1().DataVolumes("cp1").Get(t.Context(), "disk", metav1.GetOptions{})
				require.NoError(t, err)
				return dv.Status.Phase
			}
			p := &powerCase{cluster: c, name: "m"}
			if tc.class == "local" {
				until(t, func() bool {
					return phase() == cdiv1beta1.WaitForFirstConsumer && p.status(t) == kubevirtv1.VirtualMachineStatusStopped
				})
			}
			code, text := p.call(t, "start")
			require.Equal(t, 202, code, text)
			until(t, func() bool { return p.status(t) == tc.first })
			p.up(t)
			require.Equal(t, cdiv1beta1.Succeeded, phase())
			require.Equal(t, "1Gi", p.vmi(t).Status.VolumeStatus[0].PersistentVolumeClaimInfo.Capacity.Storage().String())
			status, reason := p.condition(t, kubevirtv1.VirtualMachineInstanceIsMigratable)
			require.Equal(t, corev1.ConditionFalse, status)
			require.Equal(t, kubevirtv1.VirtualMachineInstanceReasonDisksNotMigratable, reason)
		})
	}
}

func TestMissingClaimIsSaidAndWaitedFor(t *testing.T) {
	p := lone(t, immediate(), "Always", volumeFrom(kubevirtv1.VolumeSource{PersistentVolumeClaim: &kubevirtv1.PersistentVolumeClaimVolumeSource{
		PersistentVolumeClaimVolumeSource: corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"}}}))
	until(t, func() bool { return p.status(t) == kubevirtv1.VirtualMachineStatusPvcNotFound })
	_, err := p.kube.CoreV1().PersistentVolumeClaims("cp1").Create(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "disk",
		Annotations: map[string]string{sim.Content: "blank"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	p.up(t)
	require.Equal(t, "nothing", p.vmi(t).Annotations[sim.BootedFrom])
}

func TestFailedDataVolumeFailsTheInstance(t *testing.T) {
	failed := dataVolume("disk", "standard")
	failed.APIVersion, failed.Kind = "cdi.kubevirt.io/v1beta1", "DataVolume"
	failed.Status.Phase = cdiv1beta1.Failed
	fleet, err := sim.FleetOf(failed)
	require.NoError(t, err)
	c := start(t, sim.Options{Fleet: fleet, Delays: immediate()})
	create(t, c, machine("m", "Once", volumeFrom(kubevirtv1.VolumeSource{DataVolume: &kubevirtv1.DataVolumeSource{Name: "disk"}})))
	p := &powerCase{cluster: c, name: "m"}
	until(t, func() bool { v := p.vmi(t); return v != nil && v.Status.Phase == kubevirtv1.Failed })
	until(t, func() bool { return p.status(t) == kubevirtv1.VirtualMachineStatusDataVolumeError })
}

func TestInstanceTypeAndPreferenceAreApplied(t *testing.T) {
	p := lone(t, immediate(), "Halted", func(vm *kubevirtv1.VirtualMachine) {
		vm.Spec.Instancetype = &kubevirtv1.InstancetypeMatcher{Name: "big"}
		vm.Spec.Preference = &kubevirtv1.PreferenceMatcher{Name: "wide", Kind: "VirtualMachinePreference"}
		vm.Spec.Template.Spec.Domain.Memory = nil
	})
	cores := instancetypev1beta1.Cores
	expand := func() (*kubevirtv1.VirtualMachine, error) {
		vm := &kubevirtv1.VirtualMachine{}
		err := p.virt.KubevirtV1().RESTClient().Get().AbsPath("/apis/subresources.kubevirt.io/v1/namespaces/cp1/virtualmachines/m/expand-spec").Do(t.Context()).Into(vm)
		return vm, err
	}
	_, err := expand()
	require.Equal(t, int32(500), status(err).Code, "the type is missing: %v", err)
	_, err = p.virt.InstancetypeV1beta1().VirtualMachineClusterInstancetypes().Create(t.Context(), &instancetypev1beta1.VirtualMachineClusterInstancetype{
		ObjectMeta: metav1.ObjectMeta{Name: "big"}, Spec: instancetypev1beta1.VirtualMachineInstancetypeSpec{
			CPU: instancetypev1beta1.CPUInstancetype{Guest: 6}, Memory: instancetypev1beta1.MemoryInstancetype{Guest: resource.MustParse("3Gi")}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = p.virt.InstancetypeV1beta1().VirtualMachinePreferences("cp1").Create(t.Context(), &instancetypev1beta1.VirtualMachinePreference{
		ObjectMeta: metav1.ObjectMeta{Name: "wide"}, Spec: instancetypev1beta1.VirtualMachinePreferenceSpec{
			CPU: &instancetypev1beta1.CPUPreferences{PreferredCPUTopology: &cores}}}, metav1.CreateOptions{})
	require.NoError(t, err)

	vm, err := expand()
	require.NoError(t, err)
	require.Nil(t, vm.Spec.Instancetype)
	require.Equal(t, uint32(6), vm.Spec.Template.Spec.Domain.CPU.Cores)
	require.Equal(t, "3Gi", vm.Spec.Template.Spec.Domain.Memory.Guest.String())
	code, text := p.call(t, "start")
	require.Equal(t, 202, code, text)
	p.up(t)
	require.Equal(t, &kubevirtv1.CPUTopology{Sockets: 1, Cores: 6, Threads: 1}, p.vmi(t).Status.CurrentCPUTopology)
	require.NotNil(t, p.machine(t).Spec.Instancetype, "the VM itself keeps its reference")
}
