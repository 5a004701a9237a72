package bench

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// connections is how many requests are under way at a time.
const connections = 8

// load asks one server over keep-alive connections. It is cheap, so that the machine is busy with the server.
type load struct{ connections []*connection }

type connection struct {
	tls    *tls.Conn
	answer *bufio.Reader
}

// connect opens the connections, with TLS 1.3.
func connect(b *testing.B, address string) *load {
	b.Helper()
	l := &load{}
	for range connections {
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
		require.NoError(b, err)
		b.Cleanup(func() { _ = c.Close() })
		l.connections = append(l.connections, &connection{c, bufio.NewReaderSize(c, 64<<10)})
	}
	return l
}

// get is the text of a request. The credentials are sent to every server, so that all read the same bytes.
func get(path, user string) []byte {
	r, err := http.NewRequest(http.MethodGet, "https://localhost"+path, nil)
	must(err)
	r.Header.Set("Accept", "application/json")
	r.SetBasicAuth(user, password)
	var text bytes.Buffer
	must(r.Write(&text))
	return text.Bytes()
}

// run makes n requests and returns how long they took, and the size of one body.
func (l *load) run(b *testing.B, request []byte, n int) (took time.Duration, size int64) {
	b.Helper()
	var left, body atomic.Int64
	left.Store(int64(n))
	failed := make(chan error, len(l.connections))
	var asking sync.WaitGroup
	began := time.Now()
	for _, c := range l.connections {
		asking.Go(func() {
			for left.Add(-1) >= 0 {
				n, err := c.ask(request)
				if err != nil {
					failed <- err
					return
				}
				body.Store(int64(n))
			}
		})
	}
	asking.Wait()
	took = time.Since(began)
	close(failed)
	require.NoError(b, <-failed)
	return took, body.Load()
}

// ask makes a request and returns the size of the body of its answer, which must be 200.
func (c *connection) ask(request []byte) (size int, err error) {
	if _, err := c.tls.Write(request); err != nil {
		return 0, err
	}
	status, err := c.answer.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
		return 0, fmt.Errorf("answered %s", status)
	}
	for {
		line, err := c.answer.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		if length, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(length))); err != nil {
				return 0, err
			}
		}
	}
	return c.answer.Discard(size)
}
