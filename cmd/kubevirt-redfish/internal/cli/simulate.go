package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// SimulateOptions are the flags of simulate.
type SimulateOptions struct {
	// Listen is host:port.
	Listen string
	// KubeconfigOut is the file to write for clients; empty means none.
	KubeconfigOut string
	// Fleet is the file that describes the machines, and VMs how many plain ones to make. At most one is set; neither means
	// the sample.
	Fleet string
	VMs   int
}

func newSimulate(run func(context.Context, SimulateOptions) error) *cobra.Command {
	var o SimulateOptions
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Run the simulated KubeVirt alone, for kubectl and other programs",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			counted := cmd.Flags().Changed("vms")
			switch {
			case counted && o.Fleet != "":
				return usageError{errors.New("--fleet and --vms cannot be given together")}
			case counted && o.VMs < 1:
				return usageError{errors.New("--vms must be at least 1")}
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:6443", "`ADDRESS` of the API, host:port")
	flags.StringVar(&o.KubeconfigOut, "kubeconfig-out", "", "`FILE` to write a kubeconfig to")
	flags.StringVar(&o.Fleet, "fleet", "", "`FILE` that describes the machines (default: a sample of three)")
	flags.IntVar(&o.VMs, "vms", 0, "make `N` plain machines instead")
	return cmd
}
