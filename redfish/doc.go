// Package redfish is the Redfish service: routes, resources, protocol rules, messages and tasks.
//
// It knows machines only through [Backend] and never imports a Kubernetes or KubeVirt package; the words
// here are Redfish's. One file holds one resource or one protocol concern, and routes.go holds every URI
// with its methods, privileges and handlers.
//
// It may import the standard library, package auth, the router and metrics libraries.
//
// Read first: [Backend] (what a platform provides), [System] (the description of a machine),
// [Service] (the HTTP handler).
package redfish
