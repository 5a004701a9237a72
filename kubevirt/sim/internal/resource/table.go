package resource

import (
	"reflect"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	instancetypev1beta1 "kubevirt.io/api/instancetype/v1beta1"
	cdiv1beta1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
)

var age = Column{"Age", "date", ".metadata.creationTimestamp"}

const ready = ".status.conditions[?(@.type=='Ready')].status"

// The core kinds.
var (
	Namespaces = &Type{Version: "v1", Kind: "Namespace", Plural: "namespaces", Singular: "namespace", ShortNames: []string{"ns"},
		ClusterScoped: true, Status: true, Strategic: true, Go: reflect.TypeFor[corev1.Namespace](),
		Columns: []Column{{"Status", "string", ".status.phase"}, age}}
	Nodes = &Type{Version: "v1", Kind: "Node", Plural: "nodes", Singular: "node", ShortNames: []string{"no"},
		ClusterScoped: true, Status: true, Strategic: true, Go: reflect.TypeFor[corev1.Node](),
		Columns: []Column{{"Ready", "string", ready}, age}}
	Pods = &Type{Version: "v1", Kind: "Pod", Plural: "pods", Singular: "pod", ShortNames: []string{"po"}, Categories: []string{"all"},
		Status: true, Strategic: true, GracefulDelete: true, Go: reflect.TypeFor[corev1.Pod](), Selectable: []string{"spec.nodeName", "status.phase"},
		Columns: []Column{{"Status", "string", ".status.phase"}, {"Node", "string", ".spec.nodeName"}, age}}
	Secrets = &Type{Version: "v1", Kind: "Secret", Plural: "secrets", Singular: "secret",
		Strategic: true, Go: reflect.TypeFor[corev1.Secret](),
		Columns: []Column{{"Type", "string", ".type"}, age}}
	ConfigMaps = &Type{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Singular: "configmap", ShortNames: []string{"cm"},
		Strategic: true, Go: reflect.TypeFor[corev1.ConfigMap](), Columns: []Column{age}}
	Events = &Type{Version: "v1", Kind: "Event", Plural: "events", Singular: "event", ShortNames: []string{"ev"},
		Strategic: true, Go: reflect.TypeFor[corev1.Event](),
		Selectable: []string{"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "reason", "type"},
		Columns:    []Column{{"Type", "string", ".type"}, {"Reason", "string", ".reason"}, {"Object", "string", ".involvedObject.name"}, {"Message", "string", ".message"}}}
	PersistentVolumeClaims = &Type{Version: "v1", Kind: "PersistentVolumeClaim", Plural: "persistentvolumeclaims", Singular: "persistentvolumeclaim",
		ShortNames: []string{"pvc"}, Status: true, Strategic: true, Go: reflect.TypeFor[corev1.PersistentVolumeClaim](),
		Columns: []Column{{"Status", "string", ".status.phase"}, {"Capacity", "string", ".status.capacity.storage"}, {"StorageClass", "string", ".spec.storageClassName"}, age}}
	Leases = &Type{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease", Plural: "leases", Singular: "lease",
		Strategic: true, Go: reflect.TypeFor[coordinationv1.Lease](),
		Columns: []Column{{"Holder", "string", ".spec.holderIdentity"}, age}}
	StorageClasses = &Type{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass", Plural: "storageclasses", Singular: "storageclass",
		ShortNames: []string{"sc"}, ClusterScoped: true, Strategic: true, Go: reflect.TypeFor[storagev1.StorageClass](),
		Columns: []Column{{"Provisioner", "string", ".provisioner"}, {"VolumeBindingMode", "string", ".volumeBindingMode"}, age}}
)

// KubeVirt's kinds.
var (
	VirtualMachines = &Type{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachine", Plural: "virtualmachines", Singular: "virtualmachine",
		ShortNames: []string{"vm", "vms"}, Categories: []string{"all"}, Status: true, Go: reflect.TypeFor[kubevirtv1.VirtualMachine](),
		Columns: []Column{age, {"Status", "string", ".status.printableStatus"}, {"Ready", "string", ready}}}
	VirtualMachineInstances = &Type{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachineInstance", Plural: "virtualmachineinstances",
		Singular: "virtualmachineinstance", ShortNames: []string{"vmi", "vmis"}, Categories: []string{"all"}, // no status subresource
		Go: reflect.TypeFor[kubevirtv1.VirtualMachineInstance](),
		Columns: []Column{age, {"Phase", "string", ".status.phase"}, {"IP", "string", ".status.interfaces[0].ipAddress"},
			{"NodeName", "string", ".status.nodeName"}, {"Ready", "string", ready}}}
	KubeVirts = &Type{Group: "kubevirt.io", Version: "v1", Kind: "KubeVirt", Plural: "kubevirts", Singular: "kubevirt",
		ShortNames: []string{"kv", "kvs"}, Categories: []string{"all"}, Status: true, Go: reflect.TypeFor[kubevirtv1.KubeVirt](),
		Columns: []Column{age, {"Phase", "string", ".status.phase"}}}
	InstanceTypes = &Type{Group: "instancetype.kubevirt.io", Version: "v1beta1", Kind: "VirtualMachineInstancetype",
		Plural: "virtualmachineinstancetypes", Singular: "virtualmachineinstancetype", ShortNames: []string{"vminstancetype", "vmf"},
		Go: reflect.TypeFor[instancetypev1beta1.VirtualMachineInstancetype](), Columns: []Column{age}}
	ClusterInstanceTypes = &Type{Group: "instancetype.kubevirt.io", Version: "v1beta1", Kind: "VirtualMachineClusterInstancetype",
		Plural: "virtualmachineclusterinstancetypes", Singular: "virtualmachineclusterinstancetype", ShortNames: []string{"vmclusterinstancetype", "vmcf"},
		ClusterScoped: true, Go: reflect.TypeFor[instancetypev1beta1.VirtualMachineClusterInstancetype](), Columns: []Column{age}}
	Preferences = &Type{Group: "instancetype.kubevirt.io", Version: "v1beta1", Kind: "VirtualMachinePreference",
		Plural: "virtualmachinepreferences", Singular: "virtualmachinepreference", ShortNames: []string{"vmpref", "vmp"},
		Go: reflect.TypeFor[instancetypev1beta1.VirtualMachinePreference](), Columns: []Column{age}}
	ClusterPreferences = &Type{Group: "instancetype.kubevirt.io", Version: "v1beta1", Kind: "VirtualMachineClusterPreference",
		Plural: "virtualmachineclusterpreferences", Singular: "virtualmachineclusterpreference", ShortNames: []string{"vmcp"},
		ClusterScoped: true, Go: reflect.TypeFor[instancetypev1beta1.VirtualMachineClusterPreference](), Columns: []Column{age}}
)

// CDI's kinds.
var (
	DataVolumes = &Type{Group: "cdi.kubevirt.io", Version: "v1beta1", Kind: "DataVolume", Plural: "datavolumes", Singular: "datavolume",
		ShortNames: []string{"dv", "dvs"}, Categories: []string{"all"}, Status: true, Go: reflect.TypeFor[cdiv1beta1.DataVolume](),
		Columns: []Column{{"Phase", "string", ".status.phase"}, {"Progress", "string", ".status.progress"}, {"Restarts", "integer", ".status.restartCount"}, age}}
	StorageProfiles = &Type{Group: "cdi.kubevirt.io", Version: "v1beta1", Kind: "StorageProfile", Plural: "storageprofiles", Singular: "storageprofile",
		ClusterScoped: true, Status: true, Go: reflect.TypeFor[cdiv1beta1.StorageProfile](), Columns: []Column{age}}
)

// All is every stored kind. An owner stands before what it owns.
var All = []*Type{
	Namespaces, Nodes, Secrets, ConfigMaps, Events, Leases, StorageClasses, StorageProfiles, KubeVirts,
	InstanceTypes, ClusterInstanceTypes, Preferences, ClusterPreferences,
	VirtualMachines, VirtualMachineInstances, Pods, DataVolumes, PersistentVolumeClaims,
}
