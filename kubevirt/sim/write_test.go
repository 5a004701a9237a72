package sim_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim"
)

func status(err error) metav1.Status {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return s.Status()
	}
	return metav1.Status{}
}

func TestUpdateNeedsTheLatestVersion(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	api := c.virt.KubevirtV1().VirtualMachines("cp1")
	old := c.vm(t, "node-1")
	changed := old.DeepCopy()
	changed.Spec.Template.Spec.Hostname = "a"
	updated, err := api.Update(t.Context(), changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, old.Generation+1, updated.Generation)

	_, err = api.Update(t.Context(), old, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), err)
	require.Equal(t, `Operation cannot be fulfilled on virtualmachines.kubevirt.io "node-1": the object has been modified; please apply your changes to the latest version and try again`, err.Error())
	old.ResourceVersion = ""
	_, err = api.Update(t.Context(), old, metav1.UpdateOptions{})
	require.True(t, apierrors.IsInvalid(err), err)

	until(t, func() bool {
		updated = c.vm(t, "node-1")
		return updated.Status.DesiredGeneration == updated.Generation
	})
	same, err := api.Update(t.Context(), updated, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, updated.ResourceVersion, same.ResourceVersion, "nothing changed, nothing written")
}

func TestStatusIsWrittenByItsSubresourceOnly(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	api := c.virt.KubevirtV1().KubeVirts("kubevirt")
	kv, err := api.Get(t.Context(), "kubevirt", metav1.GetOptions{})
	require.NoError(t, err)
	kv.Spec.ProductName, kv.Status.Phase = "x", "Deleting"
	kv, err = api.Update(t.Context(), kv, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "Deployed", string(kv.Status.Phase))
	require.Equal(t, int64(2), kv.Generation)
	kv.Spec.ProductName, kv.Status.Phase = "y", "Deleting"
	kv, err = api.UpdateStatus(t.Context(), kv, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "Deleting", string(kv.Status.Phase))
	require.Equal(t, "x", kv.Spec.ProductName)
	require.Equal(t, int64(2), kv.Generation)
}

