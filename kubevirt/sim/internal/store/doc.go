// Package store keeps the simulator's objects as a Kubernetes API server does: encoded, with one global
// revision, optimistic concurrency, finalizers, owner references and a watch history per kind.
//
// Stored objects never change; a write replaces them. Its errors are those of the real API server.
// It may import Kubernetes API types and the resource table.
//
// Read first: Store, Object, Draft.
package store
