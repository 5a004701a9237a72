package lab

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	kubernetesVersion = "v1.34.4"
	kubevirtVersion   = "v1.9.0"
	keptBuilds        = 3 // in the cache; one is about 320 MB
)

// binaries is a folder with the built programs.
type binaries string

func (b binaries) program(name string) string { return filepath.Join(string(b), name) }

// Built is what Build did.
type Built struct {
	Dir    string
	Cached bool // nothing had to be compiled
	Wall   time.Duration
	CPU    time.Duration // user and system, of the compiler and the linker
}

// target is one run of go build: the programs that carry the same version.
type target struct {
	ldflags  string
	packages []string
}

var targets = []target{
	{stamp(kubevirtVersion, "", "kubevirt.io/client-go/version"), []string{"./cmd/kvgen", "./cmd/virt", "./cmd/fakenode"}},
	{stamp(kubernetesVersion, " -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=34", "k8s.io/component-base/version", "k8s.io/client-go/pkg/version"), []string{"./cmd/controlplane"}},
}

// stamp is the linker's flags that make the version endpoints tell the version; without it they say v0.0.0-master.
func stamp(version, more string, packages ...string) string {
	flags := "-s -w"
	for _, p := range packages {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitTreeState=clean -X %[1]s.gitCommit=lab -X %[1]s.buildDate=2026-01-01T00:00:00Z", p, version)
		if more != "" {
			flags += fmt.Sprintf(more, p)
		}
	}
	return flags
}

// DefaultCache is where builds are kept: kubevirt-redfish/lab in the user's cache folder.
func DefaultCache() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "kubevirt-redfish", "lab"), err
}

// Build compiles the programs of the module in source into a folder of cache that is named after all inputs, unless it is there.
// Builds at the same time wait for each other.
func Build(ctx context.Context, source, cache string, progress io.Writer) (Built, error) {
	start := time.Now()
	key, err := inputs(ctx, source)
	if err != nil {
		return Built{}, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil { //nolint:gosec // programs, nothing secret
		return Built{}, err
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return Built{}, err
	}
	defer unlock()
	b := Built{Dir: filepath.Join(cache, key)}
	if _, err := os.Stat(b.Dir); err == nil {
		b.Cached, b.Wall = true, time.Since(start)
		return b, os.Chtimes(b.Dir, time.Now(), time.Now()) // newest, so that it is kept
	}
	b.CPU, err = compile(ctx, source, cache, b.Dir, progress)
	b.Wall = time.Since(start)
	return b, err
}

func compile(ctx context.Context, source, cache, dir string, progress io.Writer) (time.Duration, error) {
	unfinished := filepath.Join(cache, "unfinished")
	if err := os.RemoveAll(unfinished); err != nil {
		return 0, err
	}
	if err := seed(cache, unfinished); err != nil {
		return 0, err
	}
	var cpu time.Duration
	for _, t := range targets {
		args := append([]string{"build", "-buildvcs=false", "-mod=readonly", "-trimpath", "-ldflags", t.ldflags, "-o", unfinished + "/"}, t.packages...)
		cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // constant flags
		cmd.Dir, cmd.Stdout, cmd.Stderr = source, progress, progress
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		err := cmd.Run()
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if err != nil {
			return cpu, fmt.Errorf("go build %s: %w", strings.Join(t.packages, " "), err)
		}
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return cpu, err
	}
	return cpu, prune(cache)
}

// seed links the newest build into dir: go build then skips every program that is up to date. It replaces files, never changes them.
func seed(cache, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // programs, nothing secret
		return err
	}
	builds, err := builds(cache)
	if err != nil || len(builds) == 0 {
		return err
	}
	newest := filepath.Join(cache, builds[0].Name())
	files, err := os.ReadDir(newest)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Link(filepath.Join(newest, f.Name()), filepath.Join(dir, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// prune removes all but the newest builds. Programs that run do not mind.
func prune(cache string) error {
	builds, err := builds(cache)
	if err != nil {
		return err
	}
	for _, b := range builds[min(keptBuilds, len(builds)):] {
		if err := os.RemoveAll(filepath.Join(cache, b.Name())); err != nil {
			return err
		}
	}
	return nil
}

// builds lists the finished builds, newest first.
func builds(cache string) ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return nil, err
	}
	var out []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		if e.IsDir() && e.Name() != "unfinished" {
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b fs.FileInfo) int { return cmp.Compare(b.ModTime().UnixNano(), a.ModTime().UnixNano()) })
	return out, nil
}

// inputs hashes everything that a build depends on: the module's files, the flags and the compiler.
func inputs(ctx context.Context, source string) (string, error) {
	sum := sha256.New()
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOEXPERIMENT")
	cmd.Dir, cmd.Stderr = source, os.Stderr
	env, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env in %s: %w", source, err)
	}
	_, _ = fmt.Fprintf(sum, "%s%v", env, targets)
	err = filepath.WalkDir(source, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path) //nolint:gosec // our own sources
		name, _ := filepath.Rel(source, path)
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(raw), raw)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}

func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in the cache folder
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return func() { _ = f.Close() }, nil
}