func TestPatchesOfAVM(t *testing.T) {
	stopRequest := `[{"op":"add","path":"/status/stateChangeRequests","value":[{"action":"Start"}]}]`
	for name, tc := range map[string]struct {
		kind types.PatchType
		body string
		sub  []string
		code int32
		text string
	}{
		"json":                     {types.JSONPatchType, `[{"op":"test","path":"/spec/runStrategy","value":"Halted"},{"op":"replace","path":"/spec/runStrategy","value":"Manual"}]`, nil, 0, ""},
		"json, failed test":        {types.JSONPatchType, `[{"op":"test","path":"/spec/runStrategy","value":"Always"}]`, nil, 422, "the server rejected our request due to an error in our request"},
		"json, absent path":        {types.JSONPatchType, `[{"op":"remove","path":"/spec/nothing"}]`, nil, 422, "the server rejected our request due to an error in our request"},
		"json, no patch":           {types.JSONPatchType, `{}`, nil, 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"},
		"merge":                    {types.MergePatchType, `{"metadata":{"labels":{"a":"b"}}}`, nil, 0, ""},
		"merge, stale version":     {types.MergePatchType, `{"metadata":{"resourceVersion":"1"}}`, nil, 409, `Operation cannot be fulfilled on virtualmachines.kubevirt.io "node-1": the object has been modified; please apply your changes to the latest version and try again`},
		"merge, other UID":         {types.MergePatchType, `{"metadata":{"uid":"x"}}`, nil, 409, ""},
		"merge, wrong type":        {types.MergePatchType, `{"spec":{"runStrategy":7}}`, nil, 422, ""},
		"merge, broken":            {types.MergePatchType, `{`, nil, 400, ""},
		"strategic":                {types.StrategicMergePatchType, `{}`, nil, 415, ""},
		"apply":                    {types.ApplyYAMLPatchType, `{}`, nil, 415, ""},
		"status":                   {types.JSONPatchType, stopRequest, []string{"status"}, 0, ""},
		"duplicate boot order":     {types.JSONPatchType, `[{"op":"add","path":"/spec/template/spec/domain/devices/interfaces/0/bootOrder","value":1}]`, nil, 422, `admission webhook "virtualmachine-validator.kubevirt.io" denied the request: Boot order for spec.template.spec.domain.devices.disks[0].bootOrder already set for a different device.`},
		"boot order zero":          {types.JSONPatchType, `[{"op":"replace","path":"/spec/template/spec/domain/devices/disks/0/bootOrder","value":0}]`, nil, 422, ""},
		"running and run strategy": {types.MergePatchType, `{"spec":{"running":true}}`, nil, 422, `admission webhook "virtualmachine-validator.kubevirt.io" denied the request: Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead`},
		"neither":                  {types.MergePatchType, `{"spec":{"runStrategy":null}}`, nil, 422, ""},
		"unknown run strategy":     {types.MergePatchType, `{"spec":{"runStrategy":"Sometimes"}}`, nil, 422, `admission webhook "virtualmachine-validator.kubevirt.io" denied the request: Invalid RunStrategy (Sometimes)`},
		"secure boot without SMM":  {types.MergePatchType, `{"spec":{"template":{"spec":{"domain":{"features":{"smm":null}}}}}}`, nil, 422, `admission webhook "virtualmachine-validator.kubevirt.io" denied the request: spec.template.spec.domain has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled.`},
		"disk without volume":      {types.MergePatchType, `{"spec":{"template":{"spec":{"volumes":[]}}}}`, nil, 422, ""},
		"empty CD-ROM":             {types.JSONPatchType, `[{"op":"add","path":"/spec/template/spec/domain/devices/disks/-","value":{"name":"cd","cdrom":{"bus":"sata"}}}]`, nil, 0, ""},
		"volume without disk":      {types.JSONPatchType, `[{"op":"add","path":"/spec/template/spec/volumes/-","value":{"name":"cd","containerDisk":{"image":"x"}}}]`, nil, 422, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
			vm, err := c.virt.KubevirtV1().VirtualMachines("cp1").Patch(t.Context(), "node-1", tc.kind, []byte(tc.body), metav1.PatchOptions{Force: force(tc.kind), FieldManager: "test"}, tc.sub...)
			if tc.code == 0 {
				require.NoError(t, err)
				require.Equal(t, "node-1", vm.Name)
				return
			}
			s := status(err)
			require.Equal(t, tc.code, s.Code, err)
			if tc.text != "" {
				require.Equal(t, tc.text, s.Message)
			}
			if tc.code == http.StatusUnprocessableEntity {
				require.Equal(t, metav1.StatusReasonInvalid, s.Reason)
			}
		})
	}
}

func force(kind types.PatchType) *bool {
	if kind == types.ApplyYAMLPatchType {
		return new(true)
	}
	return nil
}

