package node

import (
	"fmt"
	"io"
	"net/http"

	"github.com/gorilla/websocket"
	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
)

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }, Subprotocols: []string{"plain.kubevirt.io"}}

// stream makes a byte stream of the binary websocket that virt-api opens.
type stream struct {
	*websocket.Conn
	rest []byte
}

func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		_, message, err := s.ReadMessage()
		if err != nil {
			return 0, io.EOF
		}
		s.rest = message
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *stream) Write(p []byte) (int, error) {
	return len(p), s.WriteMessage(websocket.BinaryMessage, p)
}

// serveConsole is a serial console: it says what the guest booted, then echoes.
func serveConsole(w http.ResponseWriter, r *http.Request, vmi *v1.VirtualMachineInstance) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer func() { _ = conn.Close() }()
	s := &stream{Conn: conn}
	_, _ = fmt.Fprintf(s, "lab guest %s/%s booted from %s (boot %s)\r\n%s login: ",
		vmi.Namespace, vmi.Name, vmi.Annotations[knob.BootedFrom], vmi.Annotations[knob.BootCount], vmi.Name)
	_, _ = io.Copy(s, s)
}
