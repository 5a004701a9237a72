// Package manifests holds the objects that install the service on a cluster.
//
// Folder rbac is its service account and rights: machines.yaml is what it does with machines and needs a binding
// of bind-*.yaml; own.yaml is what it does in its own namespace; identity.yaml may be left out, then the UUID of
// the service comes from the address of the cluster. The package imports the standard library alone.
package manifests

import "embed"

// Files are the manifests, as rbac/machines.yaml.
//
//go:embed rbac
var Files embed.FS