func TestInstancesAreNotEditable(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	api := c.virt.KubevirtV1().VirtualMachineInstances("cp1")
	_, err := api.Patch(t.Context(), "node-0", types.MergePatchType, []byte(`{"spec":{"terminationGracePeriodSeconds":0}}`), metav1.PatchOptions{})
	require.Equal(t, int32(422), status(err).Code, err)
	require.Contains(t, err.Error(), "update of VMI object is restricted")
	vmi, err := api.Patch(t.Context(), "node-0", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, "b", vmi.Annotations["a"])

	// an instance has no status subresource: who may write it writes all but the spec, whatever the field order
	b, err := c.virt.KubevirtV1().RESTClient().Get().AbsPath("/apis/kubevirt.io/v1/namespaces/cp1/virtualmachineinstances/node-0").DoRaw(t.Context())
	require.NoError(t, err)
	var loose map[string]any
	require.NoError(t, json.Unmarshal(b, &loose))
	loose["status"].(map[string]any)["fsFreezeStatus"] = "frozen"
	b, err = json.Marshal(loose)
	require.NoError(t, err)
	put := func(path string) error {
		return c.virt.KubevirtV1().RESTClient().Put().AbsPath("/apis/kubevirt.io/v1/namespaces/cp1/virtualmachineinstances/node-0" + path).Body(b).Do(t.Context()).Error()
	}
	require.True(t, apierrors.IsNotFound(put("/status")))
	require.NoError(t, put(""))
	vmi, err = api.Get(t.Context(), "node-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "frozen", vmi.Status.FSFreezeStatus)
}

func TestDryRunChangesNothing(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	api := c.virt.KubevirtV1().VirtualMachines("cp1")
	before := c.vm(t, "node-1")
	all := []string{metav1.DryRunAll}
	terminate := `[{"op":"add","path":"/spec/template/spec/domain/rebootPolicy","value":"Terminate"}]`
	vm, err := api.Patch(t.Context(), "node-1", types.JSONPatchType, []byte(terminate), metav1.PatchOptions{DryRun: all})
	require.NoError(t, err)
	require.Equal(t, kubevirtv1.RebootPolicyTerminate, *vm.Spec.Template.Spec.Domain.RebootPolicy, "the way to find out that it is supported")
	_, err = api.Create(t.Context(), machine("dry", "Always"), metav1.CreateOptions{DryRun: all})
	require.NoError(t, err)
	require.NoError(t, api.Delete(t.Context(), "node-1", metav1.DeleteOptions{DryRun: all}))
	require.Equal(t, before, c.vm(t, "node-1"))
	_, err = api.Get(t.Context(), "dry", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

func TestUnknownFieldsArePruned(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	patch := func(validation string) (string, error) {
		r := c.virt.KubevirtV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/kubevirt.io/v1/namespaces/cp1/virtualmachines/node-1").
			Param("fieldValidation", validation).Body([]byte(`{"spec":{"template":{"spec":{"domain":{"nonsense":1}}}}}`)).Do(t.Context())
		b, _ := r.Raw()
		return string(b), r.Error()
	}
	b, err := patch("Ignore")
	require.NoError(t, err)
	require.NotContains(t, b, "nonsense")
	_, err = patch("Strict")
	require.True(t, apierrors.IsBadRequest(err), err)
	require.Contains(t, err.Error(), `unknown field "spec.template.spec.domain.nonsense"`)
}

func TestCreate(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace string
		meta      metav1.ObjectMeta
		check     func(error) bool
	}{
		"generated name":      {"default", metav1.ObjectMeta{GenerateName: "a-"}, func(err error) bool { return err == nil }},
		"no name":             {"default", metav1.ObjectMeta{}, apierrors.IsInvalid},
		"bad name":            {"default", metav1.ObjectMeta{Name: "A_b"}, apierrors.IsInvalid},
		"namespace missing":   {"nowhere", metav1.ObjectMeta{Name: "a"}, apierrors.IsNotFound},
		"namespace differs":   {"default", metav1.ObjectMeta{Name: "a", Namespace: "kubevirt"}, apierrors.IsBadRequest},
		"exists":              {"default", metav1.ObjectMeta{Name: "there"}, apierrors.IsAlreadyExists},
		"invented identities": {"default", metav1.ObjectMeta{Name: "b", UID: "mine", ResourceVersion: ""}, func(err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, sim.Options{})
			_, err := c.kube.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "there"}}, metav1.CreateOptions{})
			require.NoError(t, err)
			s, err := c.kube.CoreV1().Secrets(tc.namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: tc.meta, StringData: map[string]string{"k": "v"}}, metav1.CreateOptions{})
			require.True(t, tc.check(err), err)
			if err == nil {
				require.NotEmpty(t, s.Name)
				require.NotEqual(t, types.UID("mine"), s.UID)
				require.NotEmpty(t, s.UID)
				require.False(t, s.CreationTimestamp.IsZero())
				require.Equal(t, "v", string(s.Data["k"]))
				require.Equal(t, corev1.SecretTypeOpaque, s.Type)
			}
		})
	}
}

