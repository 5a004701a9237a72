// Package resource holds the one table of what the simulated API serves. Discovery, routing, storage,
// table output and validation are all driven by it: a new kind is a new row.
//
// It may import Kubernetes and KubeVirt API types only.
//
// Read first: Type, All, Lookup.
package resource
