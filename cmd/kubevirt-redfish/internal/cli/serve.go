package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// ServeOptions are the flags of serve; empty when not given.
type ServeOptions struct {
	// Config is the path of --config.
	Config string
	// Kubeconfig is the path of --kubeconfig.
	Kubeconfig string
	// Listen and MetricsListen override the configuration (host:port).
	Listen, MetricsListen string
	// Simulate runs on the embedded simulator instead of a cluster.
	Simulate bool
	// Fleet is the file that describes the simulated machines; empty means the sample.
	Fleet string
	// AdminPasswordFile holds the password of the only user when there is no configuration; empty means generate one.
	AdminPasswordFile string
}

// sampleFleet is the value of --simulate without a file.
const sampleFleet = "sample"

func newServe(run func(context.Context, ServeOptions) error) *cobra.Command {
	var o ServeOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve virtual machines over Redfish (the default)",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Simulate = cmd.Flags().Changed("simulate")
			if o.Fleet == sampleFleet {
				o.Fleet = ""
			}
			switch {
			case o.AdminPasswordFile != "" && !o.Simulate:
				return usageError{errors.New("--admin-password-file is for --simulate only; users are in the configuration")}
			case o.Kubeconfig != "" && o.Simulate:
				return usageError{errors.New("--simulate and --kubeconfig cannot be given together")}
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Config, "config", "", "configuration `FILE` (default: $CONFIG_PATH, config.yaml, config/config.yaml, /etc/kubevirt-redfish/config.yaml)")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE` (default: the service account of the pod, else $KUBECONFIG, ~/.kube/config)")
	flags.StringVar(&o.Listen, "listen", "", "`ADDRESS` of the Redfish service, host:port (overrides the configuration)")
	flags.StringVar(&o.MetricsListen, "metrics-listen", "", "`ADDRESS` of metrics and health, host:port (overrides the configuration)")
	flags.StringVar(&o.Fleet, "simulate", "", "run on simulated machines: those of a `FILE`, or a sample of three")
	flags.Lookup("simulate").NoOptDefVal = sampleFleet
	flags.StringVar(&o.AdminPasswordFile, "admin-password-file", "", "`FILE` with the password of admin, with --simulate and no configuration (default: one is generated)")
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if flag := cmd.Flags().Lookup("simulate"); flag != nil && flag.Changed {
		return fmt.Errorf("unexpected argument %q; a fleet file is given as --simulate=FILE", args[0])
	}
	return fmt.Errorf("unexpected argument %q", args[0])
}
