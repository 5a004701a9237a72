package virt

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// namespaceFinalizer holds a namespace until it is empty. A cluster keeps it in the spec.
const namespaceFinalizer = "kubernetes"

// namespaceRecheck is how often a namespace that is being emptied is looked at.
const namespaceRecheck = 50 * time.Millisecond

// reconcileNamespace empties a deleted namespace and then lets it go.
func (v *Virt) reconcileNamespace(key store.Key) error {
	ns, err := v.Store.Get(resource.Namespaces, key)
	if err != nil {
		return ignoreNotFound(err)
	}
	if ns.Meta.DeletionTimestamp == nil {
		return nil
	}
	left := 0
	for _, t := range resource.All {
		if t.ClusterScoped {
			continue
		}
		for _, o := range v.Store.List(t).Objects {
			if o.Meta.Namespace != key.Name {
				continue
			}
			left++
			if o.Meta.DeletionTimestamp == nil {
				if _, _, err := v.Store.Delete(t, o.Key(), metav1.DeleteOptions{}); ignoreNotFound(err) != nil {
					return err
				}
			}
		}
	}
	d, err := ns.Draft()
	if err != nil {
		return err
	}
	d.Fields["status"] = json.RawMessage(`{"phase":"Terminating"}`)
	if left == 0 {
		d.Meta.Finalizers = nil
	} else {
		v.enqueueAfter(resource.Namespaces, key, v.Delays.Schedule+namespaceRecheck)
	}
	_, err = v.Store.Update(ns, d, store.Options{})
	return err
}
