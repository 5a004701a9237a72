package redfish

// BootSource is ComputerSystem.BootSource.
type BootSource string

// The boot sources that a machine can have.
const (
	BootNone BootSource = "None"
	BootPxe  BootSource = "Pxe"
	BootCd   BootSource = "Cd"
	BootHdd  BootSource = "Hdd"
)

// BootOverrideEnabled is Boot.BootSourceOverrideEnabled.
type BootOverrideEnabled string

// The values of Boot.BootSourceOverrideEnabled.
const (
	BootDisabled   BootOverrideEnabled = "Disabled"
	BootOnce       BootOverrideEnabled = "Once"
	BootContinuous BootOverrideEnabled = "Continuous"
)

// Boot is the boot configuration of a machine. Its override mode follows from [Firmware].
type Boot struct {
	Enabled BootOverrideEnabled
	Target  BootSource
	Targets []BootSource // allowable
	Devices []BootDevice // boot candidates in the order that firmware tries them
}

// BootDevice is a boot candidate; it becomes a BootOption.
type BootDevice struct {
	ID     string // name of the disk or interface
	Source BootSource
}
