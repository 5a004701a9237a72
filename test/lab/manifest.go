package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

//go:embed manifests/storage.yaml
var storageYAML []byte

// storageObjects are the storage classes, and what CDI would keep about them and itself.
func storageObjects() []kube.Object {
	var out []kube.Object
	decoder := yaml.NewDecoder(bytes.NewReader(storageYAML))
	for {
		var o map[string]any // not an Object: the decoder makes nested maps of the same type
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			panic(fmt.Sprintf("manifests/storage.yaml: %v", err)) // embedded, so a test finds it
		}
		out = append(out, o)
	}
}

// manifest reads what kvgen has written.
func (l *lab) manifest(name string) ([]kube.Object, error) {
	raw, err := os.ReadFile(filepath.Join(l.manifests(), name))
	if err != nil {
		return nil, err
	}
	var out []kube.Object
	return out, json.Unmarshal(raw, &out)
}

// customResources are CDI's kinds with schemas that allow everything: nothing is pruned or refused, so what an older CDI drops cannot be tested here.
func customResources() []kube.Object {
	var out []kube.Object
	for _, r := range []struct {
		plural, singular, kind string
		namespaced             bool
	}{
		{"datavolumes", "datavolume", "DataVolume", true},
		{"datasources", "datasource", "DataSource", true},
		{"dataimportcrons", "dataimportcron", "DataImportCron", true},
		{"volumeimportsources", "volumeimportsource", "VolumeImportSource", true},
		{"storageprofiles", "storageprofile", "StorageProfile", false},
		{"cdiconfigs", "cdiconfig", "CDIConfig", false},
		{"cdis", "cdi", "CDI", false},
	} {
		scope := "Cluster"
		if r.namespaced {
			scope = "Namespaced"
		}
		version := map[string]any{"name": "v1beta1", "served": true, "storage": true, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
		if r.kind == "DataVolume" {
			version["subresources"] = map[string]any{"status": map[string]any{}}
		}
		out = append(out, kube.Object{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": r.plural + ".cdi.kubevirt.io"},
			"spec": map[string]any{
				"group": "cdi.kubevirt.io", "scope": scope, "versions": []any{version},
				"names": map[string]any{"plural": r.plural, "singular": r.singular, "kind": r.kind, "listKind": r.kind + "List"},
			},
		})
	}
	return out
}

// optionalGates are those that KubeVirt 1.9 has on and older versions do not have.
var optionalGates = []string{"RebootPolicy", "DeclarativeHotplugVolumes"}

func (l *lab) kubeVirt() kube.Object {
	disabled := []string{}
	if !l.Gates {
		disabled = optionalGates
	}
	o := kubeVirtObject()
	o["spec"] = map[string]any{
		"configuration": map[string]any{
			"developerConfiguration": map[string]any{"featureGates": []string{}, "disabledFeatureGates": disabled},
			"evictionStrategy":       "None",
		},
		"workloadUpdateStrategy": map[string]any{},
	}
	return o
}

func kubeVirtObject() kube.Object {
	return kube.Object{"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": map[string]any{"name": "kubevirt", "namespace": namespace}}
}

// kubeVirtStatus is what virt-operator would write; without it clients see no version.
func kubeVirtStatus() kube.Object {
	condition := func(kind, status string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "AllComponentsReady", "message": "lab"}
	}
	o := kubeVirtObject()
	o["status"] = map[string]any{
		"phase": "Deployed", "defaultArchitecture": "amd64",
		"operatorVersion": kubevirtVersion, "observedKubeVirtVersion": kubevirtVersion, "targetKubeVirtVersion": kubevirtVersion,
		"conditions": []any{condition("Available", "True"), condition("Created", "True"), condition("Progressing", "False"), condition("Degraded", "False")},
	}
	return o
}

// virtAPIHealthy asks virt-api itself: before its registration, kube-apiserver does not know it.
func (l *lab) virtAPIHealthy(ctx context.Context) error {
	ca, err := os.ReadFile(l.pki("kubevirt-ca.crt"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://localhost:%d/healthz", l.virtAPI), nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("virt-api is %s", response.Status)
	}
	return nil
}
