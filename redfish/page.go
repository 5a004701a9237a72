package redfish

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

// page is a rendered resource: the body and the header values that go with it, never changed once made.
type page struct {
	body    []byte
	etag    []string
	length  []string
	linkTo  []string
	version Version
}

// content is what a GET answers with: how the resource is built, and the key and version under which its
// bytes are kept. An empty key means that they are built for each request.
type content struct {
	key     string
	version Version
	build   func() (any, error)
}

// volatile is implemented by resources with members that change by themselves, as clocks. They come last in
// the body and are left out of the ETag.
type volatile interface{ volatileMembers() any }

// pages keeps rendered bodies, the most recently used ones.
type pages struct {
	cache *lru.Cache[string, *page]
}

// keptPages bounds the memory of rendered bodies: at about 4 KiB each some 8 MiB.
const keptPages = 2048

func newPages() *pages {
	cache, err := lru.New[string, *page](keptPages)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &pages{cache: cache}
}

// of returns the page for c, from the cache when it is still the same version.
func (p *pages) of(c content) (*page, error) {
	if c.key != "" {
		if kept, ok := p.cache.Get(c.key); ok && kept.version == c.version {
			return kept, nil
		}
	}
	made, err := render(c)
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		p.cache.Add(c.key, made)
	}
	return made, nil
}

func render(c content) (*page, error) {
	resource, err := c.build()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(resource)
	if err != nil {
		return nil, fmt.Errorf("rendering: %w", err)
	}
	hash := sha256.Sum256(body)
	etag := `"` + base64.RawURLEncoding.EncodeToString(hash[:12]) + `"`
	if body, err = splice(body, etag, resource); err != nil {
		return nil, err
	}
	made := &page{body: body, etag: []string{etag}, length: []string{strconv.Itoa(len(body))}, version: c.version}
	made.linkTo = []string{describedBy(body)}
	return made, nil
}

// splice puts the ETag after the first member of the body, and the volatile members at its end.
func splice(body []byte, etag string, resource any) ([]byte, error) {
	out := make([]byte, 0, len(body)+64)
	out = append(out, `{"@odata.etag":`...)
	out = strconv.AppendQuote(out, etag)
	out = append(out, ',')
	out = append(out, body[1:]...)
	v, ok := resource.(volatile)
	if !ok {
		return out, nil
	}
	extra, err := json.Marshal(v.volatileMembers())
	if err != nil {
		return nil, fmt.Errorf("rendering: %w", err)
	}
	out[len(out)-1] = ','
	return append(out, extra[1:]...), nil
}

// schemaHome is where DMTF publishes its schemas; it is only ever named, never fetched.
const schemaHome = "http://redfish.dmtf.org/schemas/v1/"

// describedBy makes the Link header from the @odata.type in the body: "#Chassis.v1_28_0.Chassis" is
// described by Chassis.v1_28_0.json (DSP0266, section "Link header").
func describedBy(body []byte) string {
	_, rest, found := bytes.Cut(body, []byte(`"@odata.type":"#`))
	if !found {
		return "<" + schemaHome + "redfish-schema-v1.json>; rel=describedby"
	}
	name, _, _ := strings.Cut(string(rest[:min(len(rest), 128)]), `"`)
	name = name[:strings.LastIndexByte(name, '.')]
	return "<" + schemaHome + name + ".json>; rel=describedby"
}
