package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker in releases (-X); else it is the one that Go derives from the repository.
var version string

// Build is what this program was made from.
type Build struct{ Version, Revision, Go string }

// ThisBuild reads what Go and the linker put into the program.
func ThisBuild() Build {
	b := Build{Version: version, Revision: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			b.Revision = setting.Value
		}
	}
	return b
}

func (b Build) String() string {
	return fmt.Sprintf("%s (revision %s, %s %s/%s)", b.Version, b.Revision, b.Go, runtime.GOOS, runtime.GOARCH)
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), program, ThisBuild())
			return err
		},
	}
}
