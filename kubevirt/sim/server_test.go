package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	testingclock "k8s.io/utils/clock/testing"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"kubevirt.io/client-go/kubevirt"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

const (
	patience = 20 * time.Second
	glance   = 5 * time.Millisecond
)

// until looks again and again, in the test's own goroutine, until done; state says how far it got.
func until(t *testing.T, done func() bool, state ...any) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for range time.Tick(glance) {
		if done() {
			return
		}
		require.True(t, time.Now().Before(deadline), state...)
	}
}

// cluster is a simulated cluster with its clients.
type cluster struct {
	*sim.Server
	virt kubevirt.Interface
	kube kubernetes.Interface
}

func start(t *testing.T, o sim.Options) cluster {
	t.Helper()
	s, err := sim.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return clients(t, s, sim.DefaultUser)
}

func clients(t *testing.T, s *sim.Server, user string) cluster {
	t.Helper()
	virt, err := kubevirt.NewForConfig(s.RESTConfigFor(user))
	require.NoError(t, err)
	kube, err := kubernetes.NewForConfig(s.RESTConfigFor(user))
	require.NoError(t, err)
	return cluster{s, virt, kube}
}

// immediate is a cluster in which nothing takes time.
func immediate() *sim.Delays { return &sim.Delays{} }

func (c cluster) vm(t *testing.T, name string) *kubevirtv1.VirtualMachine {
	t.Helper()
	vm, err := c.virt.KubevirtV1().VirtualMachines("cp1").Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return vm
}

// eventually waits until the VM's printable status is one of those wanted.
func (c cluster) eventually(t *testing.T, name string, want kubevirtv1.VirtualMachinePrintableStatus) {
	t.Helper()
	until(t, func() bool { return c.vm(t, name).Status.PrintableStatus == want })
}

func TestDefaultFleetRunsOneOfThreeMachines(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	vms, err := c.virt.KubevirtV1().VirtualMachines("cp1").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	states := map[string]kubevirtv1.VirtualMachinePrintableStatus{}
	for _, vm := range vms.Items {
		states[vm.Name] = vm.Status.PrintableStatus
	}
	require.Equal(t, map[string]kubevirtv1.VirtualMachinePrintableStatus{"node-0": "Running", "node-1": "Stopped", "node-2": "Stopped"}, states)

	vmi, err := c.virt.KubevirtV1().VirtualMachineInstances("cp1").Get(t.Context(), "node-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, kubevirtv1.Running, vmi.Status.Phase)
	require.NotEmpty(t, vmi.Status.NodeName)
	require.Equal(t, "02:00:00:c1:00:00", vmi.Status.Interfaces[0].MAC)
	require.Equal(t, c.vm(t, "node-0").Spec.Template.Spec.Domain.Firmware.UUID, vmi.Spec.Domain.Firmware.UUID)
	require.Equal(t, "root", vmi.Annotations[sim.BootedFrom])
}

func TestStartRunsAndStopEndsAMachine(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet(), Delays: immediate()})
	api := c.virt.KubevirtV1().VirtualMachines("cp1")
	require.NoError(t, api.Start(t.Context(), "node-1", &kubevirtv1.StartOptions{}))
	c.eventually(t, "node-1", kubevirtv1.VirtualMachineStatusRunning)
	require.Equal(t, kubevirtv1.RunStrategyAlways, *c.vm(t, "node-1").Spec.RunStrategy)

	before, err := c.virt.KubevirtV1().VirtualMachineInstances("cp1").Get(t.Context(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, api.Restart(t.Context(), "node-1", &kubevirtv1.RestartOptions{}))
	until(t, func() bool {
		vmi, err := c.virt.KubevirtV1().VirtualMachineInstances("cp1").Get(t.Context(), "node-1", metav1.GetOptions{})
		return err == nil && vmi.UID != before.UID && vmi.IsRunning()
	})

	zero := int64(0)
	require.NoError(t, api.Stop(t.Context(), "node-1", &kubevirtv1.StopOptions{GracePeriod: &zero}))
	c.eventually(t, "node-1", kubevirtv1.VirtualMachineStatusStopped)
	pods, err := c.kube.CoreV1().Pods("cp1").List(t.Context(), metav1.ListOptions{LabelSelector: "vm.kubevirt.io/name=node-1"})
	require.NoError(t, err)
	require.Empty(t, pods.Items)
}

// One leads after the other, whether or not the first one could give up its lease before it went.
func TestLeaderElectionWorks(t *testing.T) {
	c := start(t, sim.Options{})
	for _, identity := range []string{"first", "second"} {
		ctx, cancel := context.WithCancel(t.Context())
		led, stopped := make(chan struct{}), make(chan struct{})
		lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "lead"}, Client: c.kube.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity}}
		go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{Lock: lock, ReleaseOnCancel: true,
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 100 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(led) }, OnStoppedLeading: func() { close(stopped) }}})
		<-led
		lease, err := c.kube.CoordinationV1().Leases("default").Get(t.Context(), "lead", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, identity, *lease.Spec.HolderIdentity)
		cancel()
		<-stopped
	}
}

func TestCloseEndsOpenWatchesAndCanBeRepeated(t *testing.T) {
	c := start(t, sim.Options{})
	w := c.watch(t, metav1.ListOptions{})
	c.Close()
	c.Close()
	for range w.ResultChan() { // until it is closed
	}
}

func TestGivenTokenAndClockAreUsed(t *testing.T) {
	clk := testingclock.NewFakeClock(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	c := start(t, sim.Options{Fleet: sim.DefaultFleet(), Token: "known", Clock: clk})
	require.Equal(t, "known", c.RESTConfig().BearerToken)
	require.Equal(t, clk.Now(), c.vm(t, "node-0").CreationTimestamp.UTC())
	require.NoError(t, c.virt.KubevirtV1().VirtualMachines("cp1").Start(t.Context(), "node-1", &kubevirtv1.StartOptions{}))
	p := &powerCase{cluster: c, name: "node-1"}
	until(t, func() bool { v := p.vmi(t); return v != nil && v.Status.Phase == kubevirtv1.Scheduling })
	until(t, func() bool {
		clk.Step(time.Minute) // as fast as one likes
		return p.machine(t).Status.PrintableStatus == kubevirtv1.VirtualMachineStatusRunning
	})
}
