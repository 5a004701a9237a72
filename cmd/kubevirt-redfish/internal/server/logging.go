package server

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/config"
)

// newLogger writes records as JSON, one a line. Access records may wait for a moment; flush writes them.
func newLogger(to io.Writer, l config.Logging) (logger *slog.Logger, flush func()) {
	level := l.Level
	if l.Off {
		level = slog.LevelError
	}
	out := &batch{to: to}
	out.timer = time.AfterFunc(accessDelay, out.flush)
	return slog.New(batching{slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}), out}), out.flush
}

// demoted makes debug records of all records. The client libraries report each of many tries; what matters of
// them is logged once by the backend.
type demoted struct{ slog.Handler }

// Enabled is part of [slog.Handler].
func (d demoted) Enabled(ctx context.Context, _ slog.Level) bool {
	return d.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle is part of [slog.Handler].
func (d demoted) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return d.Handler.Handle(ctx, r) //nolint:wrapcheck // a handler passes errors on as they are
}

// WithAttrs is part of [slog.Handler].
func (d demoted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return demoted{d.Handler.WithAttrs(attrs)}
}

// WithGroup is part of [slog.Handler].
func (d demoted) WithGroup(name string) slog.Handler { return demoted{d.Handler.WithGroup(name)} }
