package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
)

const guestLogSize = 100_000 // bytes kept of the log of a guest that loops

// log appends a line to the guest's ConfigMap. A namespace that is being deleted takes none, which is no failure.
func (f *Fleet) log(ctx context.Context, vmi *v1.VirtualMachineInstance, line string) error {
	line = fmt.Sprintf("%s vmi=%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), vmi.UID, line)
	name, api := knob.GuestLog+vmi.Name, f.kube.CoreV1().ConfigMaps(vmi.Namespace)
	raced := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err := retry.OnError(retry.DefaultBackoff, raced, func() error {
		cm, err := api.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"log": line}}, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		text := cm.Data["log"] + line
		cm.Data = map[string]string{"log": text[max(0, len(text)-guestLogSize):]}
		_, err = api.Update(ctx, cm, metav1.UpdateOptions{})
		return err
	})
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
