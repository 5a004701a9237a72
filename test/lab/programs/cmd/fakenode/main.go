// Command fakenode is the simulated part of the lab: nodes with their kubelets, virt-handlers and guests (package node), a storage
// provisioner and CDI (package storage). Package knob lists the annotations that steer it.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/node"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/storage"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx); err != nil {
		slog.Error("fakenode", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o node.Options
	kubeconfig := flag.String("kubeconfig", "", "of an administrator; virt-handlers are impersonated")
	importRetry := flag.Duration("import-retry", time.Second, "wait before a failed import is tried again")
	flag.StringVar(&o.PKI, "pki", "", "folder with virt-handler's certificates")
	flag.IntVar(&o.Nodes, "nodes", 3, "number of nodes")
	flag.IntVar(&o.HandlerPort, "handler-port", 0, "port of node-N's virt-handler on 127.0.1.N")
	flag.DurationVar(&o.Heartbeat, "heartbeat", 3*time.Second, "time between two heartbeats of a node")
	flag.DurationVar(&o.Delays.PodStart, "pod-start", 100*time.Millisecond, "Pending to Running of a pod")
	flag.DurationVar(&o.Delays.Boot, "boot", 300*time.Millisecond, "Scheduled to Running of a VMI")
	flag.DurationVar(&o.Delays.Agent, "agent", 500*time.Millisecond, "boot of an installed disk to guest agent and readiness")
	flag.DurationVar(&o.Delays.Shutdown, "shutdown", 500*time.Millisecond, "how long a guest takes to shut down")
	flag.DurationVar(&o.Delays.Hotplug, "hotplug", 200*time.Millisecond, "each step of a hotplug")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	return serve(ctx, config, o, *importRetry)
}

func serve(ctx context.Context, config *rest.Config, o node.Options, importRetry time.Duration) error {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(kube, 0)
	fleet, err := node.New(config, kube, factory, o)
	if err != nil {
		return err
	}
	provisioner, err := storage.NewProvisioner(kube, factory)
	if err != nil {
		return err
	}
	cdi, err := storage.NewCDI(kube, dyn, factory, importRetry, fleet.Up)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { provisioner.Run(ctx) })
	wg.Go(func() { cdi.Run(ctx) })
	err = fleet.Run(ctx)
	cancel()
	return err
}
