package lab_test

import (
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab"
	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

func TestGatesAreOnByDefault(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	var made kube.Object
	_, err := s.Do(t.Context(), http.MethodPost, s.path(kubevirt, onVM, "")+"?dryRun=All", machine{reboot: "Terminate", cd: "empty"}.object("vm"), &made)
	require.NoError(t, err)
	require.Equal(t, "Terminate", made.Text("spec", "template", "spec", "domain", "rebootPolicy"))
}

// TestSecondLabBesideTheFirst starts one with the optional gates off, beside the lab of the suite.
func TestSecondLabBesideTheFirst(t *testing.T) {
	ownLab(t)
	o := lab.DefaultOptions()
	o.State, o.Nodes, o.Gates = t.TempDir(), 1, false
	kubeconfig, err := lab.Up(t.Context(), suite.programs, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Down(o.State, true)) })

	t.Run("refuses what older clusters do not have", func(t *testing.T) {
		s := spaceIn(t, kubeconfig)
		for _, c := range []struct {
			machine machine
			want    string
		}{
			{machine{reboot: "Terminate"}, "RebootPolicy is specified but the RebootPolicy feature gate is not enabled"},
			{machine{cd: "empty"}, "DeclarativeHotplugVolumes feature gate not enabled, cannot define an empty CD-ROM disk"},
		} {
			code, err := s.Do(t.Context(), http.MethodPost, s.path(kubevirt, onVM, ""), c.machine.object("vm"), nil)
			require.Equal(t, http.StatusUnprocessableEntity, code)
			require.ErrorContains(t, err, c.want)
		}
	})
	t.Run("runs machines of its own", func(t *testing.T) {
		s := spaceIn(t, kubeconfig)
		s.start("vm", machine{})
		s.running("vm")
		first := newSpace(t)
		require.Equal(t, http.StatusNotFound, kube.Code(first.fetch(s.path(kubevirt, onVM, "vm"))))
	})
	t.Run("cannot be started twice", func(t *testing.T) {
		_, err := lab.Up(t.Context(), suite.programs, o)
		require.ErrorContains(t, err, "already runs")
	})
	t.Run("keeps its ports", func(t *testing.T) {
		other := o
		other.State, other.PortBase = t.TempDir(), port(t, kubeconfig)-43
		_, err := lab.Up(t.Context(), suite.programs, other)
		require.ErrorContains(t, err, "address already in use")
	})
	t.Run("shows a crash and stops", func(t *testing.T) { crashAndStop(t, o.State) })
	t.Run("does not continue with another number of nodes", func(t *testing.T) {
		other := o
		other.Nodes = 2
		_, err := lab.Up(t.Context(), suite.programs, other)
		require.ErrorContains(t, err, "take it away with down --clean")
	})
	t.Run("continues with its data", func(t *testing.T) {
		again, err := lab.Up(t.Context(), suite.programs, o)
		require.NoError(t, err)
		s := spaceIn(t, again)
		s.start("vm", machine{})
		s.running("vm")
	})
}

// port is that of the API server.
func port(t *testing.T, kubeconfig string) int {
	t.Helper()
	config, err := kube.ReadConfig(kubeconfig)
	require.NoError(t, err)
	server, err := url.Parse(config.Clusters[0].Cluster.Server)
	require.NoError(t, err)
	n, err := strconv.Atoi(server.Port())
	require.NoError(t, err)
	return n
}

// fetch is get for an answer that does not matter.
func (s space) fetch(path string) error {
	_, err := s.Do(s.Context(), http.MethodGet, path, nil, nil)
	return err
}

func crashAndStop(t *testing.T, state string) {
	programs, err := lab.Status(state)
	require.NoError(t, err)
	require.Len(t, programs, 7)
	for _, p := range programs {
		require.True(t, p.Alive, p.Name)
		require.Positive(t, p.RSS, p.Name)
		if p.Name == "fakenode" {
			require.NoError(t, syscall.Kill(p.PID, syscall.SIGKILL))
		}
	}
	require.Eventually(t, func() bool {
		now, err := lab.Status(state)
		require.NoError(t, err)
		dead := 0
		for _, p := range now {
			if !p.Alive {
				require.Equal(t, "fakenode", p.Name)
				dead++
			}
		}
		return dead == 1
	}, patience, patience/1000)
	require.NoError(t, lab.Down(state, false))
	for _, p := range programs {
		_, err := os.Stat(p.Log)
		require.NoError(t, err, "logs are kept")
		ended := func() bool { return syscall.Kill(p.PID, 0) != nil } // once our goroutine has reaped it
		require.Eventually(t, ended, patience, patience/1000, "%s must have ended", p.Name)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*lab.Options)
		want   string
	}{
		"no state":    {func(o *lab.Options) { o.State = "" }, "no state folder"},
		"no nodes":    {func(o *lab.Options) { o.Nodes = 0 }, "0 nodes"},
		"port base":   {func(o *lab.Options) { o.PortBase = 80 }, "port base 80"},
		"high ports":  {func(o *lab.Options) { o.PortBase = 65500 }, "port base 65500"},
		"many, nodes": {func(o *lab.Options) { o.Nodes = 100 }, "100 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := lab.DefaultOptions()
			o.State = "state"
			require.NoError(t, o.Validate())
			c.change(&o)
			require.ErrorContains(t, o.Validate(), c.want)
		})
	}
}
