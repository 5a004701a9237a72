// Command kvgen writes, as JSON lists, the objects that virt-operator would install, from KubeVirt's own generators. Services,
// webhooks and APIServices point to a virt-api that listens on loopback.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
	operatorutil "kubevirt.io/kubevirt/pkg/virt-operator/util"
)

const namespace = "kubevirt"

func main() {
	dir := flag.String("dir", "", "where to write the files")
	caFile := flag.String("ca", "", "PEM file of the CA that signed virt-api's certificate")
	port := flag.Int("virt-api-port", 0, "port of virt-api on loopback")
	version := flag.String("version", "", "KubeVirt's version")
	flag.Parse()
	if err := run(*dir, *caFile, int32(*port), *version); err != nil { //nolint:gosec // a port
		fmt.Fprintln(os.Stderr, "kvgen:", err)
		os.Exit(1)
	}
}

func run(dir, caFile string, port int32, version string) error {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	crds, err := customResources()
	if err != nil {
		return err
	}
	for name, objects := range map[string][]any{
		"crds.json":         crds,
		"rbac.json":         roles(),
		"services.json":     services(port, ca),
		"virt-handler.json": {virtHandler(version)},
		"registration.json": registration(port, ca),
	} {
		if err := write(filepath.Join(dir, name), objects); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func customResources() ([]any, error) {
	var out []any
	for _, generate := range []func() (*extv1.CustomResourceDefinition, error){
		components.NewKubeVirtCrd, components.NewVirtualMachineInstanceCrd, components.NewPresetCrd, components.NewReplicaSetCrd,
		components.NewVirtualMachineCrd, components.NewVirtualMachineInstanceMigrationCrd,
		components.NewVirtualMachineSnapshotCrd, components.NewVirtualMachineSnapshotContentCrd, components.NewVirtualMachineRestoreCrd,
		components.NewVirtualMachineInstancetypeCrd, components.NewVirtualMachineClusterInstancetypeCrd,
		components.NewVirtualMachinePreferenceCrd, components.NewVirtualMachineClusterPreferenceCrd,
		components.NewVirtualMachinePoolCrd, components.NewMigrationPolicyCrd, components.NewVirtualMachineExportCrd,
		components.NewVirtualMachineCloneCrd, components.NewVirtualMachineBackupCrd, components.NewVirtualMachineBackupTrackerCrd,
		components.NewPluginCrd,
	} {
		crd, err := generate()
		if err != nil {
			return nil, err
		}
		out = append(out, crd)
	}
	return out, nil
}

func roles() []any {
	var out []any
	add(&out, rbac.GetAllCluster())
	add(&out, rbac.GetAllApiServer(namespace))
	add(&out, rbac.GetAllController(namespace, true))
	add(&out, rbac.GetAllHandler(namespace))
	return out
}

func add[T any](to *[]any, from []T) {
	for _, o := range from {
		*to = append(*to, o)
	}
}

// services makes virt-api's Service an ExternalName for localhost: Endpoints may not hold loopback addresses, but
// kube-apiserver's default resolver accepts ExternalName for webhooks and APIServices.
func services(port int32, ca []byte) []any {
	svc := components.NewApiServerService(namespace)
	svc.Spec.Type, svc.Spec.ExternalName = "ExternalName", "localhost"
	svc.Spec.Selector, svc.Spec.ClusterIP = nil, ""
	svc.Spec.Ports[0].Port = port
	out := []any{svc, components.NewKubeVirtPriorityClassCR()}
	for _, cm := range components.NewCAConfigMaps(namespace) {
		cm.Data = map[string]string{components.CABundleKey: string(ca)}
		out = append(out, cm)
	}
	return out
}

func virtHandler(version string) any {
	return components.NewHandlerDaemonSet(&operatorutil.KubeVirtDeploymentConfig{
		Namespace: namespace, Registry: "lab.invalid/kubevirt", KubeVirtVersion: version,
	}, "", "", "")
}

func registration(port int32, ca []byte) []any {
	validating := components.NewVirtAPIValidatingWebhookConfiguration(namespace)
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig.CABundle = ca
		validating.Webhooks[i].ClientConfig.Service.Port = &port
	}
	mutating := components.NewVirtAPIMutatingWebhookConfiguration(namespace)
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ClientConfig.CABundle = ca
		mutating.Webhooks[i].ClientConfig.Service.Port = &port
	}
	out := []any{validating, mutating}
	for _, api := range components.NewVirtAPIAPIServices(namespace) {
		api.Spec.CABundle = ca
		api.Spec.Service.Port = &port
		out = append(out, api)
	}
	return out
}

// write drops status and creationTimestamp, which have no place in an object that is applied.
func write(file string, objects []any) error {
	raw, err := json.Marshal(objects)
	if err != nil {
		return err
	}
	var list []map[string]any
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, o := range list {
		delete(o, "status")
		if meta, ok := o["metadata"].(map[string]any); ok {
			delete(meta, "creationTimestamp")
		}
	}
	raw, err = json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o600)
}
