// Package sim is an in-memory cluster with KubeVirt: a Kubernetes API over HTTPS on loopback, in process,
// that behaves like the real thing as far as a client of virtual machines can tell. It is what the server
// runs on without a cluster, what `kubevirt-redfish simulate` serves to kubectl, and what fast tests use.
//
// It imitates KubeVirt and knows nothing of this project: it may import API types, client-go, the guest
// model and its own internal packages, never redfish, auth or kubevirt.
//
// The layers: internal/resource is the table of kinds, internal/store keeps objects like etcd and the API
// server do, internal/virt acts like KubeVirt, and this package speaks HTTP. Faults can be injected while
// it runs. There is no scheduler worth the name, no disruption budget, no eviction.
//
// Read first: Options and Start, Faults, Fleet.
package sim
