package lab

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// startKubernetes starts etcd and Kubernetes' own programs, and ends when a pod could be made.
func (l *lab) startKubernetes(ctx context.Context) error {
	if err := l.start("etcd", append([]string{l.bin.program("controlplane"), "etcd"}, l.etcdFlags()...)...); err != nil {
		return err
	}
	// kube-apiserver waits for etcd by itself
	if err := l.start("kube-apiserver", append([]string{l.bin.program("controlplane"), "kube-apiserver"}, l.apiserverFlags()...)...); err != nil {
		return err
	}
	if err := l.await(ctx, "kube-apiserver", func(ctx context.Context) error { return l.get(ctx, "/readyz") }); err != nil {
		return err
	}
	if err := l.start("kube-controller-manager", append([]string{l.bin.program("controlplane"), "kube-controller-manager"}, l.controllerManagerFlags()...)...); err != nil {
		return err
	}
	return l.start("kube-scheduler", append([]string{l.bin.program("controlplane"), "kube-scheduler"}, l.schedulerFlags()...)...)
}

// get asks for a path of the API server whose answer is no JSON or does not matter.
func (l *lab) get(ctx context.Context, path string) error {
	_, err := l.api.Do(ctx, http.MethodGet, path, nil, nil)
	return err
}

func (l *lab) etcdFlags() []string {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", l.ports.etcd), fmt.Sprintf("http://127.0.0.1:%d", l.etcdPeer)
	return []string{
		"--name=lab", "--data-dir=" + l.state.etcd(), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=lab=" + peer,
	}
}

func (l *lab) apiserverFlags() []string {
	seconds := int(l.Toleration.Seconds())
	return []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", l.ports.etcd),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", l.ports.api),
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC", "--allow-privileged=true", "--profiling=false",
		fmt.Sprintf("--default-not-ready-toleration-seconds=%d", seconds), fmt.Sprintf("--default-unreachable-toleration-seconds=%d", seconds),
		"--client-ca-file=" + l.pki("ca.crt"), "--tls-cert-file=" + l.pki("apiserver.crt"), "--tls-private-key-file=" + l.pki("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + l.pki("sa.pub"), "--service-account-signing-key-file=" + l.pki("sa.key"),
		"--requestheader-client-ca-file=" + l.pki("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + l.pki("front-proxy-client.crt"), "--proxy-client-key-file=" + l.pki("front-proxy-client.key"),
	}
}

func (l *lab) controllerManagerFlags() []string {
	return append(kubeconfigFlags(l.pki("controller-manager.kubeconfig")),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", l.controllerManager), "--leader-elect=false", "--profiling=false",
		"--use-service-account-credentials=true", "--service-account-private-key-file="+l.pki("sa.key"), "--root-ca-file="+l.pki("ca.crt"),
		"--controllers="+strings.Join([]string{"*", "-nodeipam", "-route", "-cloud-node-lifecycle"}, ","),
		"--node-monitor-grace-period="+l.NodeGrace.String(), "--node-monitor-period=2s")
}

func (l *lab) schedulerFlags() []string {
	return append(kubeconfigFlags(l.pki("scheduler.kubeconfig")),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", l.scheduler), "--leader-elect=false", "--profiling=false")
}

func kubeconfigFlags(file string) []string {
	return []string{"--kubeconfig=" + file, "--authentication-kubeconfig=" + file, "--authorization-kubeconfig=" + file}
}
