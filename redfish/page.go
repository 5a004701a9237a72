package redfish

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	lru "github.com/hashicorp/golang-lru/v2"
)

// page is a rendered resource: the body and the header values that go with it, never changed once made.
type page struct {
	body    []byte
	etag    []string
	length  []string
	linkTo  []string
	version Version
	// volatile pages are good for one answer only.
	volatile bool
}

// content is what a GET answers with: how the resource is built, and the key and version under which its
// bytes are kept. An empty key means that they are built for each request.
type content struct {
	key     string
	version Version
	build   func() (resource, error)
}

// volatile is implemented by resources with members that change by themselves, as clocks. They come last in
// the body and are left out of the ETag; the resource is built for each request.
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
	if c.key != "" && !made.volatile {
		p.cache.Add(c.key, made)
	}
	return made, nil
}

func render(c content) (*page, error) {
	from, err := c.build()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	hash := sha256.Sum256(body)
	made := &page{
		etag:   []string{`"` + base64.RawURLEncoding.EncodeToString(hash[:12]) + `"`},
		linkTo: []string{from.describedBy()}, version: c.version,
	}
	made.body = splice(body, `{"@odata.etag":`+strconv.Quote(made.etag[0])+`,`)
	if v, ok := from.(volatile); ok {
		made.volatile = true
		extra, err := json.Marshal(v.volatileMembers())
		if err != nil {
			return nil, fmt.Errorf("render: %w", err)
		}
		made.body = append(append(made.body[:len(made.body)-1], ','), extra[1:]...)
	}
	made.length = []string{strconv.Itoa(len(made.body))}
	return made, nil
}

// splice puts the beginning of an object before the members of another one.
func splice(object []byte, beginning string) []byte {
	out := make([]byte, 0, len(beginning)+len(object)-1)
	return append(append(out, beginning...), object[1:]...)
}
