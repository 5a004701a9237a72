package storage

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// request makes the request that source.http describes, and the client for it.
func (c *CDI) request(ctx context.Context, namespace string, from map[string]any) (*http.Client, *http.Request, error) {
	tlsConfig, err := c.tlsConfig(ctx, namespace, from)
	if err != nil {
		return nil, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint(from["url"]), nil)
	if err != nil {
		return nil, nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: loopbackOnly}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: tlsConfig}}
	return client, request, c.authorize(ctx, namespace, from, request)
}

func loopbackOnly(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return fmt.Errorf("lab: %s is not a loopback address", address)
	}
	return nil
}

func (c *CDI) tlsConfig(ctx context.Context, namespace string, from map[string]any) (*tls.Config, error) {
	insecure, _ := from["insecureSkipVerify"].(bool)
	config := &tls.Config{InsecureSkipVerify: insecure} //nolint:gosec // what the DataVolume asks for
	name, _ := from["certConfigMap"].(string)
	if name == "" {
		return config, nil
	}
	cm, err := c.kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	config.RootCAs = x509.NewCertPool()
	for _, pem := range cm.Data {
		config.RootCAs.AppendCertsFromPEM([]byte(pem))
	}
	return config, nil
}

// authorize adds the extra headers and the basic authentication.
func (c *CDI) authorize(ctx context.Context, namespace string, from map[string]any, request *http.Request) error {
	headers := stringsOf(from["extraHeaders"])
	for _, name := range stringsOf(from["secretExtraHeaders"]) {
		secret, err := c.secret(ctx, namespace, name)
		if err != nil {
			return err
		}
		for _, header := range secret.Data {
			headers = append(headers, string(header))
		}
	}
	for _, header := range headers {
		if key, value, ok := strings.Cut(header, ":"); ok {
			request.Header.Add(strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
	name, _ := from["secretRef"].(string)
	if name == "" {
		return nil
	}
	secret, err := c.secret(ctx, namespace, name)
	if err != nil {
		return err
	}
	request.SetBasicAuth(string(secret.Data["accessKeyId"]), string(secret.Data["secretKey"]))
	return nil
}

func (c *CDI) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return c.kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func stringsOf(list any) []string {
	var out []string
	items, _ := list.([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}
