package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// role is what this test binary does when it is started again as another process. It tells its parent what the
// parent needs, once for each call of tell, and ends when ctx does.
type role func(ctx context.Context, arguments []string, tell func(any))

var roles = map[string]role{"bare": serveBare, "cluster": serveCluster, "decode": decodeOnce, "cache": fillCache}

// roleVariable is the environment variable that names the role of a process.
const roleVariable = "KUBEVIRT_REDFISH_BENCH_ROLE"

func TestMain(m *testing.M) {
	play, isChild := roles[os.Getenv(roleVariable)]
	if !isChild {
		code := m.Run()
		printTable(os.Stdout)
		_ = os.RemoveAll(buildFolder) // nothing is lost by what stays
		os.Exit(code)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it or is gone
		cancel()
	}()
	play(ctx, os.Args[1:], func(what any) { must(json.NewEncoder(os.Stdout).Encode(what)) })
	os.Exit(0)
}

// process is a running child.
type process struct {
	pid   int
	told  *bufio.Reader
	stdin io.Closer
	end   func()
}

// startRole starts this binary in a role. It ends with the benchmark, or when end is called.
func startRole(b *testing.B, name string, arguments ...string) *process {
	b.Helper()
	cmd := exec.Command(os.Args[0], arguments...)
	cmd.Env = append(os.Environ(), roleVariable+"="+name)
	cmd.Stderr = os.Stderr
	return start(b, cmd)
}

func start(b *testing.B, cmd *exec.Cmd) *process {
	b.Helper()
	stdin, err := cmd.StdinPipe()
	require.NoError(b, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	p := &process{pid: cmd.Process.Pid, told: bufio.NewReader(stdout), stdin: stdin}
	ended := false
	p.end = func() {
		if !ended {
			ended = true
			_ = stdin.Close()
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait() // an interrupted process may say anything
		}
	}
	b.Cleanup(p.end)
	return p
}

// hear reads what a role tells.
func (p *process) hear(b *testing.B, into any) {
	b.Helper()
	line, err := p.told.ReadBytes('\n')
	require.NoError(b, err, "the process ended early")
	require.NoError(b, json.Unmarshal(line, into))
}
