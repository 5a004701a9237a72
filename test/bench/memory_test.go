package bench

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

const (
	// heapPerMachine is what a VirtualMachine with its instance may occupy, in bytes.
	heapPerMachine = 5 << 10
	// heapOfPages is what the rendered bodies may occupy however many machines there are: the 2048 that are
	// kept, at somewhat more than the usual 4 KiB, with their headers.
	heapOfPages = 2048 * 6 << 10
)

// BenchmarkHeap measures what 5,000 machines occupy after a garbage collection, in a process that holds the
// real cache and service: after the start, and after every machine has been read.
func BenchmarkHeap(b *testing.B) {
	m := machines{count: 5000, namespaces: 1}
	cache := startRole(b, "cache", startCluster(b, m), strconv.Itoa(m.count), strconv.Itoa(m.namespaces))
	var empty, full, crawled, again int
	for _, heap := range []*int{&empty, &full, &crawled, &again} {
		cache.hear(b, heap)
	}
	perMachine := float64(full-empty) / float64(m.count)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(perMachine/1024, "KiB/machine")
	note("heap of 5,000 machines, KiB each", "%.2f", perMachine/1024)
	atMost(b, "heap of 5,000 machines, of 5 KiB each", perMachine/heapPerMachine, 1)
	note("heap of pages after reading every machine, MiB", "%.1f", float64(crawled-full)/(1<<20))
	atMost(b, "heap of pages, of 2,048 pages of 6 KiB", float64(crawled-full)/heapOfPages, 1)
	atMost(b, "heap after reading all once more, of that before", float64(again)/float64(crawled), 1.05)
}

// fillCache is the role of a process that runs the cache and the service without a listener, and tells its heap
// when it is empty, filled, read through once, and once more.
func fillCache(ctx context.Context, arguments []string, tell func(any)) {
	m := machinesOf(arguments[1:])
	service, backend := assemble(arguments[0], m.allNamespaces())
	tell(heap())
	var running sync.WaitGroup
	running.Go(func() { backend.Run(ctx) })
	for poll := time.NewTicker(pollInterval); !backend.Ready(); {
		<-poll.C
	}
	tell(heap())
	for range 2 {
		for i := range m.count {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/redfish/v1/Systems/"+m.namespace(i)+"."+m.name(i), nil)
			r.SetBasicAuth(userAll, password)
			w := httptest.NewRecorder()
			if service.ServeHTTP(w, r); w.Code != http.StatusOK {
				panic(w.Body.String())
			}
		}
		tell(heap())
	}
	running.Wait()
	runtime.KeepAlive(service)
}

// heap is the size of the living objects in bytes.
func heap() uint64 {
	for range 3 { // what the pools keep is let go by the second collection
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// assemble puts backend, accounts and service together as the program does.
func assemble(kubeconfig string, namespaces []string) (*redfish.Service, *kubevirt.Backend) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(err)
	chassis := make([]auth.Chassis, len(namespaces))
	for i, namespace := range namespaces {
		chassis[i] = auth.Chassis{Name: auth.ChassisName(namespace), Namespace: namespace}
	}
	secret, err := auth.PlainPassword(password)
	must(err)
	directory, err := auth.NewDirectory(auth.Account{Name: userAll, Password: secret, Role: auth.Administrator, Grants: auth.NewGrants(auth.AllChassis)})
	must(err)
	accounts, err := auth.NewAuthenticator(auth.Options{})
	must(err)
	accounts.SetDirectory(directory)
	logger, registry := slog.New(slog.NewJSONHandler(io.Discard, nil)), prometheus.NewRegistry()
	backend, err := kubevirt.New(kubevirt.Options{Config: config, Exposure: auth.NewExposure(chassis), Logger: logger, Metrics: registry})
	must(err)
	return redfish.New(redfish.Options{
		Backend: backend, Authenticator: accounts, Logger: logger, Metrics: registry, UUID: "5f0c6d42-3b7e-4d29-9d7e-0f5a4a0a3f11", Version: "bench",
		Host: redfish.Host{Name: "localhost", Port: 8443, TLS: true},
	}), backend
}

// BenchmarkAllocations counts the allocations of a GET of a machine in backend, accounts and service together:
// all that the program adds to those of net/http.
func BenchmarkAllocations(b *testing.B) {
	m := machines{count: 10, namespaces: 1}
	service, backend := assemble(startCluster(b, m), m.allNamespaces())
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { backend.Run(ctx) })
	defer func() { stop(); running.Wait() }()
	require.Eventually(b, backend.Ready, startTimeout, pollInterval)
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/redfish/v1/Systems/"+m.namespace(0)+"."+m.name(0), nil)
	r.SetBasicAuth(userAll, password)
	w := &discard{header: http.Header{}}
	allocations := testing.AllocsPerRun(1000, func() { service.ServeHTTP(w, r) })
	require.Equal(b, http.StatusOK, w.status)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(allocations, "allocs/request")
	exactly(b, "allocations of a GET of a machine", 5, int(allocations))
}

// discard is a ResponseWriter that allocates nothing.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
