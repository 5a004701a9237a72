package conformance

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// Client says which service is checked and as whom.
type Client struct {
	Base   string       // scheme, host and port, without a slash at the end
	HTTP   *http.Client // nil means http.DefaultClient; redirects are never followed
	Header http.Header  // sent with every request, such as Authorization
}

type request struct {
	method, uri string
	body        string // sent as JSON; empty means none
	ifNoneMatch string
}

// answer is one response, read completely.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends r. It asks for no compression, since some services give compressed bodies another ETag.
func (c Client) do(ctx context.Context, r request) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.Base+r.uri, strings.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.uri, err)
	}
	maps.Copy(req.Header, c.Header)
	req.Header.Set("Accept-Encoding", "identity")
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.ifNoneMatch != "" {
		req.Header.Set("If-None-Match", r.ifNoneMatch)
	}
	resp, err := c.plain().Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.uri, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.uri, err)
	}
	return &answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// plain is the HTTP client without redirects: a client of Redfish must not need them.
func (c Client) plain() *http.Client {
	var h http.Client
	if c.HTTP != nil {
		h = *c.HTTP
	}
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &h
}
