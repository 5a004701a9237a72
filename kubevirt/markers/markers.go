// Package markers names the labels and annotations that the product puts on objects of the cluster, and those
// of the earlier product that it takes over.
//
// Values that carry state are JSON objects with a member "v", the version of their format: a replica leaves
// alone what a newer one has written. The package imports nothing of Kubernetes and nothing of this project.
package markers

// Prefix is the domain of all our labels and annotations.
const Prefix = "kubevirt-redfish.io/"

const (
	// RunStrategy, on a VirtualMachine, is the run strategy that a start gives to a Halted machine: Always
	// (the default), RerunOnFailure, Manual or Once. Users set it; a forced stop of a machine with the
	// strategy Once, which KubeVirt turns into Halted, sets it to Once.
	RunStrategy = Prefix + "run-strategy"
	// PowerOn, on a VirtualMachine, holds a power-on that could not be done at once, and then its outcome.
	PowerOn = Prefix + "power-on"
)
