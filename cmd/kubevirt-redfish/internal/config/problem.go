package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong, and where.
type Problem struct {
	// Path is the key, as in "chassis[1].name"; empty for the file as a whole.
	Path string
	// Line in the file, from 1; 0 when it is not known.
	Line int
	Text string
}

func (p Problem) String() string {
	var where string
	switch {
	case p.Path != "" && p.Line > 0:
		where = fmt.Sprintf("%s (line %d): ", p.Path, p.Line)
	case p.Path != "":
		where = p.Path + ": "
	case p.Line > 0:
		where = fmt.Sprintf("line %d: ", p.Line)
	}
	return where + p.Text
}

// Problems is all that is wrong with a configuration; as an error it is one line.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "; ")
}

// asError is nil without problems.
func (p Problems) asError() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// addNew adds what is found at other places than the problems so far: a value that could not be read is not also
// reported as missing.
func (p *Problems) addNew(found Problems) {
	known := map[string]bool{}
	for _, problem := range *p {
		known[problem.Path] = true
	}
	for _, problem := range found {
		if !known[problem.Path] {
			*p = append(*p, problem)
		}
	}
}

// locate gives each problem the line of its key, or of the nearest enclosing key that is in the file.
func (p Problems) locate(lines map[string]int) {
	for i := range p {
		for path := p[i].Path; p[i].Line == 0 && path != ""; path = parent(path) {
			p[i].Line = lines[path]
		}
	}
}

// parent is the path without its last key or index.
func parent(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }
