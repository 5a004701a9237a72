package lab_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

const mebibyte = 1 << 20

// image is a medium of a program: the line that the lab's CDI looks for, and padding.
func image(program string) []byte {
	return append([]byte("LAB-ISO "+program+"\n"), bytes.Repeat([]byte{0}, 3*mebibyte)...)
}

// serve serves images by path; what is not there is 404.
func serve(t *testing.T, images map[string][]byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := images[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(content)) // with Content-Length, so that progress is known
	}))
	t.Cleanup(server.Close)
	return server.URL
}

type dataVolume struct {
	url         string // empty: a blank disk
	size        string // empty: 16Mi
	class       string
	annotations map[string]any
	http        map[string]any // more fields of source.http
}

func (s space) volume(name string, d dataVolume) {
	s.Helper()
	source := map[string]any{"blank": map[string]any{}}
	if d.url != "" {
		fields := map[string]any{"url": d.url}
		maps.Copy(fields, d.http)
		source = map[string]any{"http": fields}
	}
	if d.size == "" {
		d.size = "16Mi"
	}
	storage := map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": d.size}}}
	if d.class != "" {
		storage["storageClassName"] = d.class
	}
	s.create(cdi, "datavolumes", kube.Object{"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
		"metadata": map[string]any{"name": name, "annotations": d.annotations}, "spec": map[string]any{"source": source, "storage": storage}})
}

func (s space) dv(name string) kube.Object { s.Helper(); return s.get(cdi, "datavolumes", name) }
func (s space) pvc(name string) kube.Object {
	s.Helper()
	return s.get(core, "persistentvolumeclaims", name)
}

func (s space) dvPhase(name, want string) {
	s.Helper()
	s.eventually("phase of "+name, want, func() string { return s.dv(name).Text("status", "phase") })
}

func TestImport(t *testing.T) {
	t.Parallel()
	live := image("live")
	url := serve(t, map[string][]byte{"/live.iso": live})
	for name, check := range map[string]func(space){
		"content and program of the medium are told": func(s space) {
			s.volume("v", dataVolume{url: url + "/live.iso"})
			s.dvPhase("v", "Succeeded")
			sum := sha256.Sum256(live)
			require.Equal(s, hex.EncodeToString(sum[:]), note(s.pvc("v"), "content-sha256"))
			require.Equal(s, "live", note(s.pvc("v"), "iso"))
			require.Equal(s, "Bound", s.pvc("v").Text("status", "phase"))
		},
		"progress is reported": func(s space) {
			s.volume("v", dataVolume{url: url + "/live.iso", annotations: map[string]any{annotation + "import-rate": "1000000"}})
			percent := regexp.MustCompile(`^[1-9]\d?\.\d\d%$`)
			s.eventually("progress", "percent", func() string {
				return percent.ReplaceAllString(s.dv("v").Text("status", "progress"), "percent")
			})
			s.dvPhase("v", "Succeeded")
		},
		"too small": func(s space) {
			s.volume("v", dataVolume{url: url + "/live.iso", size: "1Mi"})
			s.eventually("message", "DataVolume too small to contain image", func() string { return condition(s.dv("v"), "Running").Text("message") })
		},
		"first consumer is waited for": func(s space) {
			s.volume("v", dataVolume{url: url + "/live.iso", class: "lab-local"})
			s.dvPhase("v", "WaitForFirstConsumer")
			s.start("vm", machine{disk: "v"})
			s.running("vm")
			s.dvPhase("v", "Succeeded")
		},
		"binding at once on request": func(s space) {
			s.volume("v", dataVolume{url: url + "/live.iso", class: "lab-local",
				annotations: map[string]any{"cdi.kubevirt.io/storage.bind.immediate.requested": "true"}})
			s.dvPhase("v", "Succeeded")
		},
		"wrong checksum ends in Failed": func(s space) {
			s.volume("v", dataVolume{url: url + "/live.iso", http: map[string]any{"checksum": "md5:00"}})
			s.dvPhase("v", "Failed")
		},
		"right checksum": func(s space) {
			sum := sha256.Sum256(live)
			s.volume("v", dataVolume{url: url + "/live.iso", http: map[string]any{"checksum": "sha256:" + hex.EncodeToString(sum[:])}})
			s.dvPhase("v", "Succeeded")
		},
		"only from loopback": func(s space) {
			s.volume("v", dataVolume{url: "http://192.0.2.1/live.iso"})
			s.eventually("refused", "true", func() string {
				return fmt.Sprint(strings.Contains(condition(s.dv("v"), "Running").Text("message"), "192.0.2.1:80 is not a loopback address"))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(newSpace(t))
		})
	}
}

func TestFailedImportIsTriedAgainUntilItSucceeds(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	var ready atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ready.Load() {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.volume("v", dataVolume{url: server.URL})
	s.eventually("error", "Unable to connect to http data source: expected status code 200, got 404. Status: 404 Not Found",
		func() string { return condition(s.dv("v"), "Running").Text("message") })
	require.Equal(t, "ImportInProgress", s.dv("v").Text("status", "phase"))
	ready.Store(true)
	s.dvPhase("v", "Succeeded")
	require.GreaterOrEqual(t, s.dv("v")["status"].(map[string]any)["restartCount"], 1.0)
}

func TestImportOverTLSWithCredentials(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "p" || r.Header.Get("X-A") != "1" || r.Header.Get("X-B") != "2" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	credentials := map[string]any{"secretRef": "auth", "extraHeaders": []any{"X-A: 1"}, "secretExtraHeaders": []any{"headers"}}
	with := func(more map[string]any) map[string]any {
		out := maps.Clone(credentials)
		maps.Copy(out, more)
		return out
	}
	for name, c := range map[string]struct {
		http   map[string]any
		failed string
	}{
		"CA known":       {with(map[string]any{"certConfigMap": "ca"}), ""},
		"not verified":   {with(map[string]any{"insecureSkipVerify": true}), ""},
		"CA not known":   {credentials, "certificate signed by unknown authority"},
		"no credentials": {map[string]any{"certConfigMap": "ca"}, "got 403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.create(core, "configmaps", kube.Object{"metadata": map[string]any{"name": "ca"}, "data": map[string]any{"ca.pem": string(ca)}})
			s.create(core, "secrets", kube.Object{"metadata": map[string]any{"name": "auth"}, "stringData": map[string]any{"accessKeyId": "u", "secretKey": "p"}})
			s.create(core, "secrets", kube.Object{"metadata": map[string]any{"name": "headers"}, "stringData": map[string]any{"b": "X-B: 2"}})
			s.volume("v", dataVolume{url: server.URL, http: c.http})
			if c.failed == "" {
				s.dvPhase("v", "Succeeded")
				return
			}
			s.eventually("error", "true", func() string {
				return fmt.Sprint(strings.Contains(condition(s.dv("v"), "Running").Text("message"), c.failed))
			})
		})
	}
}

func TestInstallerWithTerminateGivesANewVMIWithTheBootOrderPatchedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	url := serve(t, map[string][]byte{"/installer.iso": image("installer after=2s then=reboot")})
	s.volume("disk", dataVolume{})
	s.volume("iso", dataVolume{url: url + "/installer.iso"})
	s.dvPhase("iso", "Succeeded")
	s.start("vm", machine{disk: "disk", cd: "iso", cdFirst: true, reboot: "Terminate"})
	s.bootedFrom("vm", "cdrom0")
	before := s.vmi("vm")
	s.patch(kubevirt, onVM, "vm", kube.Object{"spec": machine{disk: "disk", cd: "iso", reboot: "Terminate"}.object("vm")["spec"]})
	s.eventually("a new VMI from disk", "rootdisk true", func() string {
		now := s.vmi("vm")
		if uid(now) == uid(before) {
			return note(now, "booted-from")
		}
		return note(now, "booted-from") + " true"
	})
	require.Equal(t, "installed", note(s.pvc("disk"), "disk-state"))
	require.Equal(t, "cd", note(s.pvc("disk"), "installed-from"))
	require.Contains(t, s.guestLog("vm"), `end=Succeeded why="installer reboot with rebootPolicy Terminate"`)
}

