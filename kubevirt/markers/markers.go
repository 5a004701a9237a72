// Package markers names the labels and annotations that the product puts on objects of the cluster, and those
// of the earlier product that it takes over.
//
// Values that carry state are JSON objects with a member "v", the version of their format: a replica leaves
// alone what a newer one has written. The package imports nothing of Kubernetes and nothing of this project.
package markers

// Prefix is the domain of all our labels and annotations.
const Prefix = "kubevirt-redfish.io/"

// Objects that the product makes carry the label ManagedBy with the value Product.
const (
	ManagedBy = "app.kubernetes.io/managed-by"
	Product   = "kubevirt-redfish"
)

const (
	// RunStrategy, on a VirtualMachine, is set by users: the run strategy that a start gives to a Halted
	// machine: Always (the default), RerunOnFailure, Manual or Once.
	RunStrategy = Prefix + "run-strategy"
	// StoppedRunStrategy, on a VirtualMachine that we had to make Halted, is the strategy that it had. The
	// next start gives it back and removes the annotation.
	StoppedRunStrategy = Prefix + "stopped-run-strategy"
	// PowerOn, on a VirtualMachine, holds a power-on that could not be done at once, and then its outcome.
	PowerOn = Prefix + "power-on"
)
