// Package kube is a small client for the Kubernetes API on the standard library: just what starting and testing the lab needs.
package kube

import (
	"encoding/json"
	"fmt"
	"os"
)

// Config is a kubeconfig. The lab writes it as JSON, which is YAML too, so that every client reads it.
type Config struct {
	APIVersion     string    `json:"apiVersion"`
	Kind           string    `json:"kind"`
	Clusters       []cluster `json:"clusters"`
	Users          []user    `json:"users"`
	Contexts       []login   `json:"contexts"`
	CurrentContext string    `json:"current-context"`
}

type cluster struct {
	Name    string `json:"name"`
	Cluster struct {
		Server string `json:"server"`
		CA     []byte `json:"certificate-authority-data"`
	} `json:"cluster"`
}

type user struct {
	Name string `json:"name"`
	User struct {
		Cert []byte `json:"client-certificate-data"`
		Key  []byte `json:"client-key-data"`
	} `json:"user"`
}

type login struct {
	Name    string `json:"name"`
	Context struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	} `json:"context"`
}

// NewConfig describes one cluster and one user by PEM texts.
func NewConfig(server string, ca, cert, key []byte) *Config {
	c := &Config{APIVersion: "v1", Kind: "Config", Clusters: make([]cluster, 1), Users: make([]user, 1), Contexts: make([]login, 1)}
	const name = "lab"
	c.Clusters[0].Name, c.Users[0].Name, c.Contexts[0].Name, c.CurrentContext = name, name, name, name
	c.Clusters[0].Cluster.Server, c.Clusters[0].Cluster.CA = server, ca
	c.Users[0].User.Cert, c.Users[0].User.Key = cert, key
	c.Contexts[0].Context.Cluster, c.Contexts[0].Context.User = name, name
	return c
}

// ReadConfig reads a kubeconfig of the lab; others, in YAML, are not understood.
func ReadConfig(file string) (*Config, error) {
	raw, err := os.ReadFile(file) //nolint:gosec // the caller's file
	if err != nil {
		return nil, err
	}
	var c Config
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("%s is no kubeconfig of the lab: %w", file, err)
	}
	if len(c.Clusters) != 1 || len(c.Users) != 1 {
		return nil, fmt.Errorf("%s is no kubeconfig of the lab: %d clusters, %d users", file, len(c.Clusters), len(c.Users))
	}
	return &c, nil
}