func TestNewVMGetsItsFirmwareUUIDAndMachineType(t *testing.T) {
	c := start(t, sim.Options{})
	createNamespace(t, c, "cp1")
	a, b := create(t, c, machine("a", "Halted")), create(t, c, machine("b", "Halted"))
	require.NotEmpty(t, a.Spec.Template.Spec.Domain.Firmware.UUID)
	require.NotEqual(t, a.Spec.Template.Spec.Domain.Firmware.UUID, b.Spec.Template.Spec.Domain.Firmware.UUID)
	require.Equal(t, "q35", a.Spec.Template.Spec.Domain.Machine.Type)
	require.Equal(t, int64(1), c.vm(t, "a").Generation, "adding a finalizer is no change of the spec")
}

func TestBuiltInKindsTakeProtobufAndStrategicPatches(t *testing.T) {
	c := start(t, sim.Options{})
	cfg := c.RESTConfig()
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + ",application/json"
	kube, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	_, err = kube.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"a": []byte("1")}}, metav1.CreateOptions{})
	require.NoError(t, err)
	s, err := kube.CoreV1().Secrets("default").Patch(t.Context(), "s", types.StrategicMergePatchType, []byte(`{"data":{"b":"Mg=="}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"a": []byte("1"), "b": []byte("2")}, s.Data)
}

func TestOwnersTakeWhatTheyOwnAlong(t *testing.T) {
	c := start(t, sim.Options{})
	api := c.kube.CoreV1().ConfigMaps("default")
	make1 := func(name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, o := range owners {
			cm.OwnerReferences = append(cm.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID})
		}
		cm, err := api.Create(t.Context(), cm, metav1.CreateOptions{})
		require.NoError(t, err)
		return cm
	}
	a, b := make1("a"), make1("b")
	make1("of-a", a)
	make1("of-both", a, b)
	deep := make1("of-b", b)
	make1("of-of-b", deep)
	require.NoError(t, api.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	names := func() []string {
		list, err := api.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var names []string
		for _, cm := range list.Items {
			names = append(names, cm.Name)
		}
		return names
	}
	require.Equal(t, []string{"b", "of-b", "of-both", "of-of-b"}, names())
	orphan := metav1.DeletePropagationOrphan
	require.NoError(t, api.Delete(t.Context(), "b", metav1.DeleteOptions{PropagationPolicy: &orphan}))
	require.Equal(t, []string{"of-b", "of-both", "of-of-b"}, names())
	require.NoError(t, api.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=of-b"}))
	require.Equal(t, []string{"of-both"}, names())
}

func TestFinalizersHoldAnObject(t *testing.T) {
	c := start(t, sim.Options{})
	api := c.kube.CoreV1().ConfigMaps("default")
	_, err := api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{"x.io/y"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, api.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	cm, err := api.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, cm.DeletionTimestamp)
	require.NoError(t, api.Delete(t.Context(), "a", metav1.DeleteOptions{}), "twice is once")
	cm.Finalizers = nil
	_, err = api.Update(t.Context(), cm, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = api.Get(t.Context(), "a", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

func TestDeletedNamespaceIsEmptiedFirst(t *testing.T) {
	c := start(t, sim.Options{Fleet: sim.DefaultFleet()})
	require.NoError(t, c.kube.CoreV1().Namespaces().Delete(t.Context(), "cp1", metav1.DeleteOptions{}))
	_, err := c.virt.KubevirtV1().VirtualMachines("cp1").Create(t.Context(), machine("late", "Halted"), metav1.CreateOptions{})
	require.True(t, apierrors.IsForbidden(err) || apierrors.IsNotFound(err), err)
	until(t, func() bool {
		_, err := c.kube.CoreV1().Namespaces().Get(t.Context(), "cp1", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	vms, err := c.virt.KubevirtV1().VirtualMachines("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, vms.Items)
}
