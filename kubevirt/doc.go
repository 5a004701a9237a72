// Package kubevirt implements the Redfish service's view of the world on a cluster with KubeVirt.
//
// Watches keep one small record per VirtualMachine and VirtualMachineInstance; a machine is the immutable
// pair of both with what was derived from them, replaced on each change. Reads answer from these records.
// A power action is decided by a pure function of the machine (power.go, decide.go) and carried out by as few
// calls as possible, each with a precondition, so that replicas may do the same step twice without harm.
//
// It may import redfish, auth, kubevirt/markers, client-go and KubeVirt's API and clients. Redfish's words
// end here and KubeVirt's begin.
//
// Read first: [Backend] (the entry), machine (one machine in one state), decide (what a reset does).
package kubevirt
