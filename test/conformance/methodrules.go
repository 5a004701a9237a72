package conformance

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

func unknownChild(ctx context.Context, r *resource) []string {
	uri := strings.TrimRight(r.uri, "/") + "/NoSuchChild"
	return r.refused(ctx, request{method: http.MethodGet, uri: uri}, http.StatusNotFound)
}

// unknownAction: an action that a resource with actions does not have is as absent as any other URI.
func unknownAction(ctx context.Context, r *resource) []string {
	if _, ok := r.body["Actions"]; !ok {
		return nil
	}
	uri := r.uri + "/Actions/" + r.typ.name + ".NoSuchAction"
	return r.refused(ctx, request{method: http.MethodPost, uri: uri, body: "{}"}, http.StatusNotFound)
}

// wrongMethod sends what Allow leaves out. Without an Allow header it sends nothing: that is reported
// by the rule "allow", and any method might be a right one.
func wrongMethod(ctx context.Context, r *resource) []string {
	allowed := methods(r.got)
	if len(allowed) == 0 {
		return nil
	}
	var out []string
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if !slices.Contains(allowed, method) {
			out = append(out, r.refused(ctx, request{method: method, uri: r.uri, body: "{}"}, http.StatusMethodNotAllowed)...)
		}
	}
	return out
}

// refused sends req and checks that it is answered with the status and a Redfish error.
func (r *resource) refused(ctx context.Context, req request, want int) []string {
	got, err := r.crawl.client.do(ctx, req)
	if err != nil {
		return one("%v", err)
	}
	name := req.method + " " + req.uri
	if got.status != want {
		return one("%s answers %d, not %d", name, got.status, want)
	}
	out := r.crawl.schemas.errorProblems(got)
	if want == http.StatusMethodNotAllowed && len(methods(got)) == 0 {
		out = append(out, "no Allow header")
	}
	for i, text := range out {
		out[i] = name + ": " + text
	}
	return out
}
