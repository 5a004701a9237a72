package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig writes that of the service account.
func (s *Space) kubeconfig(t *testing.T) string {
	t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["lab"] = &clientcmdapi.Cluster{Server: s.Account.Host, CertificateAuthorityData: s.Account.CAData, CertificateAuthority: s.Account.CAFile}
	file.AuthInfos["lab"] = &clientcmdapi.AuthInfo{Token: s.Account.BearerToken}
	file.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "lab"}
	file.CurrentContext = "lab"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*file, path))
	return path
}

// The program, killed in the moment in which it has accepted a power-on that has to wait, carries it out after a
// restart.
func TestLabKilledProcessLosesNothing(t *testing.T) {
	bothRights(t, func(t *testing.T, s *Space) {
		config := filepath.Join(t.TempDir(), "config.yaml")
		write(t, config, strings.ReplaceAll(document("password-A"), "namespace: cp1", "namespace: "+s.Name))
		args := []string{"--config", config, "--kubeconfig", s.kubeconfig(t)}
		id := s.create(t, "node-0", stubborn(on))
		before := s.runs(t, "node-0").UID
		program, e := Serving(t, nil, args...)
		system := func() string {
			status, text := e.get(t, e.URL+"/redfish/v1/Systems/"+id, "operator1", "password-A")
			require.Equal(t, http.StatusOK, status, text)
			return text
		}
		reset := func(how string) int {
			status, text := e.do(t, http.MethodPost, e.URL+"/redfish/v1/Systems/"+id+"/Actions/ComputerSystem.Reset", "operator1", "password-A", `{"ResetType": "`+how+`"}`)
			require.Less(t, status, 300, text)
			return status
		}
		require.Equal(t, http.StatusUnauthorized, e.Status(t, "/Systems", "admin", "password"))
		require.Contains(t, system(), `"PowerState":"On"`)
		require.Equal(t, http.StatusNoContent, reset("GracefulShutdown"))
		require.Equal(t, http.StatusAccepted, reset("On"))
		program.Kill()

		s.gone(t, "node-0") // nobody starts it while the program is away
		program, e = Serving(t, nil, args...)
		after := s.runs(t, "node-0").UID
		require.NotEqual(t, before, after)
		eventually(t, id+" is shown as on", func() bool { return strings.Contains(system(), `"PowerState":"On"`) })
		require.Equal(t, 0, program.Terminate(t))
	})
}
