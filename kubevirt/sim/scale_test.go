package sim_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
