package redfish

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// route is one URI pattern with everything that can be asked of it.
type route struct {
	path string
	// get answers GET and HEAD; nil where there is nothing to read, as at an action.
	get reader
	// raw answers GET and HEAD of what is no resource, as a task monitor.
	raw  handler
	post operation

	allow []string // Allow header, made from the above
}

// reader finds what a GET answers with. Finding it includes the proof that the caller may see it.
type reader func(c *call) (content, error)

// handler answers a request itself.
type handler func(c *call) error

// operation is a change and the privilege that it takes.
type operation struct {
	needs auth.Privilege
	do    handler
}

// changeTimeout bounds a change including all its platform calls, so that clients hear of a failing
// platform before they give up themselves.
const changeTimeout = 12 * time.Second

var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPatch: true,
	http.MethodPut: true, http.MethodDelete: true, http.MethodOptions: true, http.MethodTrace: true, http.MethodConnect: true,
}

// ServeHTTP is never called: the router only matches. It makes a route an http.Handler.
func (rt *route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// serve answers a request for this route's URI.
func (rt *route) serve(c *call) error {
	switch method := c.r.Method; {
	case method == http.MethodGet || method == http.MethodHead:
		return rt.read(c)
	case method == http.MethodPost && rt.post.do != nil:
		return rt.change(c, rt.post)
	}
	return rt.refuse(c)
}

// refuse answers a method that the URI does not have, when there is something at the URI at all.
func (rt *route) refuse(c *call) error {
	if err := rt.exists(c); err != nil {
		return err
	}
	status := http.StatusNotImplemented
	if knownMethods[c.r.Method] {
		status = http.StatusMethodNotAllowed
	}
	return &Error{Status: status, Message: MsgOperationNotAllowed}
}

// change checks the privilege of the caller's role, then does it within a bounded time. A client that leaves
// meanwhile does not stop it halfway.
func (rt *route) change(c *call, op operation) error {
	c.changes = append(c.changes, slog.String("action", c.r.Method+" "+rt.path))
	if !c.who.Role.Can(op.needs) {
		if err := rt.exists(c); err != nil {
			return err
		}
		return &Error{Status: http.StatusForbidden, Message: MsgInsufficientPrivilege}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), changeTimeout)
	defer cancel()
	c.r = c.r.WithContext(ctx)
	return op.do(c)
}

// exists is ErrNotFound when there is nothing at the URI for the caller: what is hidden is absent, also for
// those who could not change it.
func (rt *route) exists(c *call) error {
	var err error
	if rt.get != nil {
		_, err = rt.page(c)
	} else if c.vars["SystemId"] != "" {
		_, err = c.machine()
	}
	return err
}

// page is the rendered resource at the URI.
func (rt *route) page(c *call) (*page, error) {
	what, err := rt.get(c)
	if err != nil {
		return nil, err
	}
	return c.service.pages.of(what)
}

// read answers GET and HEAD.
func (rt *route) read(c *call) error {
	if err := checkQuery(c.r.URL.RawQuery); err != nil {
		return err
	}
	if rt.raw != nil {
		return rt.raw(c)
	}
	if rt.get == nil {
		return rt.refuse(c)
	}
	found, err := rt.page(c)
	if err != nil {
		return err
	}
	c.sendPage(found)
	return nil
}

// sendPage sends a rendered resource, or 304 when the client has it.
func (c *call) sendPage(p *page) {
	header := c.Header()
	header["Etag"] = p.etag
	header["Allow"] = c.route.allow
	header["Link"] = p.linkTo
	if sent := c.r.Header["If-None-Match"]; sent != nil && matchesETag(sent, p.etag[0]) {
		c.WriteHeader(http.StatusNotModified)
		return
	}
	header["Content-Type"] = headerJSON
	header["Content-Length"] = p.length
	c.WriteHeader(http.StatusOK)
	if c.r.Method != http.MethodHead {
		_, _ = c.Write(p.body) // the client is gone: nothing to tell it
	}
}

// matchesETag compares as RFC 9110 section 13.1.2 says for If-None-Match: weakly.
func matchesETag(sent []string, etag string) bool {
	for _, list := range sent {
		for candidate := range strings.SplitSeq(list, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == etag || candidate == "*" {
				return true
			}
		}
	}
	return false
}

// checkQuery refuses the query parameters that would have to change the answer (DSP0266, section "Query
// parameters": an unknown parameter with a $ is 501). $expand is ignored, since clients send it to services
// that may not know it and take the answer as it is.
func checkQuery(query string) error {
	for query != "" {
		var parameter string
		parameter, query, _ = strings.Cut(query, "&")
		name, _, _ := strings.Cut(parameter, "=")
		name = strings.Replace(name, "%24", "$", 1)
		if strings.HasPrefix(name, "$") && name != "$expand" {
			return &Error{Status: http.StatusNotImplemented, Message: MsgQueryParameterUnsupported, Args: []string{shorten(name, longestValue)}}
		}
	}
	return nil
}

// allowed makes the Allow header.
func (rt *route) allowed() []string {
	var methods []string
	if rt.get != nil || rt.raw != nil {
		methods = append(methods, "GET", "HEAD")
	}
	if rt.post.do != nil {
		methods = append(methods, "POST")
	}
	return []string{strings.Join(methods, ", ")}
}
