package node

import (
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"net/http"

	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
)

const width, height = 64, 48

// screen is the colour of the guest's screen: blue after a boot from disk, green from CD or network, red when nothing booted.
func screen(vmi *v1.VirtualMachineInstance) color.RGBA {
	switch {
	case vmi.Annotations[knob.BootedFrom] == "none":
		return color.RGBA{R: 0x80, A: 0xff}
	case !guest.OnDisk(vmi):
		return color.RGBA{G: 0x80, A: 0xff}
	}
	return color.RGBA{B: 0x80, A: 0xff}
}

func serveScreenshot(w http.ResponseWriter, _ *http.Request, vmi *v1.VirtualMachineInstance) {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(m, m.Bounds(), image.NewUniform(screen(vmi)), image.Point{}, draw.Src)
	w.Header().Set("Content-Type", "image/png")
	_ = png.Encode(w, m)
}

// serveVNC is a minimal RFB 3.8 server (RFC 6143): no authentication, raw encoding, one colour.
func serveVNC(w http.ResponseWriter, r *http.Request, vmi *v1.VirtualMachineInstance) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer func() { _ = conn.Close() }()
	s := &rfb{s: &stream{Conn: conn}}
	s.handshake(vmi.Namespace + "/" + vmi.Name)
	for s.err == nil {
		s.message(screen(vmi))
	}
}

// rfb remembers its first error; after it, every step does nothing.
type rfb struct {
	s   *stream
	err error
}

func (r *rfb) put(b ...byte) {
	if r.err == nil {
		_, r.err = r.s.Write(b)
	}
}

func (r *rfb) take(n int) []byte {
	b := make([]byte, n)
	if r.err == nil {
		_, r.err = io.ReadFull(r.s, b)
	}
	return b
}

func (r *rfb) handshake(name string) {
	r.put([]byte("RFB 003.008\n")...)
	r.take(12)
	r.put(1, 1) // one security type: None
	r.take(1)
	r.put(0, 0, 0, 0) // security result: OK
	r.take(1)
	format := []byte{32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0}
	hello := append([]byte{0, width, 0, height}, format...)
	hello = binary.BigEndian.AppendUint32(hello, uint32(len(name))) //nolint:gosec // a Kubernetes name
	r.put(append(hello, name...)...)
}

// message reads one of the client's and answers a request for the screen.
func (r *rfb) message(c color.RGBA) {
	switch t := r.take(1)[0]; t {
	case 0: // SetPixelFormat
		r.take(19)
	case 2: // SetEncodings
		r.take(4 * int(binary.BigEndian.Uint16(r.take(3)[1:])))
	case 3: // FramebufferUpdateRequest
		r.take(9)
		update := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, width, 0, height, 0, 0, 0, 0}
		for range width * height {
			update = append(update, c.B, c.G, c.R, 0)
		}
		r.put(update...)
	case 4: // KeyEvent
		r.take(7)
	case 5: // PointerEvent
		r.take(5)
	case 6: // ClientCutText
		r.take(int(min(binary.BigEndian.Uint32(r.take(7)[3:]), 1<<20)))
	}
}
