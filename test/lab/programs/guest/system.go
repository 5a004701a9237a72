package guest

import (
	"strings"
	"time"

	v1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/knob"
)

// Uptime is the time since the last boot of a VMI, 0 before the first one.
func Uptime(vmi *v1.VirtualMachineInstance, now time.Time) time.Duration {
	booted, err := time.Parse(time.RFC3339Nano, vmi.Annotations[knob.BootedAt])
	if err != nil {
		return 0
	}
	return now.Sub(booted)
}

// OnDisk tells whether the guest was booted from a disk.
func OnDisk(vmi *v1.VirtualMachineInstance) bool {
	from := vmi.Annotations[knob.BootedFrom]
	return from == "rootdisk" || strings.HasPrefix(from, "disk")
}

// HearsACPI tells whether a shutdown request reaches somebody. A VMI that does not run yet has no guest that could refuse.
func HearsACPI(vmi *v1.VirtualMachineInstance) bool {
	if vmi.Status.Phase != v1.Running {
		return true
	}
	a := vmi.Annotations
	return !HasCondition(vmi, v1.VirtualMachineInstancePaused) && a[knob.IgnoreACPI] != "true" && !hangs(vmi) && a[knob.BootedFrom] != "none"
}

// HasAgent tells whether the guest agent answers, delay after a boot.
func HasAgent(vmi *v1.VirtualMachineInstance, uptime, delay time.Duration) bool {
	agent := vmi.Annotations[knob.Agent]
	if agent == "false" || hangs(vmi) || vmi.Annotations[knob.BootedFrom] == "none" || uptime < delay {
		return false
	}
	return OnDisk(vmi) || agent == "always"
}

// IsReady answers a readiness probe, through the agent or through the network.
func IsReady(vmi *v1.VirtualMachineInstance, throughAgent bool, uptime, delay time.Duration) bool {
	if vmi == nil || vmi.Status.Phase != v1.Running || vmi.Annotations[knob.Ready] == "false" || hangs(vmi) {
		return false
	}
	if throughAgent {
		return HasCondition(vmi, v1.VirtualMachineInstanceAgentConnected)
	}
	return OnDisk(vmi) && uptime >= delay
}

// Installing returns the installer that runs, and false when there is none or it has nothing left to do.
func Installing(vmi *v1.VirtualMachineInstance) (Program, bool) {
	p := ParseProgram(vmi.Annotations[knob.Program])
	return p, p.Kind == "installer" && !hangs(vmi) && vmi.Annotations[knob.Installed] == ""
}

// Delay reads a duration from an annotation.
func Delay(vmi *v1.VirtualMachineInstance, annotation string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(vmi.Annotations[annotation]); err == nil {
		return d
	}
	return otherwise
}

func hangs(vmi *v1.VirtualMachineInstance) bool { return vmi.Annotations[knob.Guest] == "hang" }
