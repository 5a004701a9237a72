package sim

import "github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/virt"

// Annotations that describe a guest, on a VirtualMachineInstance or in a VirtualMachine's template. Durations
// are Go's.
const (
	BootDelay     = virt.BootDelay
	AgentDelay    = virt.AgentDelay
	ShutdownDelay = virt.ShutdownDelay
	NoAgent       = virt.NoAgent    // "true"
	IgnoreACPI    = virt.IgnoreACPI // "true"
	StartFail     = virt.StartFail  // "true": the hypervisor never comes up
	Crash         = virt.Crash      // a duration after each boot, or "true" for at once
)

// What firmware finds on a medium: empty, blank, labelled, data, os or live.
const (
	// Content is an annotation of a PersistentVolumeClaim, or of the DataVolume that makes it.
	Content = virt.Content
	// ContentOf, with a disk's or interface's name appended, is one of the instance and wins.
	ContentOf = virt.ContentOf
)

// Do on a running instance makes its guest act once: shutdown, reboot or crash.
const Do = virt.Do

// NodeDown on a Node, "true", is a node that is lost.
const NodeDown = virt.Down

// Results on the instance.
const (
	BootedFrom = virt.BootedFrom // the device that booted
	Boots      = virt.Boots      // power on plus resets
)
