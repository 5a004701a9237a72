package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// watched runs Watch on the file in fake time and hands what it reports to the steps.
func watched(t *testing.T, path string, steps func(settle func() []Change)) {
	synctest.Test(t, func(t *testing.T) {
		source := Source{Path: path}
		current, _, err := Load(source)
		require.NoError(t, err)
		reported := make(chan Change, 16)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			Watch(ctx, source, current, func(c Change) { reported <- c })
		}()
		steps(func() []Change {
			time.Sleep(2*pollInterval + time.Millisecond)
			synctest.Wait()
			var changes []Change
			for len(reported) > 0 {
				changes = append(changes, <-reported)
			}
			return changes
		})
		cancel()
		<-done
	})
}

func TestChangesAreReportedOnceAndBrokenOnesKeepTheOld(t *testing.T) {
	path := written(t, minimal)
	write := func(content string) { require.NoError(t, os.WriteFile(path, []byte(content), 0o600)) }
	watched(t, path, func(settle func() []Change) {
		require.Empty(t, settle(), "nothing changed")

		write(strings.Replace(minimal, "pw-A", "pw-B", 1) + "servers: {}\n")
		changes := settle()
		require.Len(t, changes, 1)
		require.NoError(t, changes[0].Err)
		require.Equal(t, "pw-B", changes[0].Config.Authentication.Users[0].Password.Plain)
		require.Len(t, changes[0].Warnings, 1)

		write("chassis: [\n")
		changes = settle()
		require.Len(t, changes, 1)
		require.ErrorContains(t, changes[0].Err, "line 1")
		require.Nil(t, changes[0].Config)
		require.Empty(t, settle(), "one report for one broken content")

		require.NoError(t, os.Remove(path))
		changes = settle()
		require.Len(t, changes, 1)
		require.ErrorContains(t, changes[0].Err, "does not exist")

		write(minimal)
		changes = settle()
		require.Len(t, changes, 1)
		require.NoError(t, changes[0].Err)
	})
}

func TestSymlinkSwapOfTheKubeletIsSeen(t *testing.T) {
	dir := t.TempDir()
	publish := func(version, content string) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, version, "config.yaml"), []byte(content), 0o600))
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	}
	publish("..v1", minimal)
	path := filepath.Join(dir, "config.yaml")
	require.NoError(t, os.Symlink("..data/config.yaml", path))
	watched(t, path, func(settle func() []Change) {
		publish("..v2", strings.Replace(minimal, "pw-A", "pw-B", 1))
		changes := settle()
		require.Len(t, changes, 1)
		require.Equal(t, "pw-B", changes[0].Config.Authentication.Users[0].Password.Plain)
	})
}

func TestFileThatIsStillBeingWrittenIsLeftAlone(t *testing.T) {
	path := written(t, minimal)
	watched(t, path, func(settle func() []Change) {
		half := strings.Replace(minimal, "pw-A", "pw-B", 1)
		require.NoError(t, os.WriteFile(path, []byte(half), 0o600))
		time.Sleep(pollInterval + time.Millisecond)
		require.NoError(t, os.WriteFile(path, []byte(half+"metrics: {listen: ':1'}\n"), 0o600))
		changes := settle()
		require.Len(t, changes, 1)
		require.Equal(t, ":1", changes[0].Config.Metrics.Listen)
	})
}
