package bench

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// startBare starts a bare server with the key pair, which answers with these bodies by path.
func startBare(b *testing.B, pair keyPair, bodies map[string][]byte) (*process, string) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "bodies.json")
	require.NoError(b, os.WriteFile(file, encode(bodies), 0o600))
	p := startRole(b, "bare", pair.certificate, pair.key, file)
	var address string
	p.hear(b, &address)
	return p, address
}

// serveBare is the role of the reference: net/http with nothing on top but a router, a type and a length.
func serveBare(ctx context.Context, arguments []string, tell func(any)) {
	text, err := os.ReadFile(arguments[2])
	must(err)
	var bodies map[string][]byte
	must(json.Unmarshal(text, &bodies))
	router := http.NewServeMux()
	for path, body := range bodies {
		length := strconv.Itoa(len(body))
		router.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", length)
			_, _ = w.Write(body) // a client that has left needs no answer
		})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	server := &http.Server{Handler: router}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	tell(listener.Addr().String())
	_ = server.ServeTLS(listener, arguments[0], arguments[1]) // until it is closed
}
