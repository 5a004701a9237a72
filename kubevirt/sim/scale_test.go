package sim_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"kubevirt.io/client-go/kubevirt"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

func TestGenerateSpreadsRunningAndStoppedMachines(t *testing.T) {
	fleet, err := sim.Generate(40)
	require.NoError(t, err)
	c := start(t, sim.Options{Fleet: fleet})
	vms, err := c.virt.KubevirtV1().VirtualMachines("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	count, macs := map[string]int{}, map[string]bool{}
	for _, vm := range vms.Items {
		count[string(vm.Status.PrintableStatus)]++
		count[vm.Namespace]++
		macs[vm.Spec.Template.Spec.Domain.Devices.Interfaces[0].MacAddress] = true
	}
	require.Equal(t, map[string]int{"Running": 20, "Stopped": 20, "fleet-0": 10, "fleet-1": 10, "fleet-2": 10, "fleet-3": 10}, count)
	require.Len(t, macs, 40)
}

func BenchmarkStart(b *testing.B) {
	for _, n := range []int{3, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			fleet := sim.DefaultFleet()
			if n != 3 {
				var err error
				fleet, err = sim.Generate(n)
				require.NoError(b, err)
			}
			for b.Loop() {
				s, err := sim.Start(b.Context(), sim.Options{Fleet: fleet})
				require.NoError(b, err)
				b.StopTimer()
				runtime.GC()
				b.ReportMetric(rss(b), "MB-rss")
				s.Close()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkOnToRunning is a start and the watch event that shows the instance Running, when nothing takes time.
func BenchmarkOnToRunning(b *testing.B) {
	s, err := sim.Start(b.Context(), sim.Options{Fleet: sim.DefaultFleet(), Delays: immediate()})
	require.NoError(b, err)
	defer s.Close()
	virt, err := kubevirt.NewForConfig(s.RESTConfig())
	require.NoError(b, err)
	vms, vmis := virt.KubevirtV1().VirtualMachines("cp1"), virt.KubevirtV1().VirtualMachineInstances("cp1")
	w, err := vmis.Watch(b.Context(), metav1.ListOptions{FieldSelector: "metadata.name=node-1"})
	require.NoError(b, err)
	defer w.Stop()
	follow := func(done func(watch.Event) bool) {
		for e := range w.ResultChan() {
			if done(e) {
				return
			}
		}
	}
	zero := int64(0)
	for b.Loop() {
		require.NoError(b, vms.Start(b.Context(), "node-1", &kubevirtv1.StartOptions{}))
		follow(func(e watch.Event) bool { return e.Object.(*kubevirtv1.VirtualMachineInstance).IsRunning() }) // a watch of these
		b.StopTimer()
		require.NoError(b, vms.Stop(b.Context(), "node-1", &kubevirtv1.StopOptions{GracePeriod: &zero}))
		follow(func(e watch.Event) bool { return e.Type == watch.Deleted })
		b.StartTimer()
	}
}

func rss(tb testing.TB) float64 {
	tb.Helper()
	b, err := os.ReadFile("/proc/self/status")
	require.NoError(tb, err)
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(v)[0], 64)
			require.NoError(tb, err)
			return kb / 1024
		}
	}
	return 0
}
