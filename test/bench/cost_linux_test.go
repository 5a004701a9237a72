package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// cpu is the time that the process has spent on processors so far. The clock of another process is exact, while
// /proc/PID/stat counts in steps of 10 ms.
func (p *process) cpu(b *testing.B) time.Duration {
	b.Helper()
	const scheduled = 2 // CPUCLOCK_SCHED: see clock_getcpuclockid(3)
	var spent syscall.Timespec
	_, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(^p.pid<<3|scheduled), uintptr(unsafe.Pointer(&spent)), 0)
	require.Zero(b, failed)
	return time.Duration(spent.Nano())
}

// memory is a size from /proc/PID/status in bytes: VmHWM is the largest resident size so far.
func (p *process) memory(b *testing.B, name string) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	require.NoError(b, err)
	_, rest, found := strings.Cut(string(text), name+":")
	require.True(b, found, name)
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(b, err)
	return kib << 10
}
