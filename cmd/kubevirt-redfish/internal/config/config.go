package config

import (
	"crypto/sha256"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// Config is the configuration file. Start from [Default]: the zero value is not valid.
type Config struct {
	Server             Server             `yaml:"server"`
	SystemIDConvention SystemIDConvention `yaml:"system_id_convention"`
	Chassis            []Chassis          `yaml:"chassis"`
	Authentication     Authentication     `yaml:"authentication"`
	KubeVirt           KubeVirt           `yaml:"kubevirt"`
	CDI                CDI                `yaml:"cdi"`
	DataVolume         DataVolume         `yaml:"datavolume"`
	Metrics            Metrics            `yaml:"metrics"`

	// content is the hash of the file that this was read from, for [Watch].
	content [sha256.Size]byte
}

// Server is the Redfish endpoint.
type Server struct {
	// Host is the address to listen on. The wildcard address of either family means both families.
	Host string `yaml:"host"`
	Port int    `yaml:"port"`
	TLS  TLS    `yaml:"tls"`
	// TestMode is accepted and has no effect.
	TestMode bool `yaml:"test_mode"`
}

// TLS of the Redfish endpoint. Enabled without files means a generated key pair.
type TLS struct {
	Enabled  bool   `yaml:"enabled"`
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
}

// SystemIDConvention is how the canonical ids of systems are formed.
type SystemIDConvention string

// Legacy ids are "<vm>", enhanced ones "<namespace>.<vm>".
const (
	Legacy   SystemIDConvention = "legacy"
	Enhanced SystemIDConvention = "enhanced"
)

// Chassis exposes machines of one namespace.
type Chassis struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
	// ServiceAccount is accepted and has no effect.
	ServiceAccount string     `yaml:"service_account"`
	Description    string     `yaml:"description"`
	VMSelector     VMSelector `yaml:"vm_selector"`
}

// VMSelector narrows a chassis to the machines that have all labels and, if there are names, one of them.
type VMSelector struct {
	Labels map[string]string `yaml:"labels"`
	Names  []string          `yaml:"names"`
}

// Authentication is who may log in.
type Authentication struct {
	Users []User `yaml:"users"`
}

// User is an account and the chassis granted to it; "*" grants all of them and the service itself.
type User struct {
	Username string   `yaml:"username"`
	Password Password `yaml:"password"`
	Chassis  []string `yaml:"chassis"`
	// Role is a standard role; empty means Administrator, of the granted chassis.
	Role auth.Role `yaml:"role"`
}

// KubeVirt is how the API server is used.
type KubeVirt struct {
	APIVersion string `yaml:"api_version"`
	// Timeout of one request to the API server, in seconds.
	Timeout int `yaml:"timeout"`
	// AllowInsecureTLS leaves the API server's certificate unverified.
	AllowInsecureTLS bool `yaml:"allow_insecure_tls"`
}

// CDI is accepted and has no effect: images are imported, never uploaded.
type CDI struct {
	UploadProxy UploadProxy `yaml:"upload_proxy"`
}

// UploadProxy is accepted and has no effect.
type UploadProxy struct {
	ServiceName string   `yaml:"service_name"`
	Namespaces  []string `yaml:"namespaces"`
	Port        int      `yaml:"port"`
	Timeout     int      `yaml:"timeout"`
}

// DataVolume is how images for virtual media are imported.
type DataVolume struct {
	// StorageClass of the volume; empty means the cluster's default.
	StorageClass string `yaml:"storage_class"`
	// StorageSize is a Kubernetes quantity, used when an image does not tell its size.
	StorageSize string `yaml:"storage_size"`
	// AllowInsecureTLS leaves the certificate of the image's server unverified.
	AllowInsecureTLS bool `yaml:"allow_insecure_tls"`
	// CertConfigMap is a ConfigMap in the machine's namespace with the CA bundle for the image's server.
	CertConfigMap      string   `yaml:"cert_config_map"`
	VMUpdateTimeout    Duration `yaml:"vm_update_timeout"`
	ISODownloadTimeout Duration `yaml:"iso_download_timeout"`
	// HelperImage is accepted; it names the image of helper pods.
	HelperImage string `yaml:"helper_image"`
}

// Metrics is the endpoint for metrics and health. It is our own addition.
type Metrics struct {
	// Listen is host:port.
	Listen string `yaml:"listen"`
}

// Default is the configuration before the file is read.
func Default() *Config {
	return &Config{
		Server:             Server{Host: "0.0.0.0", Port: 8443, TLS: TLS{Enabled: true}},
		SystemIDConvention: Legacy,
		KubeVirt:           KubeVirt{APIVersion: "v1", Timeout: 30},
		DataVolume: DataVolume{
			StorageSize:        "10Gi",
			VMUpdateTimeout:    Duration(30 * time.Second),
			ISODownloadTimeout: Duration(30 * time.Minute),
		},
		Metrics: Metrics{Listen: ":8080"},
	}
}

// Listen is the address for net.Listen. For a wildcard address its host is empty, which is both families: the
// documented "0.0.0.0" must also work where the cluster speaks IPv6.
func (s *Server) Listen() string {
	host := strings.Trim(s.Host, "[]")
	if address, err := netip.ParseAddr(host); err == nil && address.IsUnspecified() {
		host = ""
	}
	return net.JoinHostPort(host, strconv.Itoa(s.Port))
}

// RequestTimeout bounds one request to the API server.
func (k *KubeVirt) RequestTimeout() time.Duration { return time.Duration(k.Timeout) * time.Second }

// Duration is written as in Go: 30s, 2m, 1h30m.
type Duration time.Duration

// UnmarshalText refuses a number without a unit.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return errors.New(`must be a duration like "30s" or "2m"`)
	}
	*d = Duration(parsed)
	return nil
}

// Password is written as text, or as a mapping with the key hash. It never prints what it holds.
type Password struct {
	Hash  string `yaml:"hash"`
	Plain string
}

// UnmarshalText takes the password written as text.
func (p *Password) UnmarshalText(text []byte) error {
	p.Plain = string(text)
	return nil
}

// String hides the password from %s and %v.
func (Password) String() string { return "[hidden]" }

// GoString hides the password from %#v.
func (Password) GoString() string { return "config.Password{[hidden]}" }
