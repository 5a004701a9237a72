package conformance

import (
	"context"
	"fmt"
	"mime"
)

// Every rule returns one text for each violation. The rules of an answer come first; the others need
// a body that is a JSON object.
var (
	answerRules = map[Rule]func(*resource) []string{
		"status":       status,
		"content-type": contentType,
		"json-object":  jsonObject,
		"json-keys":    jsonKeys,
	}
	bodyRules = map[Rule]func(*resource) []string{
		// schemarules.go
		"schema":       validSchema,
		"required":     required,
		"deprecated":   deprecated,
		"empty-string": emptyString,
		"write-only":   writeOnly,
		"copyright":    copyright,
		// linkrules.go
		"odata-id":       odataID,
		"uri-pattern":    uriPattern,
		"id-segment":     idSegment,
		"count":          count,
		"reference":      reference,
		"link-form":      linkForm,
		"link-type":      linkType,
		"action-target":  actionTarget,
		"action-members": actionMembers,
		// headerrules.go
		"odata-version": odataVersion,
		"cache-control": cacheControl,
		"described-by":  describedBy,
		"etag":          etag,
		"allow":         allow,
	}
	// probeRules send requests of their own. They are not applied to further pages of a collection.
	probeRules = map[Rule]func(context.Context, *resource) []string{
		// headerrules.go
		"head":           head,
		"not-modified":   notModified,
		"trailing-slash": trailingSlash,
		// methodrules.go
		"unknown-child":  unknownChild,
		"unknown-action": unknownAction,
		"wrong-method":   wrongMethod,
	}
)

// check applies all rules that can be applied to r.
func (r *resource) check(ctx context.Context) []Finding {
	var found []Finding
	add := func(rule Rule, details []string) {
		for _, d := range details {
			found = append(found, Finding{URI: r.uri, Rule: rule, Detail: d})
		}
	}
	for rule, check := range answerRules {
		add(rule, check(r))
	}
	if r.body == nil {
		return found
	}
	for rule, check := range bodyRules {
		add(rule, check(r))
	}
	if r.page() {
		return found
	}
	for rule, probe := range probeRules {
		add(rule, probe(ctx, r))
	}
	return found
}

func status(r *resource) []string {
	if r.got.status != 200 {
		return one("GET answers %d, linked from %s", r.got.status, r.from)
	}
	return nil
}

func contentType(r *resource) []string {
	got := r.got.header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(got); err != nil || media != "application/json" {
		return one("Content-Type is %q", got)
	}
	return nil
}

func jsonObject(r *resource) []string {
	if r.got.status != 200 {
		return nil
	}
	if _, err := decode(r.got.body); err != nil {
		return one("%v", err)
	}
	return nil
}

func jsonKeys(r *resource) []string { return duplicateKeys(r.got.body) }

// one is the result of a rule with a single violation.
func one(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }
