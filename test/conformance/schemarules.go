package conformance

import (
	"slices"
)

// validSchema leaves the members that the manifest requires to the rule "required".
func validSchema(r *resource) []string {
	problems, err := r.crawl.schemas.problems(r.body)
	if err != nil {
		return one("%v", err)
	}
	var out []string
	for _, p := range problems {
		if p.Path == "" && r.entry != nil && slices.Contains(r.entry.Required, p.Missing) {
			continue
		}
		out = append(out, p.String())
	}
	return out
}

func required(r *resource) []string {
	if r.entry == nil {
		return nil
	}
	var out []string
	for _, name := range r.entry.Required {
		if _, ok := r.body[name]; !ok {
			out = append(out, "missing property "+name)
		}
	}
	return out
}

func deprecated(r *resource) []string {
	return r.where(func(p property) bool { return p.deprecated })
}

// emptyString: a read-only value that is not known is null or left out.
func emptyString(r *resource) []string {
	return r.where(func(p property) bool { return p.readOnly && p.value == "" })
}

// writeOnly: what can only be written, such as a password, reads as null.
func writeOnly(r *resource) []string {
	return r.where(func(p property) bool { return p.writeOnly && p.value != nil })
}

// where lists the paths of the properties that match.
func (r *resource) where(match func(property) bool) []string {
	var out []string
	r.crawl.schemas.files.properties(r.typ, r.body, func(p property) {
		if match(p) {
			out = append(out, p.path)
		}
	})
	return out
}

func copyright(r *resource) []string {
	if _, ok := r.body["@Redfish.Copyright"]; ok && r.typ.name != "MessageRegistry" {
		return one("only a message registry may have @Redfish.Copyright")
	}
	return nil
}
