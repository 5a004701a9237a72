package kubevirt

// hardware is what the guest of a VM or VMI sees, from its spec. Zero values are unknown or unset.
type hardware struct {
	uuid, serial string
	asset        string
	sku          string
	architecture string
	cpuModel     string
	topology     topology
	memory       int64 // bytes
	efi          bool
	secureBoot   bool
	grace        int64 // terminationGracePeriodSeconds, -1 when unset
	disks        []disk
	nics         []nic
}

// topology is sockets, cores per socket and threads per core.
type topology struct{ sockets, cores, threads int32 }

// known reports whether the topology has been set or worked out.
func (t topology) known() bool { return t.sockets > 0 }

// disk is a disk, LUN or CD-ROM with its volume.
type disk struct {
	name, bus, serial string
	cdrom             bool
	bootOrder         int32
	volume            string // what the volume is, as "persistentVolumeClaim"
	claim             string // name of the PersistentVolumeClaim that holds it, if one does
	bytes             int64  // size when the spec says it
}

// nic is a network interface.
type nic struct {
	name, mac string
	bootOrder int32
}
