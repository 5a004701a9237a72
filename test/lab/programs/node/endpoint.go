package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/guest"
)

type vmiHandler func(http.ResponseWriter, *http.Request, *v1.VirtualMachineInstance)

// listen opens the HTTPS endpoint of a node's virt-handler, which virt-api dials. The returned function serves until its context ends.
func (f *Fleet) listen(ctx context.Context, address string) (func(context.Context), error) {
	tlsConfig, err := f.endpointTLS()
	if err != nil {
		return nil, err
	}
	raw, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("%s:%d", address, f.HandlerPort))
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: f.routes(), ReadHeaderTimeout: 10 * time.Second}
	return func(ctx context.Context) {
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stop()
		if err := server.Serve(tls.NewListener(raw, tlsConfig)); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("virt-handler endpoint", "address", address, "err", err)
		}
	}, nil
}

func (f *Fleet) endpointTLS() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(f.PKI, "virt-handler-server.crt"), filepath.Join(f.PKI, "virt-handler-server.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(f.PKI, "kubevirt-ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

func (f *Fleet) routes() http.Handler {
	mux := http.NewServeMux()
	for path, h := range map[string]vmiHandler{
		"pause":          f.servePause,
		"unpause":        f.serveUnpause,
		"reset":          f.serveReboot("reset"),
		"softreboot":     f.serveReboot("softreboot"),
		"freeze":         accept,
		"unfreeze":       accept,
		"guestosinfo":    serveGuestInfo,
		"userlist":       serveEmpty[v1.VirtualMachineInstanceGuestOSUserList],
		"filesystemlist": serveEmpty[v1.VirtualMachineInstanceFileSystemList],
		"console":        serveConsole,
		"vnc":            serveVNC,
		"vnc/screenshot": serveScreenshot,
	} {
		mux.HandleFunc("/v1/namespaces/{namespace}/virtualmachineinstances/{name}/"+path, f.onVMI(h))
	}
	return mux
}

// onVMI finds the VMI in the cache; KubeVirt's RBAC lets virt-handler list, watch and update VMIs, but not get them.
func (f *Fleet) onVMI(h vmiHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		vmi := f.vmi(r.PathValue("namespace") + "/" + r.PathValue("name"))
		slog.Info("virt-handler request", "method", r.Method, "path", r.URL.Path)
		switch {
		case vmi == nil:
			http.Error(w, "no such VMI here", http.StatusNotFound)
		case !f.up(vmi.Status.NodeName):
			panic(http.ErrAbortHandler) // a dead node: drop the connection
		case vmi.Status.Phase != v1.Running:
			http.Error(w, "VMI is not running", http.StatusConflict)
		default:
			h(w, r, vmi)
		}
	}
}

func accept(w http.ResponseWriter, _ *http.Request, _ *v1.VirtualMachineInstance) {
	w.WriteHeader(http.StatusAccepted)
}

func (f *Fleet) servePause(w http.ResponseWriter, r *http.Request, vmi *v1.VirtualMachineInstance) {
	f.change(w, r, vmi, func(vmi *v1.VirtualMachineInstance) {
		guest.AddCondition(vmi, v1.VirtualMachineInstancePaused, "PausedByUser", "VMI was paused by user")
	})
}

func (f *Fleet) serveUnpause(w http.ResponseWriter, r *http.Request, vmi *v1.VirtualMachineInstance) {
	f.change(w, r, vmi, func(vmi *v1.VirtualMachineInstance) {
		guest.DropCondition(vmi, v1.VirtualMachineInstancePaused)
	})
}

var untilFresh = wait.Backoff{Steps: 12, Duration: 20 * time.Millisecond, Factor: 1.5}

// change writes the VMI; a conflict means that the cache is behind, so it looks there again a little later.
func (f *Fleet) change(w http.ResponseWriter, r *http.Request, vmi *v1.VirtualMachineInstance, edit func(*v1.VirtualMachineInstance)) {
	err := retry.OnError(untilFresh, apierrors.IsConflict, func() error {
		current := f.vmi(vmi.Namespace + "/" + vmi.Name)
		if current == nil || current.UID != vmi.UID {
			return fmt.Errorf("VMI %s is gone", vmi.Name)
		}
		current = current.DeepCopy()
		edit(current)
		return f.writeVMI(r.Context(), current)
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// serveReboot hands the command to the guest; a paused one follows it when it goes on.
func (f *Fleet) serveReboot(command string) vmiHandler {
	return func(w http.ResponseWriter, _ *http.Request, vmi *v1.VirtualMachineInstance) {
		f.memory.asked(vmi.UID, command)
		f.vmiLoop.Add(vmi)
		w.WriteHeader(http.StatusAccepted)
	}
}

func serveGuestInfo(w http.ResponseWriter, _ *http.Request, vmi *v1.VirtualMachineInstance) {
	writeJSON(w, v1.VirtualMachineInstanceGuestAgentInfo{GAVersion: "9.0", Hostname: vmi.Name, Timezone: "UTC, 0", OS: vmi.Status.GuestOSInfo})
}

func serveEmpty[T any](w http.ResponseWriter, _ *http.Request, _ *v1.VirtualMachineInstance) {
	var empty T
	writeJSON(w, empty)
}

func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		slog.Warn("virt-handler answer", "err", err)
	}
}
