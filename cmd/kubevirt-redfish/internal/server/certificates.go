package server

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt"
)

// pairSecret is the Secret of our namespace that holds the generated key pair.
const pairSecret = "kubevirt-redfish-tls" //nolint:gosec // a name, not a secret

// certificates are the configured ones, else a generated pair that all replicas share.
func (s *serving) certificates(ctx context.Context, t *target) (*auth.Certificates, error) {
	reloads := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kubevirt_redfish_certificate_reloads_total", Help: "Changes of the TLS certificate, by whether the new one could be used.",
	}, []string{"result"})
	s.registry.MustRegister(reloads)
	options := auth.CertificateOptions{OnReload: func(err error) {
		if err != nil {
			reloads.WithLabelValues("refused").Inc()
			s.logger.Error("the TLS certificate stays as it was: the new one is not usable", "err", err)
			return
		}
		reloads.WithLabelValues("used").Inc()
		s.logger.Info("TLS certificate reloaded")
	}}
	if files := s.config.Server.TLS; files.CertFile != "" {
		certificates, err := auth.FileCertificates(ctx, files.CertFile, files.KeyFile, options)
		if err != nil {
			return nil, fmt.Errorf("server.tls: %w", err)
		}
		return certificates, nil
	}
	store, err := s.pairStore(t)
	if err != nil {
		return nil, err
	}
	certificates, err := auth.GeneratedCertificates(ctx, store, names(t), options)
	if err != nil {
		return nil, fmt.Errorf("server.tls: %w", err)
	}
	return certificates, nil
}

// pairStore is a Secret of our namespace in a cluster, and a file of the user's elsewhere.
func (s *serving) pairStore(t *target) (auth.PairStore, error) {
	if t.namespace != "" {
		client, err := kubernetes.NewForConfig(t.config)
		if err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		return kubevirt.NewPairSecret(client.CoreV1().Secrets(t.namespace), pairSecret, s.logger), nil
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("no place to keep the generated TLS key pair; set server.tls.cert_file and key_file: %w", err)
	}
	return auth.NewFilePairStore(filepath.Join(folder, "kubevirt-redfish", "tls.pem")), nil
}

// names are those under which the service can be reached.
func names(t *target) auth.Names {
	n := auth.Names{DNS: []string{"localhost"}, IPs: append(addresses(), netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback())}
	if host, err := os.Hostname(); err == nil && t.namespace == "" {
		n.DNS = append(n.DNS, host) // in a cluster it is that of one replica, soon replaced
	}
	if t.namespace != "" {
		service := "kubevirt-redfish." + t.namespace
		n.DNS = append(n.DNS, service, service+".svc", service+".svc.cluster.local")
	}
	return n
}

// addresses are those of this host but the loopback ones.
func addresses() []netip.Addr {
	var list []netip.Addr
	all, _ := net.InterfaceAddrs() // none is an answer, too
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Addr().IsGlobalUnicast() {
			list = append(list, prefix.Addr())
		}
	}
	return list
}

func addressTexts() []string {
	var texts []string
	for _, a := range addresses() {
		texts = append(texts, a.String())
	}
	return texts
}
