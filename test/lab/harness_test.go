package lab_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

// suite is the lab that the tests share: that of LAB_KUBECONFIG, or one of their own.
var suite struct {
	kubeconfig string
	programs   string // built for an own lab; empty for one of somebody else
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // the tests wait, they do not compute
	suite.kubeconfig = os.Getenv("LAB_KUBECONFIG")
	if suite.kubeconfig != "" || testing.Short() {
		return m.Run()
	}
	state, err := os.MkdirTemp("", "lab-test-")
	if err == nil {
		err = startSuite(state)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the lab:", err)
		return 1
	}
	code := m.Run()
	if err := lab.Down(state, true); err != nil {
		fmt.Fprintln(os.Stderr, "stop the lab:", err)
		return 1
	}
	if code == 0 {
		_ = os.RemoveAll(state)
	} else {
		fmt.Fprintln(os.Stderr, "logs are in", state)
	}
	return code
}

func startSuite(state string) error {
	cache, err := lab.DefaultCache()
	if err != nil {
		return err
	}
	ctx := context.Background() // there is no test yet
	built, err := lab.Build(ctx, "programs", cache, os.Stderr)
	if err != nil {
		return err
	}
	o := lab.DefaultOptions()
	o.State = state
	suite.programs = built.Dir
	suite.kubeconfig, err = lab.Up(ctx, built.Dir, o)
	return err
}

// ownLab skips a test that would disturb other users of the lab.
func ownLab(t *testing.T) {
	t.Helper()
	if suite.programs == "" {
		t.Skip("needs a lab of its own: LAB_KUBECONFIG is set, or -short")
	}
}

// space is a namespace of one test, deleted at its end.
type space struct {
	*testing.T
	*kube.Client
	name string
}

func newSpace(t *testing.T) space {
	t.Helper()
	if suite.kubeconfig == "" {
		t.Skip("needs a lab: -short, and LAB_KUBECONFIG is not set")
	}
	return spaceIn(t, suite.kubeconfig)
}

func spaceIn(t *testing.T, kubeconfig string) space {
	t.Helper()
	config, err := kube.ReadConfig(kubeconfig)
	require.NoError(t, err)
	client, err := kube.New(config)
	require.NoError(t, err)
	var made kube.Object
	_, err = client.Do(t.Context(), http.MethodPost, "/api/v1/namespaces", kube.Object{"metadata": map[string]any{"generateName": "test-"}}, &made)
	require.NoError(t, err)
	s := space{T: t, Client: client, name: made.Text("metadata", "name")}
	t.Cleanup(func() {
		_, err := client.Do(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+s.name, nil, nil) //nolint:usetesting // the test's context has ended
		require.NoError(t, err)
	})
	return s
}

// in is the same namespace for a subtest: making one is cheap, but deleting one costs a request for each kind.
func (s space) in(t *testing.T) space {
	s.T = t
	return s
}

const (
	core       = "/api/v1"
	kubevirt   = "/apis/kubevirt.io/v1"
	subs       = "/apis/subresources.kubevirt.io/v1"
	cdi        = "/apis/cdi.kubevirt.io/v1beta1"
	annotation = "lab.kubevirt-redfish.io/"
)

func (s space) path(group, kind, name string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s/namespaces/%s/%s/%s", group, s.name, kind, name), "/")
}

// get returns nil for an object that is not there.
func (s space) get(group, kind, name string) kube.Object {
	s.Helper()
	var o kube.Object
	code, err := s.Do(s.Context(), http.MethodGet, s.path(group, kind, name), nil, &o)
	if code == http.StatusNotFound {
		return nil
	}
	require.NoError(s, err)
	return o
}

func (s space) vm(name string) kube.Object {
	s.Helper()
	return s.get(kubevirt, "virtualmachines", name)
}
func (s space) vmi(name string) kube.Object {
	s.Helper()
	return s.get(kubevirt, "virtualmachineinstances", name)
}

func (s space) create(group, kind string, o kube.Object) {
	s.Helper()
	_, err := s.Do(s.Context(), http.MethodPost, s.path(group, kind, ""), o, nil)
	require.NoError(s, err)
}

func (s space) patch(group, kind, name string, patch kube.Object) {
	s.Helper()
	require.NoError(s, s.Patch(s.Context(), s.path(group, kind, name), patch, nil))
}

// annotate sets an annotation of the lab on a VMI; nil takes it away.
func (s space) annotate(vmi, key string, value any) {
	s.Helper()
	s.patch(kubevirt, "virtualmachineinstances", vmi, kube.Object{"metadata": map[string]any{"annotations": map[string]any{annotation + key: value}}})
}

