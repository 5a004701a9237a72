// Package node plays, for every node of the lab, the kubelet (node status, lease, life of pods) and KubeVirt's virt-handler
// (phases, conditions and volumes of VMIs, the HTTPS endpoint that virt-api dials) with the guest behind it. Nothing is ever
// executed: no container, no QEMU.
package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	v1 "kubevirt.io/api/core/v1"
	kubevirt "kubevirt.io/client-go/kubevirt"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/reconcile"
)

// Options of a Fleet; all are needed.
type Options struct {
	Nodes       int
	HandlerPort int    // of the virt-handler of node-N on 127.0.1.N
	PKI         string // folder with virt-handler-server.{crt,key} and kubevirt-ca.crt
	Heartbeat   time.Duration
	Delays      Delays
}

// Delays of the simulated things.
type Delays struct {
	PodStart time.Duration // Pending to Running of a pod
	Boot     time.Duration // Scheduled to Running of a VMI
	Agent    time.Duration // from the boot of an installed disk to the guest agent and readiness
	Shutdown time.Duration // of a guest that listens
	Hotplug  time.Duration // each step of a hotplug
}

// Fleet is all nodes of the lab.
type Fleet struct {
	Options
	kube     kubernetes.Interface
	handlers map[string]kubevirt.Interface // by node: the API as the virt-handler of that node
	address  map[string]string             // by node
	nodes    cache.Store
	claims   cache.Store
	pods     cache.Indexer
	vmis     cache.Indexer
	synced   []cache.InformerSynced
	vmiCache cache.SharedIndexInformer
	podLoop  *reconcile.Loop
	vmiLoop  *reconcile.Loop
	memory   memory
}

const (
	byNode  = "node"
	byOwner = "owner"
)

// New prepares the fleet and its caches in factory, which the caller starts before Run.
func New(config *rest.Config, kube kubernetes.Interface, factory informers.SharedInformerFactory, o Options) (*Fleet, error) {
	f := &Fleet{Options: o, kube: kube, handlers: map[string]kubevirt.Interface{}, address: map[string]string{}}
	for i := 1; i <= o.Nodes; i++ {
		name := fmt.Sprintf("node-%d", i)
		client, err := asVirtHandler(config, name)
		if err != nil {
			return nil, err
		}
		f.handlers[name], f.address[name] = client, fmt.Sprintf("127.0.1.%d", i)
	}
	f.podLoop, f.vmiLoop = reconcile.New("pod", f.syncPod), reconcile.New("vmi", f.syncVMI)
	if err := f.watch(config, factory); err != nil {
		return nil, err
	}
	return f, nil
}

// asVirtHandler impersonates a node's virt-handler: KubeVirt lets one change only the VMIs of the node that its service account
// token is bound to.
func asVirtHandler(config *rest.Config, node string) (kubevirt.Interface, error) {
	c := rest.CopyConfig(config)
	c.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:kubevirt:kubevirt-handler",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:kubevirt", "system:authenticated"},
		Extra:    map[string][]string{"authentication.kubernetes.io/node-name": {node}},
	}
	return kubevirt.NewForConfig(c)
}

func (f *Fleet) watch(config *rest.Config, factory informers.SharedInformerFactory) error {
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	claims := factory.Core().V1().PersistentVolumeClaims().Informer()
	client, err := kubevirt.NewForConfig(config)
	if err != nil {
		return err
	}
	f.vmiCache = cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(client.KubevirtV1().RESTClient(), "virtualmachineinstances", metav1.NamespaceAll, fields.Everything()),
		&v1.VirtualMachineInstance{}, 0, cache.Indexers{byNode: nodeOfVMI})
	if err := pods.AddIndexers(cache.Indexers{byNode: nodeOfPod, byOwner: ownerOfPod}); err != nil {
		return err
	}
	f.nodes, f.claims, f.pods, f.vmis = nodes.GetStore(), claims.GetStore(), pods.GetIndexer(), f.vmiCache.GetIndexer()
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		nodes:      cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, o any) { f.nodeChanged(o) }},
		pods:       f.podLoop.Handler(),
		f.vmiCache: cache.ResourceEventHandlerFuncs{AddFunc: f.vmiLoop.Add, UpdateFunc: func(_, o any) { f.vmiLoop.Add(o) }, DeleteFunc: f.vmiDeleted},
	} {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return err
		}
		f.synced = append(f.synced, registration.HasSynced)
	}
	f.synced = append(f.synced, claims.HasSynced)
	return nil
}

// Run works until ctx ends.
func (f *Fleet) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { f.vmiCache.Run(ctx.Done()) })
	if !cache.WaitForCacheSync(ctx.Done(), f.synced...) {
		return ctx.Err()
	}
	for name, address := range f.address {
		if err := f.register(ctx, name, address); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		endpoint, err := f.listen(ctx, address)
		if err != nil {
			return fmt.Errorf("virt-handler of %s: %w", name, err)
		}
		wg.Go(func() { endpoint(ctx) })
		wg.Go(func() { f.heartbeat(ctx, name) })
	}
	wg.Go(func() { f.podLoop.Run(ctx, 4) })
	wg.Go(func() { f.vmiLoop.Run(ctx, 4) })
	<-ctx.Done()
	return nil
}

// Up returns the names of the nodes that live.
func (f *Fleet) Up() []string {
	var out []string
	for name := range f.address {
		if f.up(name) {
			out = append(out, name)
		}
	}
	return out
}

// up tells whether a node is one of ours and lives.
func (f *Fleet) up(name string) bool {
	if _, ours := f.address[name]; !ours {
		return false
	}
	o, ok, _ := f.nodes.GetByKey(name)
	return ok && o.(*corev1.Node).Annotations[knob.NodeDown] != "true"
}

// nodeChanged wakes everything on a node: it may have come back to life.
func (f *Fleet) nodeChanged(o any) {
	name := o.(*corev1.Node).Name
	for _, loop := range []struct {
		index cache.Indexer
		loop  *reconcile.Loop
	}{{f.pods, f.podLoop}, {f.vmis, f.vmiLoop}} {
		objects, _ := loop.index.ByIndex(byNode, name)
		for _, o := range objects {
			loop.loop.Add(o)
		}
	}
}

func (f *Fleet) vmiDeleted(o any) {
	if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = tombstone.Obj
	}
	if v, ok := o.(*v1.VirtualMachineInstance); ok {
		f.memory.forget(v.UID)
	}
	f.vmiLoop.Add(o)
}

func nodeOfPod(o any) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil }

func nodeOfVMI(o any) ([]string, error) {
	return []string{o.(*v1.VirtualMachineInstance).Status.NodeName}, nil
}

func ownerOfPod(o any) ([]string, error) {
	if owner := metav1.GetControllerOf(o.(*corev1.Pod)); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}
