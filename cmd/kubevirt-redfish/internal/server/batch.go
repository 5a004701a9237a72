package server

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

const (
	// accessDelay is how long an access record may wait for others, and accessBatch how many bytes of them do.
	accessDelay = 100 * time.Millisecond
	accessBatch = 16 << 10
)

// batching lets access records of a busy server wait for each other, since a write for each is a tenth of what a
// request costs. Every other record is written at once, with all before it.
type batching struct {
	slog.Handler
	out *batch
}

// Handle writes the record, or lets it wait.
func (h batching) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Message != redfish.AccessRecord {
		h.out.flush()
	}
	return err //nolint:wrapcheck // slog's own
}

// WithAttrs is part of slog.Handler.
func (h batching) WithAttrs(attrs []slog.Attr) slog.Handler {
	return batching{h.Handler.WithAttrs(attrs), h.out}
}

// WithGroup is part of slog.Handler.
func (h batching) WithGroup(name string) slog.Handler {
	return batching{h.Handler.WithGroup(name), h.out}
}

// batch is records that wait to be written.
type batch struct {
	to    io.Writer
	timer *time.Timer // flushes

	mu   sync.Mutex
	text []byte
}

// Write takes a record.
func (b *batch) Write(record []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.text) == 0 {
		b.timer.Reset(accessDelay)
	}
	b.text = append(b.text, record...)
	if len(b.text) >= accessBatch {
		b.write()
	}
	return len(record), nil
}

func (b *batch) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write()
}

// write writes what waits. There is nowhere to tell that the log cannot be written. The caller holds the lock.
func (b *batch) write() {
	if len(b.text) > 0 {
		_, _ = b.to.Write(b.text)
		b.text = b.text[:0]
	}
}