func note(o kube.Object, key string) string { return o.Text("metadata", "annotations", annotation+key) }

func uid(o kube.Object) string { return o.Text("metadata", "uid") }

// conditionOf is "True", "False" or empty.
func conditionOf(o kube.Object, kind string) string { return condition(o, kind).Text("status") }

func condition(o kube.Object, kind string) kube.Object {
	status, _ := o["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if c := kube.Object(c.(map[string]any)); c.Text("type") == kind {
			return c
		}
	}
	return nil
}

const patience = 2 * time.Minute // for what takes a second on an idle machine

// eventually asks until got returns want.
func (s space) eventually(what, want string, got func() string) {
	s.Helper()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		last := got()
		if last == want {
			return
		}
		if time.Now().After(deadline) {
			require.Equal(s, want, last, what)
		}
	}
}

// machine describes a VM to create; the zero value is a container disk and runStrategy Always.
type machine struct {
	strategy    string
	disk        string // DataVolume; empty: a container disk
	cd          string // DataVolume in a hotpluggable tray; "empty" for an empty tray
	cdFirst     bool   // in boot order, else the disk
	reboot      string // rebootPolicy
	grace       int    // termination grace period in seconds; 0 stands for 60
	annotations map[string]string
	selector    map[string]string
	agentProbe  bool
}

func (m machine) object(name string) kube.Object {
	diskOrder, cdOrder := 1, 2
	if m.cdFirst {
		diskOrder, cdOrder = 2, 1
	}
	disks := []any{map[string]any{"name": "root", "bootOrder": diskOrder, "disk": map[string]any{"bus": "virtio"}}}
	volumes := []any{map[string]any{"name": "root", "containerDisk": map[string]any{"image": "lab.invalid/disk:1"}}}
	if m.disk != "" {
		volumes = []any{map[string]any{"name": "root", "dataVolume": map[string]any{"name": m.disk}}}
	}
	if m.cd != "" {
		disks = append(disks, map[string]any{"name": "cd", "bootOrder": cdOrder, "cdrom": map[string]any{"bus": "sata"}})
	}
	if m.cd != "" && m.cd != "empty" {
		volumes = append(volumes, cdVolume(m.cd))
	}
	grace := m.grace
	if grace == 0 {
		grace = 60
	}
	domain := map[string]any{"memory": map[string]any{"guest": "64Mi"}, "devices": map[string]any{
		"disks": disks, "interfaces": []any{map[string]any{"name": "default", "masquerade": map[string]any{}}},
	}}
	if m.reboot != "" {
		domain["rebootPolicy"] = m.reboot
	}
	annotations := map[string]any{}
	for k, v := range m.annotations {
		annotations[annotation+k] = v
	}
	spec := map[string]any{
		"evictionStrategy": "None", "terminationGracePeriodSeconds": grace, "nodeSelector": m.selector,
		"domain": domain, "networks": []any{map[string]any{"name": "default", "pod": map[string]any{}}}, "volumes": volumes,
	}
	if m.agentProbe {
		spec["readinessProbe"] = map[string]any{"guestAgentPing": map[string]any{}, "periodSeconds": 2}
	}
	strategy := m.strategy
	if strategy == "" {
		strategy = "Always"
	}
	return kube.Object{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"runStrategy": strategy, "template": map[string]any{"metadata": map[string]any{"annotations": annotations}, "spec": spec}},
	}
}

func cdVolume(dataVolume string) map[string]any {
	return map[string]any{"name": "cd", "dataVolume": map[string]any{"name": dataVolume, "hotpluggable": true}}
}

func (s space) start(name string, m machine) {
	s.Helper()
	s.create(kubevirt, "virtualmachines", m.object(name))
}

// running waits for a VMI in phase Running.
func (s space) running(name string) kube.Object {
	s.Helper()
	s.eventually(name+" runs", "Running", func() string { return s.vmi(name).Text("status", "phase") })
	return s.vmi(name)
}

// gone waits until there is no VMI. The VM's printable status may say Stopped before.
func (s space) gone(name string) {
	s.Helper()
	s.eventually("no VMI", "", func() string { return uid(s.vmi(name)) })
}

func (s space) bootedFrom(name, want string) {
	s.Helper()
	s.eventually(name+" boots", want, func() string { return note(s.vmi(name), "booted-from") })
}

func (s space) printable(name, want string) {
	s.Helper()
	s.eventually(name+"'s printable status", want, func() string { return s.vm(name).Text("status", "printableStatus") })
}

// guestLog is what happened to all VMIs of that name.
func (s space) guestLog(name string) string {
	s.Helper()
	return s.get(core, "configmaps", "lab-guest-"+name).Text("data", "log")
}
