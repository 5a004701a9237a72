// Package storage plays the parts of a cluster that make and fill volumes: an external provisioner for the lab's storage classes and
// CDI for DataVolumes. Volumes are objects only; the real PV controller binds them.
package storage

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/reconcile"
)

const (
	selectedNode  = "volume.kubernetes.io/selected-node"
	provisionedBy = "pv.kubernetes.io/provisioned-by"
	provisionerOf = "volume.kubernetes.io/storage-provisioner"
)

// Provisioner makes a PersistentVolume for each claim that kube-controller-manager hands to it, and deletes released ones. A class with
// WaitForFirstConsumer waits for the scheduler's choice and, with parameter local=true, pins the volume to that node.
type Provisioner struct {
	kube    kubernetes.Interface
	claims  cache.Store
	volumes cache.Store
	classes cache.Store
	synced  []cache.InformerSynced
	claim   *reconcile.Loop
	volume  *reconcile.Loop
}

// NewProvisioner prepares caches in factory, which the caller starts before Run.
func NewProvisioner(kube kubernetes.Interface, factory informers.SharedInformerFactory) (*Provisioner, error) {
	claims, volumes := factory.Core().V1().PersistentVolumeClaims().Informer(), factory.Core().V1().PersistentVolumes().Informer()
	classes := factory.Storage().V1().StorageClasses().Informer()
	p := &Provisioner{kube: kube, claims: claims.GetStore(), volumes: volumes.GetStore(), classes: classes.GetStore(),
		synced: []cache.InformerSynced{claims.HasSynced, volumes.HasSynced, classes.HasSynced}}
	p.claim, p.volume = reconcile.New("claim", p.syncClaim), reconcile.New("volume", p.syncVolume)
	if _, err := claims.AddEventHandler(p.claim.Handler()); err != nil {
		return nil, err
	}
	_, err := volumes.AddEventHandler(p.volume.Handler())
	return p, err
}

// Run works until ctx ends.
func (p *Provisioner) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), p.synced...) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.volume.Run(ctx, 1)
	}()
	p.claim.Run(ctx, 1)
	<-done
}

func (p *Provisioner) syncVolume(ctx context.Context, key string) (time.Duration, error) {
	o, ok, _ := p.volumes.GetByKey(key)
	if !ok {
		return 0, nil
	}
	pv := o.(*corev1.PersistentVolume)
	if pv.Annotations[provisionedBy] != knob.Provisioner || pv.Status.Phase != corev1.VolumeReleased || pv.DeletionTimestamp != nil ||
		pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return 0, nil
	}
	err := p.kube.CoreV1().PersistentVolumes().Delete(ctx, pv.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return 0, err
}

func (p *Provisioner) syncClaim(ctx context.Context, key string) (time.Duration, error) {
	o, ok, _ := p.claims.GetByKey(key)
	if !ok || !isOurs(o.(*corev1.PersistentVolumeClaim)) {
		return 0, nil
	}
	claim := o.(*corev1.PersistentVolumeClaim)
	class, ok := classOf(p.classes, claim)
	if !ok || (waits(class) && claim.Annotations[selectedNode] == "") {
		return 0, nil
	}
	_, err := p.kube.CoreV1().PersistentVolumes().Create(ctx, volumeFor(claim, class), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return 0, err
}

// isOurs tells whether a claim waits for a volume of ours.
func isOurs(c *corev1.PersistentVolumeClaim) bool {
	pending := c.Status.Phase == corev1.ClaimPending || c.Status.Phase == ""
	return pending && c.DeletionTimestamp == nil && c.Spec.VolumeName == "" &&
		c.Annotations[provisionerOf] == knob.Provisioner && c.Annotations[knob.NoProvision] != "true"
}

func classOf(classes cache.Store, c *corev1.PersistentVolumeClaim) (*storagev1.StorageClass, bool) {
	if c.Spec.StorageClassName == nil {
		return nil, false
	}
	o, ok, _ := classes.GetByKey(*c.Spec.StorageClassName)
	if !ok {
		return nil, false
	}
	return o.(*storagev1.StorageClass), true
}

func waits(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

func volumeFor(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) *corev1.PersistentVolume {
	name := "pvc-" + string(c.UID)
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: knob.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: c.Spec.AccessModes, VolumeMode: c.Spec.VolumeMode, StorageClassName: class.Name,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/lab/" + name}}, // never opened
		},
	}
	if class.ReclaimPolicy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if node := c.Annotations[selectedNode]; class.Parameters["local"] == "true" && node != "" {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}}}
	}
	return pv
}
