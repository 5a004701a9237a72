package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/config"
)

func newConfig() *cobra.Command {
	group := &cobra.Command{
		Use:   "config",
		Short: "Work with the configuration file",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("a command is missing: config check FILE")}
		},
	}
	group.AddCommand(&cobra.Command{
		Use:   "check FILE",
		Short: "Report all that is wrong with a configuration file",
		Long: "Reports all that is wrong with a configuration file, unknown keys included. The environment and flags are not " +
			"looked at.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := config.Load(config.Source{Path: args[0], Strict: true}); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: ok\n", args[0])
			return err
		},
	})
	return group
}
