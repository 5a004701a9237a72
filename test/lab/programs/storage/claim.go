package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// fsOverhead is CDI's default for Filesystem volumes made from spec.storage.
const fsOverhead = 0.06

var errNoAccessMode = errors.New("no accessMode specified in StorageProfile")

// ensureClaim returns nil without an error while an event has to come first.
func (c *CDI) ensureClaim(ctx context.Context, dv *unstructured.Unstructured) (*corev1.PersistentVolumeClaim, error) {
	if o, ok, _ := c.claims.GetByKey(dv.GetNamespace() + "/" + dv.GetName()); ok {
		claim := o.(*corev1.PersistentVolumeClaim)
		if metav1.IsControlledBy(claim, dv) {
			return claim, nil
		}
		return nil, c.unbound(ctx, dv, "Unknown", "ErrResourceExists", fmt.Sprintf("Resource %q already exists and is not managed by DataVolume", claim.Name))
	}
	spec, err := c.claimSpec(ctx, dv)
	if errors.Is(err, errNoAccessMode) {
		return nil, c.unbound(ctx, dv, "Unknown", "ErrClaimNotValid", err.Error())
	}
	if err != nil {
		return nil, err
	}
	_, err = c.kube.CoreV1().PersistentVolumeClaims(dv.GetNamespace()).Create(ctx, claimFor(dv, spec), metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return nil, c.unbound(ctx, dv, "False", "ErrExceededQuota", err.Error())
	case apierrors.IsAlreadyExists(err):
		return nil, nil
	}
	return nil, err
}

func (c *CDI) unbound(ctx context.Context, dv *unstructured.Unstructured, value, reason, message string) error {
	return c.status(ctx, dv, func(s status) {
		s["phase"] = "Pending"
		s.condition("Bound", value, reason, message)
	})
}

func claimFor(dv *unstructured.Unstructured, spec corev1.PersistentVolumeClaimSpec) *corev1.PersistentVolumeClaim {
	annotations := maps.Clone(dv.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	annotations["cdi.kubevirt.io/storage.contentType"] = "kubevirt"
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: dv.GetName(), Namespace: dv.GetNamespace(), Annotations: annotations, Labels: dv.GetLabels(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(dv, dv.GroupVersionKind())},
		},
		Spec: spec,
	}
}

// claimSpec is spec.pvc as it is, or spec.storage completed from the storage class and its profile.
func (c *CDI) claimSpec(ctx context.Context, dv *unstructured.Unstructured) (corev1.PersistentVolumeClaimSpec, error) {
	var spec corev1.PersistentVolumeClaimSpec
	fields, exact, _ := unstructured.NestedMap(dv.Object, "spec", "pvc")
	if !exact {
		fields, _, _ = unstructured.NestedMap(dv.Object, "spec", "storage")
	}
	if fields == nil {
		return spec, errors.New("neither spec.pvc nor spec.storage")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec); err != nil || exact {
		return spec, err
	}
	if spec.StorageClassName == nil {
		spec.StorageClassName = c.defaultClass()
	}
	if err := c.applyProfile(ctx, &spec); err != nil {
		return spec, err
	}
	if spec.VolumeMode == nil || *spec.VolumeMode == corev1.PersistentVolumeFilesystem {
		asked := spec.Resources.Requests[corev1.ResourceStorage]
		spec.Resources.Requests = corev1.ResourceList{
			corev1.ResourceStorage: *resource.NewQuantity(int64(float64(asked.Value())/(1-fsOverhead)), resource.BinarySI),
		}
	}
	return spec, nil
}

func (c *CDI) defaultClass() *string {
	for _, o := range c.classes.List() {
		if class := o.(*storagev1.StorageClass); class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			return &class.Name
		}
	}
	return nil
}

type claimPropertySet struct {
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes"`
	VolumeMode  *corev1.PersistentVolumeMode        `json:"volumeMode"`
}

// applyProfile takes what spec does not say from the first fitting set of the class's StorageProfile.
func (c *CDI) applyProfile(ctx context.Context, spec *corev1.PersistentVolumeClaimSpec) error {
	class := ""
	if spec.StorageClassName != nil {
		class = *spec.StorageClassName
	}
	var known struct {
		Status struct {
			ClaimPropertySets []claimPropertySet `json:"claimPropertySets"`
		} `json:"status"`
	}
	profile, err := c.profile(ctx, class)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(profile.Object, &known)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	for _, set := range known.Status.ClaimPropertySets {
		if spec.VolumeMode != nil && set.VolumeMode != nil && *spec.VolumeMode != *set.VolumeMode {
			continue
		}
		if len(spec.AccessModes) == 0 && len(set.AccessModes) > 0 {
			spec.AccessModes = set.AccessModes[:1]
		}
		if spec.VolumeMode == nil {
			spec.VolumeMode = set.VolumeMode
		}
		break
	}
	if len(spec.AccessModes) == 0 {
		return fmt.Errorf("%w %s", errNoAccessMode, class)
	}
	return nil
}
