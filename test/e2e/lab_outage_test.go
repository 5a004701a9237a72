package e2e

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wire carries connections that can be cut.
type wire struct {
	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

var errCut = errors.New("the wire is cut")

// dial is for [rest.Config].
func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return nil, errCut
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		w.conns[conn] = true
	}
	return conn, err
}

// cut ends all connections and refuses others, until it is mended.
func (w *wire) cut(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	for conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
}

// While the cluster is out of reach, reads go on and say so, and resets ask to be tried again; what happened
// meanwhile is seen afterwards.
func TestLabOutageIsSurvived(t *testing.T) {
	t.Parallel()
	s := NewSpace(t, OurRights)
	line := &wire{conns: map[net.Conn]bool{}}
	s.Account.Dial = line.dial
	p := s.Serve(t)
	id := s.create(t, "node-0", machine{strategy: on})
	s.shows(t, p, id, "On Enabled OK")

	line.cut(true)
	require.Contains(t, s.shows(t, p, id, "On Enabled Warning"), "cluster")
	began := time.Now()
	answer := s.reset(t, p, id, "ForceOff")
	require.Less(t, time.Since(began), 15*time.Second)
	require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Text)
	require.NotEmpty(t, answer.Header.Get("Retry-After"))
	require.Contains(t, answer.Text, "cluster")
	require.True(t, p.Backend.Ready())

	other := s.create(t, "node-1", machine{})
	s.stop(t, "node-0", new(int64))
	s.gone(t, "node-0")
	line.cut(false)
	s.shows(t, p, id, "Off Enabled OK")
	s.shows(t, p, other, "Off Enabled OK")
	s.accepted(t, p, id, "On")
	s.shows(t, p, id, "On Enabled OK")
}
