// Command kubevirt-redfish serves KubeVirt's virtual machines as Redfish machines.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/cli"
	"github.com/kubevirt-redfish/kubevirt-redfish/cmd/kubevirt-redfish/internal/server"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	programs := server.Programs{
		Out: os.Stdout, Err: os.Stderr, Version: cli.ThisBuild().Version,
		Env: os.LookupEnv, //nolint:forbidigo // this is main
	}
	return cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, cli.Commands{
		Serve: programs.Serve, Simulate: programs.Simulate,
	})
}
