package storage

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/reconcile"
)

var (
	dataVolumes = schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "datavolumes"}
	profiles    = schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "storageprofiles"}
)

const bindImmediate = "cdi.kubevirt.io/storage.bind.immediate.requested"

// CDI plays the Containerized Data Importer for DataVolumes: it makes the claim and fills it.
//
//   - source.http is really downloaded, and only from loopback addresses. certConfigMap, secretRef (basic auth), extraHeaders,
//     secretExtraHeaders, insecureSkipVerify and checksum work. What came is told in annotations of the claim.
//   - source.blank ends at once; source.pvc copies the lab's annotations; any other source stays at ImportScheduled.
//
// Phases are (WaitForFirstConsumer,) ImportScheduled, ImportInProgress, Succeeded. A failed download is tried again for ever, with
// status.restartCount growing and condition Running=False of reason Error; only a wrong checksum ends in Failed.
// There are no importer pods, scratch space, populators, format conversion, webhooks or uploads.
type CDI struct {
	kube        kubernetes.Interface
	dyn         dynamic.Interface
	retry       time.Duration
	upNodes     func() []string
	claims      cache.Store
	classes     cache.Store
	dataVolumes cache.Store
	factory     dynamicinformer.DynamicSharedInformerFactory
	synced      []cache.InformerSynced
	loop        *reconcile.Loop
	imports     imports
}

// NewCDI prepares caches in factory, which the caller starts before Run. A failed import is tried again after retry; upNodes names the
// nodes on which an importer could run.
func NewCDI(kube kubernetes.Interface, dyn dynamic.Interface, factory informers.SharedInformerFactory, retry time.Duration, upNodes func() []string) (*CDI, error) {
	claims, classes := factory.Core().V1().PersistentVolumeClaims().Informer(), factory.Storage().V1().StorageClasses().Informer()
	c := &CDI{kube: kube, dyn: dyn, retry: retry, upNodes: upNodes, claims: claims.GetStore(), classes: classes.GetStore(),
		factory: dynamicinformer.NewDynamicSharedInformerFactory(dyn, 0)}
	c.loop = reconcile.New("datavolume", c.sync)
	volumes := c.factory.ForResource(dataVolumes).Informer()
	c.dataVolumes = volumes.GetStore()
	c.synced = []cache.InformerSynced{claims.HasSynced, classes.HasSynced, volumes.HasSynced}
	if _, err := volumes.AddEventHandler(c.loop.Handler()); err != nil {
		return nil, err
	}
	if _, err := volumes.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: c.deleted}); err != nil {
		return nil, err
	}
	_, err := claims.AddEventHandler(c.loop.Handler()) // a DataVolume and its claim have the same name
	return c, err
}

// Run works until ctx ends.
func (c *CDI) Run(ctx context.Context) {
	c.factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return
	}
	c.loop.Run(ctx, 2)
	c.imports.wait()
	c.factory.Shutdown()
}

func (c *CDI) deleted(o any) {
	if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = tombstone.Obj
	}
	if dv, ok := o.(*unstructured.Unstructured); ok {
		c.imports.cancel(dv.GetUID())
	}
}

// source is the only entry of spec.source.
func source(dv *unstructured.Unstructured) (kind string, fields map[string]any) {
	m, _, _ := unstructured.NestedMap(dv.Object, "spec", "source")
	for kind, v := range m {
		if fields, ok := v.(map[string]any); ok {
			return kind, fields
		}
	}
	return "", nil
}

func (c *CDI) sync(ctx context.Context, key string) (time.Duration, error) {
	o, ok, _ := c.dataVolumes.GetByKey(key)
	if !ok {
		return 0, nil
	}
	dv := o.(*unstructured.Unstructured)
	phase, _, _ := unstructured.NestedString(dv.Object, "status", "phase")
	if dv.GetDeletionTimestamp() != nil || phase == "Succeeded" || phase == "Failed" {
		return 0, nil
	}
	claim, err := c.ensureClaim(ctx, dv)
	if err != nil || claim == nil {
		return 0, err
	}
	if claim.Status.Phase != corev1.ClaimBound {
		return 0, c.waitForBinding(ctx, dv, claim)
	}
	return 0, c.fill(ctx, dv, claim)
}

