package redfish

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// call is one request on its way through the service. It is the ResponseWriter of its handlers, so that the
// record of the request knows what was answered.
type call struct {
	http.ResponseWriter
	service *Service
	r       *http.Request
	who     auth.Principal
	place
	id      [1]string // the request's id, a header value as it is
	began   time.Time
	status  int
	bytes   int
	system  SystemID    // the machine that the request is about
	changes []slog.Attr // what a change was about, for the audit record
	err     error       // why the request failed
}

// WriteHeader remembers the status.
func (c *call) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write remembers the number of bytes.
func (c *call) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(b)
	c.bytes += n
	return n, err
}

// serve does everything up to the answer. The order is that of DSP0266: the protocol version, then who asks,
// then what is there, then whether it is allowed.
func (c *call) serve() error {
	if v := c.r.Header["Odata-Version"]; len(v) > 0 && v[0] != headerODataVersion[0] {
		return &Error{Status: http.StatusPreconditionFailed, Message: MsgHeaderInvalid, Args: []string{"OData-Version"}}
	}
	c.trimSlash()
	if !isOpen(c.r) {
		who, err := c.service.Authenticator.Authenticate(c.r)
		if err != nil {
			return err
		}
		c.who = who
		if !who.Role.Can(auth.Login) {
			return &Error{Status: http.StatusForbidden, Message: MsgInsufficientPrivilege}
		}
	}
	if err := c.resolveAlias(); err != nil {
		return err
	}
	var known bool
	if c.place, known = c.service.uris.find(c.r); !known {
		return c.unknownURI()
	}
	return c.route.serve(c)
}

// unknownURI tells an unknown action from an unknown resource.
func (c *call) unknownURI() error {
	path := c.r.URL.Path
	if at := strings.Index(path, "/Actions/"); at > 0 && c.r.Method == http.MethodPost {
		return &Error{Status: http.StatusNotFound, Message: MsgActionNotSupported, Args: []string{shorten(path[at+len("/Actions/"):], longestValue)}}
	}
	return ErrNotFound
}

// path is the request's path as it is shown.
func (c *call) path() string { return shorten(c.r.URL.Path, longestPath) }

// fail answers with the error body that belongs to err.
func (c *call) fail(err error) {
	c.err = err
	if c.status != 0 {
		c.service.Logger.Warn("request failed after its answer began", "request", c.id[0], "err", err)
		return
	}
	told := asError(c.path(), err)
	if told.Status >= http.StatusInternalServerError && told.Err != nil {
		c.service.Logger.Error("request failed", "request", c.id[0], "path", c.path(), "user", c.who.User, "err", err)
	}
	header := c.Header()
	switch told.Status {
	case http.StatusUnauthorized:
		header["Www-Authenticate"] = headerBasic
	case http.StatusMethodNotAllowed:
		header["Allow"] = c.route.allow
	}
	if told.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(told.RetryAfter))
	}
	c.reply(told.Status, told.body())
}

// reply sends a JSON body that is made for this request alone.
func (c *call) reply(status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Errorf("encode an answer: %w", err)) // our own types: a defect, answered as one
	}
	c.send(status, headerJSON, text)
}

// send sends a body, or for HEAD only its headers.
func (c *call) send(status int, contentType []string, body []byte) {
	header := c.Header()
	header["Content-Type"] = contentType
	header.Set("Content-Length", strconv.Itoa(len(body)))
	c.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.Write(body) // the client is gone: nothing to tell it
	}
}

// noContent ends a change that has nothing to show.
func (c *call) noContent() { c.WriteHeader(http.StatusNoContent) }

// recover turns a panic of a handler into a 500, so that the service lives on.
func (c *call) recover() {
	reason := recover()
	if reason == nil {
		return
	}
	if reason == http.ErrAbortHandler { //nolint:errorlint // a sentinel that is passed as it is
		panic(reason)
	}
	c.service.metrics.panics.Inc()
	c.service.Logger.Error("panic", "request", c.id[0], "path", c.path(), "err", fmt.Sprint(reason), "stack", string(debug.Stack()))
	if c.status == 0 {
		c.fail(&Error{Status: http.StatusInternalServerError, Message: MsgInternalError})
	}
}

// AccessRecord is the message of the record that every request leaves.
const AccessRecord = "request"

// record leaves the access record and the metrics of the request, and the audit record of a change. Neither
// has a query, a body or a header of the request.
func (c *call) record() {
	took := c.service.Now().Sub(c.began)
	c.service.metrics.observe(c.route, c.r.Method, c.status, took)
	log, ctx := c.service.Logger, c.r.Context()
	from, _, _ := net.SplitHostPort(c.r.RemoteAddr)
	access := slog.NewRecord(c.began.Add(took), slog.LevelInfo, AccessRecord, 0) // a Logger would look up the line of its caller
	access.AddAttrs(
		slog.String("request", c.id[0]), slog.String("method", shorten(c.r.Method, longestValue)), slog.String("path", c.path()),
		slog.String("system", string(c.system)), slog.String("user", string(c.who.User)), slog.String("from", from),
		slog.Int("status", c.status), slog.Int("bytes", c.bytes), slog.Int64("micros", took.Microseconds()))
	if handler := log.Handler(); handler.Enabled(ctx, access.Level) {
		_ = handler.Handle(ctx, access) // as Logger does
	}
	if c.changes == nil {
		return
	}
	attrs := append([]slog.Attr{
		slog.String("request", c.id[0]), slog.String("user", string(c.who.User)), slog.String("from", from),
		slog.String("system", string(c.system)), slog.Int("status", c.status),
	}, c.changes...)
	if c.err != nil {
		attrs = append(attrs, slog.String("err", c.err.Error()))
	}
	log.LogAttrs(ctx, slog.LevelInfo, "audit", attrs...)
}

// requestID takes the client's id when it is short and harmless in a log, else makes one.
func (s *Service) requestID(r *http.Request) string {
	if sent := r.Header["X-Request-Id"]; len(sent) == 1 && validRequestID(sent[0]) {
		return sent[0]
	}
	return s.NewRequestID()
}

const maxRequestID = 64

func validRequestID(id string) bool {
	for _, b := range []byte(id) {
		word := b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b == '-' || b == '_' || b == '.'
		if !word {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}

// newRequestID need not be secret, only different.
func newRequestID() string {
	const digits = "0123456789abcdef"
	var id [16]byte
	for i, n := 0, rand.Uint64(); i < len(id); i, n = i+1, n>>4 { //nolint:gosec // an id, not a secret
		id[i] = digits[n&0xf]
	}
	return string(id[:])
}
