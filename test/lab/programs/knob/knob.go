// Package knob names the annotations that steer the lab's stand-ins and those in which they tell what happened. All begin
// with lab.kubevirt-redfish.io/, so a test needs nothing but the Kubernetes API. Guest annotations are usually set through
// a VM's spec.template.metadata.annotations; those of a live VMI may be edited too.
package knob

// Prefix begins every annotation of the lab. Nothing outside the lab may use it.
const Prefix = "lab.kubevirt-redfish.io/"

// On a Node.
const (
	// NodeDown "true" kills the node: no heartbeat, its pods and VMIs freeze, its virt-handler drops connections.
	NodeDown = Prefix + "down"
)

// On a VMI: how its guest behaves.
const (
	// Agent "false": no guest agent at all. "always": an agent also in a system booted from CD or network. Otherwise one
	// appears some time after a boot from disk (fakenode -agent).
	Agent = Prefix + "agent"
	// IgnoreACPI "true": the guest ignores a shutdown request and, without agent, softreboot. It is killed when the grace
	// period is over, and its VMI is Failed.
	IgnoreACPI = Prefix + "ignore-acpi"
	// ShutdownTime is how long the guest takes to shut down, instead of fakenode -shutdown.
	ShutdownTime = Prefix + "shutdown"
	// BootTime is the time from Scheduled to Running, instead of fakenode -boot.
	BootTime = Prefix + "boot"
	// StartFail "true": the VMI goes from Scheduled to Failed, so its VM ends in CrashLoopBackOff.
	StartFail = Prefix + "start-fail"
	// Ready "false": a readiness probe of the guest never succeeds.
	Ready = Prefix + "ready"
	// TrayLocked "true": the guest holds its CD; an eject stays pending until the annotation or the VMI is gone.
	TrayLocked = Prefix + "tray-locked"
	// Guest is a command that the guest carries out at once: reboot (the annotation is then removed), shutdown, crash (the
	// VMI is Failed) or hang (no agent, not ready, ignores ACPI).
	Guest = Prefix + "guest"
	// PXE is the program that a network boot finds; without it network boot fails and the firmware goes on.
	PXE = Prefix + "pxe"
	// ISO followed by a volume's name is the program on that medium, instead of what its claim says. On a claim ISO without
	// the dot is what a CD made from it is; the stand-in for CDI sets it from a line "LAB-ISO PROGRAM" within the first KiB
	// of a download. Default: live.
	ISO = Prefix + "iso"
	// DiskState is "blank" or "installed"; only an installed disk is bootable. On a claim, or followed by a dot and a
	// volume's name on a VMI for volumes that are no claim. Default: blank, but installed for a container disk and for a
	// claim that was imported over HTTP.
	DiskState = Prefix + "disk-state"
)

// On a VMI: what happened, written by the lab.
const (
	// BootedFrom is cdrom0, rootdisk, disk1, net0 … by position in the spec, or none: the firmware found nothing, so nobody
	// listens to ACPI either.
	BootedFrom = Prefix + "booted-from"
	// BootedDevice is the name of that disk or interface.
	BootedDevice = Prefix + "booted-device"
	// Program is what runs.
	Program = Prefix + "program"
	// BootCount counts the boots of this VMI.
	BootCount = Prefix + "boot-count"
	// BootedAt is the time of the last one, RFC 3339.
	BootedAt = Prefix + "boot-time"
	// Installed is the disk that an installer which stays has written.
	Installed = Prefix + "installed"
)

// On a PersistentVolumeClaim.
const (
	// NoProvision "true" keeps the claim Pending.
	NoProvision = Prefix + "no-provision"
	// InstalledFrom is the device that the installer was booted from; written by the lab.
	InstalledFrom = Prefix + "installed-from"
	// ContentSHA256 and ContentSize tell what was imported; written by the lab.
	ContentSHA256 = Prefix + "content-sha256"
	ContentSize   = Prefix + "content-size"
)

// On a DataVolume.
const (
	// ImportRate throttles an import to that many bytes per second.
	ImportRate = Prefix + "import-rate"
	// ImportHold "true" keeps the DataVolume in ImportScheduled.
	ImportHold = Prefix + "import-hold"
)

// GuestLog begins the names of the ConfigMaps, one per VMI name, with a line for each boot, installation and end of a VMI.
const GuestLog = "lab-guest-"

// Provisioner is the provisioner of the lab's storage classes.
const Provisioner = Prefix + "storage"