func (c *CDI) waitForBinding(ctx context.Context, dv *unstructured.Unstructured, claim *corev1.PersistentVolumeClaim) error {
	phase := "ImportScheduled"
	if kind, _ := source(dv); kind == "pvc" {
		phase = "CloneScheduled"
	}
	if class, ok := classOf(c.classes, claim); ok && waits(class) && claim.Annotations[selectedNode] == "" {
		phase = "WaitForFirstConsumer"
		nodes := c.upNodes()
		if _, immediate := dv.GetAnnotations()[bindImmediate]; immediate && len(nodes) > 0 {
			return c.annotate(ctx, claim, map[string]string{selectedNode: nodes[0]}) // the importer pod would be the first consumer
		}
	}
	return c.status(ctx, dv, func(s status) {
		s["phase"], s["claimName"], s["progress"] = phase, claim.Name, "N/A"
		s.condition("Bound", "False", "Pending", fmt.Sprintf("PVC %s Pending", claim.Name))
		s.condition("Ready", "False", "", "")
		s.condition("Running", "False", "", "")
	})
}

func (c *CDI) fill(ctx context.Context, dv *unstructured.Unstructured, claim *corev1.PersistentVolumeClaim) error {
	kind, from := source(dv)
	switch {
	case dv.GetAnnotations()[knob.ImportHold] == "true":
	case kind == "http":
		c.imports.start(ctx, dv.GetUID(), func(ctx context.Context) { c.importHTTP(ctx, dv, claim, from) })
		return nil
	case kind == "blank":
		return c.finish(ctx, dv, claim, map[string]string{knob.DiskState: "blank"})
	case kind == "pvc":
		return c.clone(ctx, dv, claim, from)
	}
	return c.status(ctx, dv, func(s status) { s["phase"] = "ImportScheduled" })
}

func (c *CDI) clone(ctx context.Context, dv *unstructured.Unstructured, claim *corev1.PersistentVolumeClaim, from map[string]any) error {
	namespace, _ := from["namespace"].(string)
	if namespace == "" {
		namespace = dv.GetNamespace()
	}
	o, ok, _ := c.claims.GetByKey(namespace + "/" + fmt.Sprint(from["name"]))
	if !ok {
		return c.status(ctx, dv, func(s status) { s["phase"] = "CloneScheduled" })
	}
	annotations := map[string]string{}
	for k, v := range o.(*corev1.PersistentVolumeClaim).Annotations {
		if strings.HasPrefix(k, knob.Prefix) {
			annotations[k] = v
		}
	}
	return c.finish(ctx, dv, claim, annotations)
}

func (c *CDI) finish(ctx context.Context, dv *unstructured.Unstructured, claim *corev1.PersistentVolumeClaim, annotations map[string]string) error {
	annotations["cdi.kubevirt.io/storage.pod.phase"] = "Succeeded"
	if err := c.annotate(ctx, claim, annotations); err != nil {
		return err
	}
	return c.status(ctx, dv, func(s status) {
		s["phase"], s["progress"], s["claimName"] = "Succeeded", "100.0%", claim.Name
		s.condition("Bound", "True", "Bound", fmt.Sprintf("PVC %s Bound", claim.Name))
		s.condition("Ready", "True", "", "")
		s.condition("Running", "False", "Completed", "Import Complete")
	})
}

func (c *CDI) profile(ctx context.Context, class string) (*unstructured.Unstructured, error) {
	return c.dyn.Resource(profiles).Get(ctx, class, metav1.GetOptions{})
}

// imports are the downloads that run, by DataVolume.
type imports struct {
	mu      sync.Mutex
	running map[types.UID]context.CancelFunc
	wg      sync.WaitGroup
}

// start does nothing when the DataVolume has been started before.
func (i *imports) start(ctx context.Context, uid types.UID, run func(context.Context)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running == nil {
		i.running = map[types.UID]context.CancelFunc{}
	}
	if i.running[uid] != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	i.running[uid] = cancel
	i.wg.Go(func() { run(ctx) })
}

func (i *imports) cancel(uid types.UID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if cancel := i.running[uid]; cancel != nil {
		cancel()
	}
	delete(i.running, uid)
}

func (i *imports) wait() { i.wg.Wait() }
