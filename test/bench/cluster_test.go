package bench

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// startCluster starts a cluster with these machines and returns the kubeconfig for it.
func startCluster(b *testing.B, m machines) (kubeconfig string) {
	b.Helper()
	kubeconfig = filepath.Join(b.TempDir(), "kubeconfig")
	var ready bool
	startRole(b, "cluster", kubeconfig, strconv.Itoa(m.count), strconv.Itoa(m.namespaces)).hear(b, &ready)
	require.True(b, ready)
	return kubeconfig
}

// serveCluster is the role of an API server as a cache sees it: lists in pages, over HTTP/2, from bytes that
// are encoded once, and watches on which nothing happens.
func serveCluster(ctx context.Context, arguments []string, tell func(any)) {
	m := machinesOf(arguments[1:])
	router := http.NewServeMux()
	for _, of := range []kind{vmKind, vmiKind} {
		objects := m.objects(of)
		router.HandleFunc("GET /apis/kubevirt.io/v1/namespaces/{namespace}/"+of.plural, func(w http.ResponseWriter, r *http.Request) {
			answer(ctx, w, r, objects[r.PathValue("namespace")])
		})
	}
	router.HandleFunc("GET /api/v1/namespaces/{namespace}/persistentvolumeclaims", func(w http.ResponseWriter, r *http.Request) {
		answer(ctx, w, r, nil)
	})
	server := httptest.NewUnstartedServer(router)
	server.EnableHTTP2 = true
	server.StartTLS()
	must(writeKubeconfig(arguments[0], server))
	tell(true)
	<-ctx.Done()
	server.CloseClientConnections()
}

func machinesOf(arguments []string) machines {
	count, err := strconv.Atoi(arguments[0])
	must(err)
	namespaces, err := strconv.Atoi(arguments[1])
	must(err)
	return machines{count, namespaces}
}

// answer is a page of a list, or a watch.
func answer(ctx context.Context, w http.ResponseWriter, r *http.Request, objects [][]byte) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	if query.Get("watch") == "true" {
		w.(http.Flusher).Flush()
		select {
		case <-ctx.Done():
		case <-r.Context().Done():
		}
		return
	}
	from, _ := strconv.Atoi(query.Get("continue")) // none on the first page
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		limit = len(objects)
	}
	_, _ = w.Write(page(objects, from, limit)) // a client that has left needs no answer
}

// page is the JSON text of a list.
func page(objects [][]byte, from, limit int) []byte {
	until := min(from+limit, len(objects))
	next := ""
	if until < len(objects) {
		next = fmt.Sprintf(`,"continue":"%d","remainingItemCount":%d`, until, len(objects)-until)
	}
	text := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"%d"%s},"items":[`, lastVersion, next)
	for i := from; i < until; i++ {
		if i > from {
			text = append(text, ',')
		}
		text = append(text, objects[i]...)
	}
	return append(text, "]}"...)
}

func writeKubeconfig(path string, server *httptest.Server) error {
	const name = "bench"
	c := clientcmdapi.NewConfig()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c.Clusters[name] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: ca}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "bench"}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	text, err := clientcmd.Write(*c)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