func TestInstallerWithoutTerminateBootsFromCDAgainUntilItIsEjected(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	url := serve(t, map[string][]byte{"/installer.iso": image("installer after=1s then=reboot"), "/live.iso": image("live")})
	s.volume("disk", dataVolume{})
	s.volume("iso", dataVolume{url: url + "/installer.iso"})
	s.volume("live", dataVolume{url: url + "/live.iso"})
	s.dvPhase("iso", "Succeeded")
	s.start("vm", machine{disk: "disk", cd: "iso", cdFirst: true})
	before := s.running("vm")
	s.eventually("third boot from CD", "3 cdrom0", func() string { return note(s.vmi("vm"), "boot-count") + " " + note(s.vmi("vm"), "booted-from") })

	setCD(s, "")
	s.eventually("ejected", "", func() string { return cdPhase(s) })
	s.bootedFrom("vm", "rootdisk")
	s.dvPhase("live", "Succeeded")
	setCD(s, "live")
	s.eventually("inserted", "Ready", func() string { return cdPhase(s) })
	s.annotate("vm", "guest", "reboot")
	s.bootedFrom("vm", "cdrom0")
	require.Equal(t, "live", note(s.vmi("vm"), "program"))

	s.annotate("vm", "tray-locked", "true")
	setCD(s, "")
	s.eventually("virt-controller wants it out", "1", func() string {
		volumes, _ := s.vmi("vm")["spec"].(map[string]any)["volumes"].([]any)
		return strings.Repeat("1", len(volumes))
	})
	require.Equal(t, "Ready", cdPhase(s))
	s.annotate("vm", "tray-locked", nil)
	s.eventually("unlocked and ejected", "", func() string { return cdPhase(s) })
	require.Equal(t, uid(before), uid(s.vmi("vm")))
	require.Empty(t, conditionOf(s.vm("vm"), "RestartRequired"))
}

// setCD edits spec.volumes: empty ejects.
func setCD(s space, dataVolume string) {
	s.Helper()
	volumes := []any{map[string]any{"name": "root", "dataVolume": map[string]any{"name": "disk"}}}
	if dataVolume != "" {
		volumes = append(volumes, cdVolume(dataVolume))
	}
	s.patch(kubevirt, onVM, "vm", kube.Object{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"volumes": volumes}}}})
}

func cdPhase(s space) string {
	s.Helper()
	status, _ := s.vmi("vm")["status"].(map[string]any)
	list, _ := status["volumeStatus"].([]any)
	for _, v := range list {
		if v := kube.Object(v.(map[string]any)); v.Text("name") == "cd" {
			return v.Text("phase")
		}
	}
	return ""
}
