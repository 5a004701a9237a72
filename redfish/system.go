package redfish

import "time"

// System describes one machine completely, as its guest would see it. Pointers are nil, and strings empty,
// where the value is not known (yet); a resource then shows null or leaves the property out.
type System struct {
	ID           SystemID
	UUID         string // SMBIOS system UUID, lower case
	SerialNumber string
	AssetTag     string
	Manufacturer string
	Model        string
	SKU          string
	HostName     string // as the guest agent reports it
	Power        PowerState
	Status       Status
	Resets       []ResetType // what ComputerSystem.Reset accepts
	Boot         Boot
	Firmware     Firmware
	Processors   Processors
	MemoryMiB    int64              // 0 when unknown
	Interfaces   []NetworkInterface // in the order of the machine's definition
	Disks        []Disk             // likewise, without CD-ROMs
	LastReset    time.Time          // when the running instance started; zero when off
	Tasks        []Task
	KubeVirt     KubeVirt
}

// Firmware is the machine's firmware.
type Firmware struct {
	UEFI       bool
	SecureBoot bool   // enabled in the definition; needs UEFI
	SecureNow  bool   // the running instance was started with it
	Version    string // shown as BiosVersion
}

// Processors is the CPU topology. Counts are per machine; zero when unknown.
type Processors struct {
	Sockets, CoresPerSocket, ThreadsPerCore int
	// Architecture is the platform's name: amd64, arm64 or s390x.
	Architecture string
	Model        string
}

// NetworkInterface is a NIC.
type NetworkInterface struct {
	ID        string // the platform's name of the interface, safe in a URI
	MAC       string // upper-case, colons; empty until known
	Connected bool   // the link of a running machine is up
	Addresses []string
	BootOrder int // 0 when it is no boot candidate
}

// Disk is a drive that the guest sees.
type Disk struct {
	ID            string // the platform's name of the disk, safe in a URI
	Bus           Bus
	CapacityBytes int64 // 0 until known
	SerialNumber  string
	BootOrder     int // 0 when it is no boot candidate
	// Source says in a few words where the content comes from, as "persistentVolumeClaim root".
	Source string
}

// Bus is how a disk is attached.
type Bus string

// The buses of KubeVirt's disks.
const (
	BusVirtio Bus = "virtio"
	BusSATA   Bus = "sata"
	BusSCSI   Bus = "scsi"
	BusUSB    Bus = "usb"
)

// KubeVirt is what has no Redfish property; it is shown as Oem.KubeVirt.
type KubeVirt struct {
	Namespace       string
	Name            string
	RunStrategy     string
	PrintableStatus string
	Node            string // the host of the running instance
	InstanceUID     string // UID of the VirtualMachineInstance
	Phase           string // of the VirtualMachineInstance
	GuestAgent      bool   // connected
	GuestOS         string
	RestartRequired bool
	Instancetype    string
	Preference      string
	Conditions      []PlatformCondition
}

// PlatformCondition is a condition as the platform's objects carry it.
type PlatformCondition struct {
	Type, Status, Reason, Message string
}
