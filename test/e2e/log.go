package e2e

import (
	"bytes"
	"encoding/json"
	"sync"
)

// Log collects log records.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes one record.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b) //nolint:wrapcheck // never fails
}

// String is everything so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Records are the records with that message.
func (l *Log) Records(message string) []map[string]any {
	var found []map[string]any
	for line := range bytes.Lines([]byte(l.String())) {
		var record map[string]any
		if json.Unmarshal(line, &record) == nil && record["msg"] == message {
			found = append(found, record)
		}
	}
	return found
}
