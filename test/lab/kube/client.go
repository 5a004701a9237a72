package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Client calls one API server as one user.
type Client struct {
	server string
	token  string
	http   *http.Client

	mu      sync.Mutex
	plurals map[string]resource // by apiVersion/kind
}

type resource struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

// Error is an answer other than 2xx.
type Error struct {
	Code    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// Code is the HTTP status of an answer: that of an *Error, 0 for any other error, and 200 without one.
func Code(err error) int {
	var e *Error
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &e):
		return e.Code
	}
	return 0
}

// New makes a client from a kubeconfig.
func New(c *Config) (*Client, error) {
	pair, err := tls.X509KeyPair(c.Users[0].User.Cert, c.Users[0].User.Key)
	if err != nil {
		return nil, err
	}
	k := anonymous(c)
	k.http.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{pair}
	return k, nil
}

// WithToken is the same server for the owner of a bearer token.
func WithToken(c *Config, token string) *Client {
	k := anonymous(c)
	k.token = token
	return k
}

func anonymous(c *Config) *Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.Clusters[0].Cluster.CA)
	return &Client{server: c.Clusters[0].Cluster.Server, plurals: map[string]resource{}, http: &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
	}}
}

// Do sends body as JSON, unless it is nil, and decodes the answer into out, unless that is nil. It returns the HTTP status.
func (k *Client) Do(ctx context.Context, method, path string, body, out any) (int, error) {
	return k.send(ctx, method, path, "application/json", body, out)
}

// Patch sends a merge patch.
func (k *Client) Patch(ctx context.Context, path string, patch, out any) error {
	_, err := k.send(ctx, http.MethodPatch, path, "application/merge-patch+json", patch, out)
	return err
}

func (k *Client) send(ctx context.Context, method, path, contentType string, body, out any) (int, error) {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		reader = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, k.server+path, reader)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "*/*") // JSON; virt-api refuses application/json for verbs that answer nothing
	if k.token != "" {
		request.Header.Set("Authorization", "Bearer "+k.token)
	}
	response, err := k.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return response.StatusCode, &Error{Code: response.StatusCode, Message: message(raw)}
	}
	if out != nil {
		err = json.Unmarshal(raw, out)
	}
	return response.StatusCode, err
}

func message(raw []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(raw, &status) == nil && status.Message != "" {
		return status.Message
	}
	return strings.TrimSpace(string(raw))
}

// Object is any Kubernetes object.
type Object map[string]any

// Text returns the string at a path, empty when there is none.
func (o Object) Text(path ...string) string {
	var v any = map[string]any(o)
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	text, _ := v.(string)
	return text
}

// Apply creates or updates an object by server-side apply, with force.
func (k *Client) Apply(ctx context.Context, o Object) error {
	path, err := k.Path(ctx, o)
	if err == nil {
		_, err = k.send(ctx, http.MethodPatch, path+"?fieldManager=lab&force=true", "application/apply-patch+yaml", o, nil)
	}
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", o.Text("kind"), o.Text("metadata", "name"), err)
	}
	return nil
}

// ApplyStatus is Apply for the status subresource.
func (k *Client) ApplyStatus(ctx context.Context, o Object) error {
	path, err := k.Path(ctx, o)
	if err == nil {
		_, err = k.send(ctx, http.MethodPatch, path+"/status?fieldManager=lab&force=true", "application/apply-patch+yaml", o, nil)
	}
	if err != nil {
		return fmt.Errorf("apply status of %s %s: %w", o.Text("kind"), o.Text("metadata", "name"), err)
	}
	return nil
}

// Path is where an object lives, from its apiVersion, kind, name and namespace.
func (k *Client) Path(ctx context.Context, o Object) (string, error) {
	r, err := k.resource(ctx, o.Text("apiVersion"), o.Text("kind"))
	if err != nil {
		return "", err
	}
	path := root(o.Text("apiVersion"))
	if r.Namespaced {
		path += "/namespaces/" + o.Text("metadata", "namespace")
	}
	return path + "/" + r.Name + "/" + o.Text("metadata", "name"), nil
}

func root(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "/apis/" + apiVersion
	}
	return "/api/" + apiVersion
}

// resource asks the server's discovery, once per group and version.
func (k *Client) resource(ctx context.Context, apiVersion, kind string) (resource, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.plurals[apiVersion+"/"+kind]; ok {
		return r, nil
	}
	var list struct{ Resources []resource }
	if _, err := k.Do(ctx, http.MethodGet, root(apiVersion), nil, &list); err != nil {
		return resource{}, err
	}
	for _, r := range list.Resources {
		if !strings.Contains(r.Name, "/") {
			k.plurals[apiVersion+"/"+r.Kind] = r
		}
	}
	r, ok := k.plurals[apiVersion+"/"+kind]
	if !ok {
		return r, &Error{Code: http.StatusNotFound, Message: "no kind " + kind + " in " + apiVersion}
	}
	return r, nil
}
