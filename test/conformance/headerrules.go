package conformance

import (
	"context"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

func odataVersion(r *resource) []string {
	if got := r.got.header.Get("OData-Version"); got != "4.0" {
		return one("OData-Version is %q", got)
	}
	return nil
}

func cacheControl(r *resource) []string {
	if r.got.header.Get("Cache-Control") == "" {
		return one("no Cache-Control")
	}
	return nil
}

var describing = regexp.MustCompile(`<([^>]*)>\s*;[^,]*\brel="?describedby\b`)

// describedBy: the Link header names the schema, in the version of @odata.type if in any.
func describedBy(r *resource) []string {
	links := strings.Join(r.got.header.Values("Link"), ", ")
	m := describing.FindStringSubmatch(links)
	if m == nil {
		return one("no Link with rel=describedby but %q", links)
	}
	file, _, _ := strings.Cut(m[1], "#")
	stem := strings.TrimSuffix(path.Base(file), ".json")
	if unversioned, _, _ := strings.Cut(r.typ.namespace, "."); stem != r.typ.namespace && stem != unversioned {
		return one("described by %s, but of type %s", stem, r.typ.namespace)
	}
	return nil
}

var strongTag = regexp.MustCompile(`^"[^"]+"$`)

// etag: header and body have the same strong tag. Registries have no members of OData.
func etag(r *resource) []string {
	tag := r.got.header.Get("ETag")
	if !strongTag.MatchString(tag) {
		return one("ETag is not strong and quoted: %q", tag)
	}
	inBody, ok := r.body["@odata.etag"]
	if !ok && r.entry != nil && !slices.Contains(r.entry.Required, "@odata.id") {
		return nil
	}
	if inBody != tag {
		return one("ETag is %s, @odata.etag is %v", tag, inBody)
	}
	return nil
}

// allow: everything can be read, and only what the schema says can be changed.
func allow(r *resource) []string {
	allowed := methods(r.got)
	var out []string
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		if !slices.Contains(allowed, method) {
			out = append(out, "Allow lacks "+method)
		}
	}
	if r.entry == nil {
		return out
	}
	for method, may := range map[string]bool{
		http.MethodPost:   r.entry.Insertable,
		http.MethodPatch:  r.entry.Updatable,
		http.MethodPut:    r.entry.Updatable,
		http.MethodDelete: r.entry.Deletable,
	} {
		if !may && slices.Contains(allowed, method) {
			out = append(out, "Allow has "+method+", the schema does not")
		}
	}
	return out
}

// methods is the Allow header as a list.
func methods(a *answer) []string {
	return strings.FieldsFunc(strings.Join(a.header.Values("Allow"), ","), func(c rune) bool { return c == ',' || c == ' ' })
}

func head(ctx context.Context, r *resource) []string {
	got, err := r.crawl.client.do(ctx, request{method: http.MethodHead, uri: r.uri})
	if err != nil {
		return one("%v", err)
	}
	if got.status != 200 {
		return one("HEAD answers %d", got.status)
	}
	var out []string
	if len(got.body) > 0 {
		out = append(out, "HEAD answers with a body")
	}
	for _, name := range []string{"Allow", "Cache-Control", "Content-Type", "ETag", "Link", "OData-Version"} {
		if !slices.Equal(got.header.Values(name), r.got.header.Values(name)) {
			out = append(out, "HEAD gives another "+name+" than GET")
		}
	}
	return out
}

func notModified(ctx context.Context, r *resource) []string {
	tag := r.got.header.Get("ETag")
	if tag == "" {
		return nil
	}
	got, err := r.crawl.client.do(ctx, request{method: http.MethodGet, uri: r.uri, ifNoneMatch: tag})
	if err != nil {
		return one("%v", err)
	}
	if got.status != http.StatusNotModified || len(got.body) > 0 || got.header.Get("ETag") != tag {
		return one("If-None-Match with the ETag: %d, %d bytes, ETag %s", got.status, len(got.body), got.header.Get("ETag"))
	}
	return nil
}

// trailingSlash compares what must be equal; clocks and percentages in the body may have moved on.
func trailingSlash(ctx context.Context, r *resource) []string {
	other := r.uri + "/"
	if r.uri == root {
		other = strings.TrimRight(root, "/")
	}
	got, err := r.crawl.client.do(ctx, request{method: http.MethodGet, uri: other})
	if err != nil {
		return one("%v", err)
	}
	if got.status != 200 {
		return one("GET %s answers %d", other, got.status)
	}
	body, err := decode(got.body)
	if err != nil || body["@odata.id"] != r.body["@odata.id"] || got.header.Get("ETag") != r.got.header.Get("ETag") {
		return one("GET %s answers with something else", other)
	}
	return nil
}
