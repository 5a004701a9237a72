package storage

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// status is a DataVolume's status.
type status map[string]any

// condition sets one; its times only move when it changes.
func (s status) condition(kind, value, reason, message string) {
	list, _ := s["conditions"].([]any)
	now := time.Now().UTC().Format(time.RFC3339)
	c := map[string]any{"type": kind, "status": value, "reason": reason, "message": message, "lastTransitionTime": now, "lastHeartbeatTime": now}
	for i, x := range list {
		old, ok := x.(map[string]any)
		if !ok || old["type"] != kind {
			continue
		}
		if old["status"] == value {
			c["lastTransitionTime"] = old["lastTransitionTime"]
			if old["reason"] == reason && old["message"] == message {
				c["lastHeartbeatTime"] = old["lastHeartbeatTime"]
			}
		}
		list[i] = c
		return
	}
	s["conditions"] = append(list, c)
}

// status reads the DataVolume and writes what edit makes of its status, unless that changes nothing.
func (c *CDI) status(ctx context.Context, dv *unstructured.Unstructured, edit func(status)) error {
	api := c.dyn.Resource(dataVolumes).Namespace(dv.GetNamespace())
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		current, err := api.Get(ctx, dv.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if current.GetUID() != dv.GetUID() {
			return apierrors.NewNotFound(dataVolumes.GroupResource(), dv.GetName())
		}
		old, _, _ := unstructured.NestedMap(current.Object, "status")
		edited := runtime.DeepCopyJSON(map[string]any{"status": old})["status"].(map[string]any)
		if edited == nil {
			edited = map[string]any{}
		}
		edit(edited)
		if reflect.DeepEqual(old, edited) {
			return nil
		}
		current.Object["status"] = edited
		_, err = api.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		return err
	})
}

func (c *CDI) annotate(ctx context.Context, claim *corev1.PersistentVolumeClaim, annotations map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	_, err = c.kube.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
