package server

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/config"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// writes are the writes that reached the log.
type writes []string

func (w *writes) Write(text []byte) (int, error) {
	*w = append(*w, string(text))
	return len(text), nil
}

func TestAccessRecordsAreWrittenTogether(t *testing.T) {
	tests := map[string]struct {
		do    func(l *slog.Logger)
		waits int // writes at once
		want  []int
	}{
		"access records wait for each other": {func(l *slog.Logger) { l.Info(redfish.AccessRecord); l.Info(redfish.AccessRecord) }, 0, []int{2}},
		"other records do not wait":          {func(l *slog.Logger) { l.Info(redfish.AccessRecord); l.Info("audit") }, 1, []int{2}},
		"nor do those with attributes": {func(l *slog.Logger) {
			l.With("a", 1).WithGroup("g").Info(redfish.AccessRecord)
			l.With("a", 1).WithGroup("g").Warn("trouble")
		}, 1, []int{2}},
		"many are written before their time": {func(l *slog.Logger) { l.Info(redfish.AccessRecord, "path", strings.Repeat("x", accessBatch)) }, 1, []int{1}},
		"below the level is nothing":         {func(l *slog.Logger) { l.Debug("detail") }, 0, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out writes
				logger, flush := newLogger(&out, config.Logging{})
				defer flush()
				test.do(logger)
				require.Len(t, out, test.waits)
				time.Sleep(accessDelay)
				synctest.Wait()
				var lines []int
				for _, text := range out {
					lines = append(lines, strings.Count(text, "\n"))
				}
				require.Equal(t, test.want, lines)
			})
		})
	}
}

func TestNothingIsLeftInTheLog(t *testing.T) {
	var out writes
	logger, flush := newLogger(&out, config.Logging{})
	logger.Info(redfish.AccessRecord)
	flush()
	require.Len(t, out, 1)
}
