// Command lab builds, starts, shows and stops a Kubernetes and KubeVirt control plane on loopback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab"
)

const usage = `usage: lab build|up|status|down [flags]
  build   compile the programs, unless that was done before
  up      build, start a lab and print the path of its kubeconfig
  status  show the programs of a lab; fails when one has ended
  down    stop a lab
`

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	commands := map[string]func(context.Context, []string) error{"build": build, "up": up, "status": status, "down": down}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := commands[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// buildFlags are those of build and up.
type buildFlags struct{ source, cache string }

func (b *buildFlags) add(fs *flag.FlagSet) error {
	cache, err := lab.DefaultCache()
	fs.StringVar(&b.source, "programs", "programs", "folder of the programs' module")
	fs.StringVar(&b.cache, "cache", cache, "folder that keeps built programs")
	return err
}

func (b *buildFlags) run(ctx context.Context) (lab.Built, error) {
	built, err := lab.Build(ctx, b.source, b.cache, os.Stderr)
	if err == nil {
		slog.Info("built", "dir", built.Dir, "cached", built.Cached, "wall", round(built.Wall), "cpu", round(built.CPU))
	}
	return built, err
}

func round(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

func build(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("build", flag.ExitOnError)
	var b buildFlags
	if err := b.add(fs); err != nil {
		return err
	}
	_ = fs.Parse(args)
	built, err := b.run(ctx)
	if err == nil {
		fmt.Println(built.Dir)
	}
	return err
}

func up(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("up", flag.ExitOnError)
	var b buildFlags
	if err := b.add(fs); err != nil {
		return err
	}
	o := lab.DefaultOptions()
	optionFlags(fs, &o)
	_ = fs.Parse(args)
	if err := o.Validate(); err != nil {
		return err
	}
	built, err := b.run(ctx)
	if err != nil {
		return err
	}
	kubeconfig, err := lab.Up(ctx, built.Dir, o)
	if err == nil {
		fmt.Println(kubeconfig)
	}
	return err
}

func optionFlags(fs *flag.FlagSet, o *lab.Options) {
	fs.StringVar(&o.State, "state", "", "folder of the lab (needed)")
	fs.IntVar(&o.PortBase, "port-base", 0, "first of a hundred ports; 0 takes the first free hundred from 16400 on")
	fs.IntVar(&o.Nodes, "nodes", o.Nodes, "number of nodes")
	fs.Func("gates", "on, or off to play a KubeVirt without RebootPolicy and DeclarativeHotplugVolumes (default on)", func(v string) error {
		if v != "on" && v != "off" {
			return errors.New("neither on nor off")
		}
		o.Gates = v == "on"
		return nil
	})
	for _, f := range []struct {
		name string
		to   *time.Duration
		what string
	}{
		{"heartbeat", &o.Heartbeat, "time between two heartbeats of a node"},
		{"node-grace", &o.NodeGrace, "time without a heartbeat until a node is NotReady"},
		{"toleration", &o.Toleration, "time until pods of a NotReady node are evicted"},
		{"pod-start", &o.PodStart, "Pending to Running of a pod"},
		{"boot", &o.Boot, "Scheduled to Running of a VMI"},
		{"agent", &o.Agent, "boot of an installed disk to guest agent and readiness"},
		{"shutdown", &o.Shutdown, "how long a guest takes to shut down"},
		{"hotplug", &o.Hotplug, "each step of a hotplug"},
		{"import-retry", &o.ImportRetry, "wait before a failed import is tried again"},
	} {
		fs.DurationVar(f.to, f.name, *f.to, f.what)
	}
}

func status(_ context.Context, args []string) error {
	fs := flag.NewFlagSet("status", flag.ExitOnError)
	state := fs.String("state", "", "folder of the lab (needed)")
	_ = fs.Parse(args)
	if *state == "" {
		return errors.New("no state folder")
	}
	all, err := lab.Status(*state)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("no lab runs in %s", *state)
	}
	ended := 0
	for _, p := range all {
		how := "running"
		if !p.Alive {
			how = "ENDED"
			ended++
		}
		fmt.Printf("%-24s %8d %-8s %5d MB  %s\n", p.Name, p.PID, how, p.RSS>>20, p.Log)
	}
	if ended > 0 {
		return fmt.Errorf("%d programs have ended", ended)
	}
	return nil
}

func down(_ context.Context, args []string) error {
	fs := flag.NewFlagSet("down", flag.ExitOnError)
	state := fs.String("state", "", "folder of the lab (needed)")
	clean := fs.Bool("clean", false, "also remove keys, data and process records; logs stay")
	_ = fs.Parse(args)
	if *state == "" {
		return errors.New("no state folder")
	}
	start := time.Now()
	if err := lab.Down(*state, *clean); err != nil {
		return err
	}
	slog.Info("stopped", "after", round(time.Since(start)))
	return nil
}
