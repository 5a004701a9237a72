package conformance

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Problem is one violation of a schema.
type Problem struct {
	Path   string // JSON pointer of the offending value, "" for the body itself
	Reason string
	// Missing is the absent required property, if that is the problem.
	Missing string
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Reason
	}
	return p.Path + ": " + p.Reason
}

// Problems are all violations in one body.
type Problems []Problem

// Error gives one line per problem.
func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps))
	for _, p := range ps {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// add appends p, found in the object at prefix, unless that place has a problem already.
func (ps Problems) add(prefix string, p Problem) Problems {
	p.Path = prefix + p.Path
	if slices.ContainsFunc(ps, func(q Problem) bool { return q.Path == p.Path }) {
		return ps
	}
	return append(ps, p)
}

func problemsOf(e *jsonschema.ValidationError) Problems {
	var out Problems
	for _, leaf := range leaves(e) {
		at := pointer(leaf.InstanceLocation)
		if k, ok := leaf.ErrorKind.(*kind.Required); ok {
			for _, name := range k.Missing {
				out = append(out, Problem{Path: at, Reason: "missing property " + name, Missing: name})
			}
			continue
		}
		out = append(out, Problem{Path: at, Reason: reason(leaf)})
	}
	return out
}

func pointer(steps []string) string {
	if len(steps) == 0 {
		return ""
	}
	return "/" + strings.Join(steps, "/")
}

// reason is the library's wording without the place in front of it.
func reason(leaf *jsonschema.ValidationError) string {
	text := leaf.Error()
	if _, after, ok := strings.Cut(text, "': "); ok && strings.HasPrefix(text, "at '") {
		return after
	}
	return text
}

// leaves returns the violations that caused e. Of alternatives only the one that was probably meant
// is told: the schemas list every version, a plain reference and null next to each other.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	if _, ok := e.ErrorKind.(*kind.AnyOf); ok {
		return leaves(slices.MaxFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
			return likeness(a, len(e.InstanceLocation)) - likeness(b, len(e.InstanceLocation))
		}))
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// likeness ranks an alternative for a value at the given depth: a false schema is never meant, a
// resource not without its @odata.type, a reference seldom.
func likeness(e *jsonschema.ValidationError, depth int) int {
	rank := 3
	for _, leaf := range leaves(e) {
		if len(leaf.InstanceLocation) > depth {
			continue
		}
		switch k := leaf.ErrorKind.(type) {
		case *kind.FalseSchema:
			return 0
		case *kind.Required:
			if slices.Contains(k.Missing, "@odata.type") {
				rank = min(rank, 1)
			}
		}
		if strings.HasSuffix(leaf.SchemaURL, "#/definitions/idRef") {
			rank = min(rank, 2)
		}
	}
	return rank
}
