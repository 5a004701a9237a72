package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/kube"
)

// pair is a certificate and its key.
type pair struct {
	cert            *x509.Certificate
	key             *ecdsa.PrivateKey
	certPEM, keyPEM []byte
}

// subject of a certificate to issue.
type subject struct {
	file, commonName string
	groups           []string
	hosts            []string // DNS names and addresses
}

// writePKI makes every authority, certificate and kubeconfig of the lab.
func (s state) writePKI(server string) error {
	cluster, err := s.authority("ca", "lab-ca")
	if err != nil {
		return err
	}
	front, err := s.authority("front-proxy-ca", "lab-front-proxy-ca")
	if err != nil {
		return err
	}
	kubevirt, err := s.authority("kubevirt-ca", "kubevirt.io")
	if err != nil {
		return err
	}
	for _, c := range []struct {
		by *pair
		subject
	}{
		{cluster, subject{file: "apiserver", commonName: "kube-apiserver",
			hosts: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", "10.96.0.1"}}},
		{front, subject{file: "front-proxy-client", commonName: "front-proxy-client"}},
		{kubevirt, subject{file: "virt-api", commonName: "virt-api.kubevirt.pod.cluster.local", hosts: serviceNames("virt-api")}},
		{kubevirt, subject{file: "virt-controller", commonName: "virt-controller.kubevirt.pod.cluster.local", hosts: serviceNames("virt-controller")}},
		{kubevirt, subject{file: "virt-handler-client", commonName: "kubevirt.io:system:client:virt-handler"}},
		{kubevirt, subject{file: "virt-handler-server", commonName: "kubevirt.io:system:node:virt-handler", hosts: []string{"127.0.0.1"}}},
	} {
		if _, err := s.issue(c.by, c.subject); err != nil {
			return err
		}
	}
	if err := s.writeTokenKey(cluster); err != nil {
		return err
	}
	return s.writeKubeconfigs(cluster, server)
}

func serviceNames(name string) []string {
	return []string{name, name + ".kubevirt", name + ".kubevirt.svc", name + ".kubevirt.svc.cluster.local", "localhost", "127.0.0.1"}
}

// writeTokenKey makes the key that signs service account tokens, sa.key, and its public half, sa.pub.
func (s state) writeTokenKey(by *pair) error {
	p, err := s.issue(by, subject{file: "sa", commonName: "service-accounts"})
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&p.key.PublicKey)
	if err != nil {
		return err
	}
	return os.WriteFile(s.pki("sa.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600)
}

// writeKubeconfigs makes those of the administrator and of each program, as the user that it is in a cluster.
func (s state) writeKubeconfigs(ca *pair, server string) error {
	serviceAccounts := []string{"system:serviceaccounts", "system:serviceaccounts:kubevirt", "system:authenticated"}
	for path, user := range map[string]subject{
		s.kubeconfig():                             {file: "admin", commonName: "lab-admin", groups: []string{"system:masters"}},
		s.pki("controller-manager.kubeconfig"):     {file: "controller-manager", commonName: "system:kube-controller-manager"},
		s.pki("scheduler.kubeconfig"):              {file: "scheduler", commonName: "system:kube-scheduler"},
		s.pki("virt-api-client.kubeconfig"):        {file: "virt-api-client", commonName: "system:serviceaccount:kubevirt:kubevirt-apiserver", groups: serviceAccounts},
		s.pki("virt-controller-client.kubeconfig"): {file: "virt-controller-client", commonName: "system:serviceaccount:kubevirt:kubevirt-controller", groups: serviceAccounts},
	} {
		p, err := s.issue(ca, user)
		if err != nil {
			return err
		}
		raw, err := json.MarshalIndent(kube.NewConfig(server, ca.certPEM, p.certPEM, p.keyPEM), "", "  ") // JSON is YAML
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s state) authority(file, commonName string) (*pair, error) {
	return s.sign(nil, subject{file: file, commonName: commonName}, &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
	})
}

func (s state) issue(by *pair, who subject) (*pair, error) {
	return s.sign(by, who, &x509.Certificate{
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// sign completes the template and writes FILE.crt and FILE.key; by nil signs with the new key itself.
func (s state) sign(by *pair, who subject, template *x509.Certificate) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber, template.Subject = serial, pkix.Name{CommonName: who.commonName, Organization: who.groups}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(10, 0, 0)
	for _, host := range who.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	return s.store(who.file, der, key)
}

func (s state) store(file string, der []byte, key *ecdsa.PrivateKey) (*pair, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	p := &pair{cert: cert, key: key,
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})}
	if err := os.WriteFile(s.pki(file+".crt"), p.certPEM, 0o600); err != nil {
		return nil, err
	}
	return p, os.WriteFile(s.pki(file+".key"), p.keyPEM, 0o600)
}
