package config

import (
	"context"
	"crypto/sha256"
	"os"
	"time"
)

// pollInterval is how often the file is read. A change acts after two equal readings, so within 2 s.
const pollInterval = time.Second

// Change is what became of a changed file: a new configuration, or the reason why the old one stays in force.
type Change struct {
	Config   *Config
	Warnings Problems
	Err      error
}

// Watch reports every change of the file after the reading that current came from, until ctx ends. The calls of report
// do not overlap.
//
// It reads the content again and again rather than to wait for notifications: these differ between editors, the
// kubelet's exchange of the ..data link and network file systems, and reading one small file a second costs nothing.
// Only what was read twice in a row counts, so that a file which is still being written is left alone.
func Watch(ctx context.Context, s Source, current *Config, report func(Change)) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	known := reading{sum: current.content}
	previous := known
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		content, err := os.ReadFile(s.Path)
		now := readingOf(content, err)
		settled := now == previous
		previous = now
		if !settled || now == known {
			continue
		}
		known = now
		report(s.judge(content, err))
	}
}

// reading is what one look at the file found; equal for equal findings.
type reading struct {
	sum   [sha256.Size]byte
	error string
}

func readingOf(content []byte, err error) reading {
	if err != nil {
		return reading{error: err.Error()}
	}
	return reading{sum: sha256.Sum256(content)}
}
