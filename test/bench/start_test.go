package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// peakAtStart is the largest resident size of the program until it is ready with 5,000 machines, in bytes.
	peakAtStart = 120 << 20
	// starts is how often a start is compared with decoding the same objects.
	starts = 3
)

// BenchmarkStart measures a start of the program on 5,000 machines until it is ready: its CPU time, of that of
// decoding the same objects once in a process of its own, and the largest resident size. Machines in one
// namespace are read page by page, those in many namespaces at once.
func BenchmarkStart(b *testing.B) {
	for _, namespaces := range []int{1, 50} {
		b.Run(fmt.Sprintf("namespaces=%d", namespaces), func(b *testing.B) {
			m := machines{count: 5000, namespaces: namespaces}
			cluster := startCluster(b, m)
			config := configure(b, m.allNamespaces(), newKeyPair(b))
			var cpu, absolute, reference, wall, peak []float64
			for range starts {
				decoding := decode(b, m)
				took := startOnce(b, config, cluster)
				cpu = append(cpu, float64(took.cpu)/float64(decoding))
				absolute, reference = append(absolute, took.cpu.Seconds()), append(reference, decoding.Seconds())
				wall, peak = append(wall, took.wall.Seconds()), append(peak, float64(took.peak))
			}
			what := fmt.Sprintf("start on 5,000 machines in %d namespaces", namespaces)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(wall), "s-to-ready")
			b.ReportMetric(median(peak)/(1<<20), "peak-MiB")
			atMost(b, what+": CPU, of decoding the objects once", median(cpu), 2)
			note(what+": the same in s, both", "%.2f and %.2f", median(absolute), median(reference))
			note(what+": s until ready", "%.2f", median(wall))
			note(what+": peak resident MiB", "%.0f", median(peak)/(1<<20))
			atMost(b, what+": peak resident size, of 120 MiB", median(peak)/peakAtStart, 1)
		})
	}
}

// begun is what a start took.
type begun struct {
	cpu, wall time.Duration
	peak      int
}

func startOnce(b *testing.B, config, cluster string) begun {
	b.Helper()
	began := time.Now()
	p := startProduct(b, "--config", config, "--kubeconfig", cluster)
	p.waitReady(b)
	took := begun{p.cpu(b), time.Since(began), p.memory(b, "VmHWM")}
	p.end()
	return took
}

// decode is the CPU time of decoding all objects once.
func decode(b *testing.B, m machines) time.Duration {
	b.Helper()
	reference := startRole(b, "decode", strconv.Itoa(m.count), strconv.Itoa(m.namespaces))
	var took time.Duration
	reference.hear(b, &took)
	reference.end()
	require.Positive(b, took)
	return took
}

// decodeOnce is the role of the reference for a start: encoding/json decodes pages of the size that the product
// asks for into the view types, and nothing is kept of them. The objects are made page by page, outside the
// measured time, so that the heap is as small as in a program that reads them from the network, and the garbage
// collector as busy.
func decodeOnce(_ context.Context, arguments []string, tell func(any)) {
	m := machinesOf(arguments)
	const limit = 250
	var took time.Duration
	for from := 0; from < m.count; from += limit {
		took += decodePage[vmView](m, vmKind, from, limit)
		took += decodePage[vmiView](m, vmiKind, from, limit)
	}
	tell(took)
}

func decodePage[T any](m machines, of kind, from, limit int) time.Duration {
	var objects [][]byte
	for i := from; i < min(from+limit, m.count); i++ {
		objects = append(objects, []byte(m.words(i).Replace(of.template)))
	}
	text := page(objects, 0, limit)
	before := ownCPU()
	var list struct{ Items []T }
	must(json.Unmarshal(text, &list))
	if len(list.Items) != len(objects) {
		panic("not all objects were decoded")
	}
	return ownCPU() - before
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
