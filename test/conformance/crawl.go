package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Options of a crawl.
type Options struct {
	Schemas *Schemas // required
	// Limit ends a crawl with an error when a service links more resources than this; 0 means 10,000.
	Limit int
}

// Rule names one demand on a resource, as in the tables of rules.go.
type Rule string

// Finding is one violation of a rule.
type Finding struct {
	URI    string
	Rule   Rule
	Detail string
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.URI, f.Rule, f.Detail) }

// Report is the outcome of a crawl.
type Report struct {
	// Types is the @odata.type of every URI that answered with a JSON object.
	Types map[string]string
	// Findings are sorted by URI, rule and detail.
	Findings []Finding
}

// String gives one line per finding.
func (r *Report) String() string {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// resource is one URI that some link leads to, and what a GET of it gave.
type resource struct {
	uri    string // as linked, without fragment and trailing slash
	from   string // the first resource that links here
	member bool   // linked from Members of a collection
	got    *answer
	body   map[string]any // nil when the answer is not a JSON object
	typ    odataType
	entry  *Entry // nil when the manifest does not know the type
	links  []link
	crawl  *crawl
}

// path is the URI without its query.
func (r *resource) path() string {
	path, _, _ := strings.Cut(r.uri, "?")
	return path
}

// page tells whether this is a further page of a collection and no resource of its own.
func (r *resource) page() bool { return r.path() != r.uri }

type crawl struct {
	client  Client
	schemas *Schemas
	found   map[string]*resource
}

// Crawl reads every resource that can be reached from start, each once, and applies every rule to it.
// It fails only when the service cannot be talked to; what is wrong with the answers is in the report.
func Crawl(ctx context.Context, client Client, start string, opts Options) (*Report, error) {
	if opts.Schemas == nil {
		return nil, errors.New("crawl: no schemas")
	}
	c := &crawl{client: client, schemas: opts.Schemas, found: map[string]*resource{}}
	if err := c.collect(ctx, start, cmp.Or(opts.Limit, 10_000)); err != nil {
		return nil, fmt.Errorf("crawl: %w", err)
	}
	report := &Report{Types: map[string]string{}}
	for uri, r := range c.found {
		if r.body != nil {
			report.Types[uri], _ = r.body["@odata.type"].(string)
		}
		report.Findings = append(report.Findings, r.check(ctx)...)
	}
	slices.SortFunc(report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.URI, b.URI), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Detail, b.Detail))
	})
	return report, ctx.Err()
}

// collect reads everything that is linked, before any rule can disturb the service.
func (c *crawl) collect(ctx context.Context, start string, limit int) error {
	c.found[canonical(start)] = &resource{uri: canonical(start), from: "the start", crawl: c}
	for queue := slices.Collect(maps.Values(c.found)); len(queue) > 0; queue = queue[1:] {
		r := queue[0]
		if err := c.read(ctx, r); err != nil {
			return err
		}
		for _, l := range r.links {
			uri := canonical(l.uri)
			if known := c.found[uri]; known != nil {
				known.member = known.member || l.member
				continue
			}
			next := &resource{uri: uri, from: r.uri, member: l.member, crawl: c}
			c.found[uri] = next
			queue = append(queue, next)
		}
		if len(c.found) > limit {
			return fmt.Errorf("more than %d resources", limit)
		}
	}
	return nil
}

func (c *crawl) read(ctx context.Context, r *resource) error {
	var err error
	if r.got, err = c.client.do(ctx, request{method: "GET", uri: r.uri}); err != nil {
		return err
	}
	if r.body, err = decode(r.got.body); err != nil || r.got.status != 200 {
		r.body = nil // a finding of the rules, not a failure of the crawl
		return nil   //nolint:nilerr // likewise
	}
	text, _ := r.body["@odata.type"].(string)
	r.typ, _ = parseType(text)
	if e, ok := c.schemas.manifest[r.typ.name]; ok {
		r.entry = &e
	}
	r.links = linksOf(r)
	return nil
}
