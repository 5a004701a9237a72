package bench

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rounds is how often the two servers are compared, in turns; the median of all comparisons counts. Many short
// rounds are better than few long ones: what else the machine does hits both servers of a round.
const rounds = 31

// warmUp is how many rounds' requests are made before anything counts.
const warmUp = 5

// readCase is what is asked for, and how much dearer than the bare server it may be.
type readCase struct {
	what, path, user string
	requests         int // of one round: for about a twentieth of a second of the server's time
	limit            float64
}

// BenchmarkReads compares the CPU time of a request with that of a bare server which sends the same bytes with
// the same certificate: a machine, the collection of all machines, and that of the user who sees one of a
// hundred. A machine may cost 1.4 times as much, a collection 1.5 times.
func BenchmarkReads(b *testing.B) {
	for _, count := range []int{1000, 10000} {
		m := machines{count: count, namespaces: 4}
		pair := newKeyPair(b)
		p := startProduct(b, "--config", configure(b, m.allNamespaces(), pair), "--kubeconfig", startCluster(b, m))
		p.waitReady(b)
		cases := map[string]readCase{
			"system": {"GET of a machine", "/redfish/v1/Systems/" + m.namespace(0) + "." + m.name(0), userAll, 2000, 1.4},
			"all":    {"collection of all", "/redfish/v1/Systems", userAll, 500000 / (500 + count), 1.5},
			"few":    {"collection of one in a hundred", "/redfish/v1/Systems", userFew, 2000, 1.5},
		}
		bodies := map[string][]byte{}
		for _, c := range cases {
			status, body := p.do(b, http.MethodGet, c.path, c.user, "")
			require.Equal(b, http.StatusOK, status)
			bodies["/"+c.user+c.path] = body
		}
		bare, address := startBare(b, pair, bodies)
		cost := map[string]costs{}
		for _, name := range []string{"system", "all", "few"} {
			b.Run(fmt.Sprintf("%s/machines=%d", name, count), func(b *testing.B) {
				c := cases[name]
				what := fmt.Sprintf("%s, %d machines", c.what, count)
				cost[name] = compare(b, what, c,
					&server{p.process, connect(b, p.address), get(c.path, c.user)},
					&server{bare, connect(b, address), get("/"+c.user+c.path, c.user)})
				if name == "few" && cost["all"].bare > 0 {
					few, all := cost["few"], cost["all"]
					note(what+": of the cost of all, and on the bare server", "%.3f and %.3f", few.product/all.product, few.bare/all.bare)
				}
			})
		}
		p.end()
		bare.end()
	}
}

// server is one that is compared, and what is asked of it.
type server struct {
	process *process
	load    *load
	request []byte
}

// round is what a number of requests took.
type round struct {
	cpu, wall time.Duration
	size      int64
}

func (s *server) measure(b *testing.B, requests int) round {
	b.Helper()
	before := s.process.cpu(b)
	wall, size := s.load.run(b, s.request, requests)
	return round{s.process.cpu(b) - before, wall, size}
}

// costs are the CPU times of a request in microseconds.
type costs struct{ product, bare float64 }

// compare asks the two servers in turns.
func compare(b *testing.B, what string, c readCase, product, bare *server) costs {
	b.Helper()
	for _, s := range []*server{product, bare} {
		s.measure(b, warmUp*c.requests) // connections and heap are then as they stay
	}
	var cpu, speed, absolute, reference []float64
	for i := range rounds {
		pair := [2]*server{product, bare}
		var took [2]round
		for j := range pair {
			j = (i + j) % 2 // the one that is asked first changes with each round
			took[j] = pair[j].measure(b, c.requests)
		}
		require.Equal(b, took[1].size, took[0].size, "both send the same bytes")
		cpu = append(cpu, float64(took[0].cpu)/float64(took[1].cpu))
		speed = append(speed, float64(took[1].wall)/float64(took[0].wall))
		absolute = append(absolute, microseconds(took[0].cpu)/float64(c.requests))
		reference = append(reference, microseconds(took[1].cpu)/float64(c.requests))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(absolute), "cpu-µs/request")
	atMost(b, what+": CPU per request, of a bare server's", median(cpu), c.limit)
	note(what+": the same in µs, both", "%.1f and %.1f", median(absolute), median(reference))
	note(what+": requests per second, of a bare server's", "%.2f", median(speed))
	return costs{median(absolute), median(reference)}
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
