//go:build !linux

package bench

import (
	"testing"
	"time"
)

const notMeasured = "the costs of another process are measured on Linux only"

func (p *process) cpu(b *testing.B) time.Duration {
	b.Skip(notMeasured)
	return 0
}

func (p *process) memory(b *testing.B, _ string) int {
	b.Skip(notMeasured)
	return 0
}
