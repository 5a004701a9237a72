package kubevirt

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The wire types (see [wire]) are the parts of the API objects that records are made of. What is not named here is
// skipped while decoding, managedFields above all.

type wireMeta struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	Generation        int64             `json:"generation"`
	CreationTimestamp time.Time         `json:"creationTimestamp"`
	DeletionTimestamp time.Time         `json:"deletionTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       *wireAnnotations  `json:"annotations"`
}

// wireAnnotations are the annotations that are read; the others are skipped without being kept.
type wireAnnotations struct {
	RunStrategy        strategy `json:"kubevirt-redfish.io/run-strategy"`
	StoppedRunStrategy strategy `json:"kubevirt-redfish.io/stopped-run-strategy"`
	PowerOn            string   `json:"kubevirt-redfish.io/power-on"`
}

type wireVM struct {
	Metadata wireMeta `json:"metadata"`
	Spec     struct {
		Running             *bool          `json:"running"`
		RunStrategy         strategy       `json:"runStrategy"`
		Instancetype        *wireMatcher   `json:"instancetype"`
		Preference          *wireMatcher   `json:"preference"`
		DataVolumeTemplates []wireTemplate `json:"dataVolumeTemplates"`
		Template            struct {
			Spec wireSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		RunStrategy     strategy        `json:"runStrategy"`
		PrintableStatus string          `json:"printableStatus"`
		Created         bool            `json:"created"`
		Conditions      []wireCondition `json:"conditions"`
		Requests        []struct {
			Action string `json:"action"`
			UID    string `json:"uid"`
		} `json:"stateChangeRequests"`
		StartFailure *struct {
			Count      int       `json:"consecutiveFailCount"`
			RetryAfter time.Time `json:"retryAfterTimestamp"`
		} `json:"startFailure"`
		InstancetypeRef *wireRef `json:"instancetypeRef"`
		PreferenceRef   *wireRef `json:"preferenceRef"`
	} `json:"status"`
}

type wireMatcher struct {
	Kind         string `json:"kind"`
	Name         string `json:"name"`
	RevisionName string `json:"revisionName"`
}

type wireRef struct {
	Revision *struct {
		Name string `json:"name"`
	} `json:"controllerRevisionRef"`
}

// wireTemplate is a DataVolume template: its size, in either of its two places.
type wireTemplate struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		PVC     wireClaimSpec `json:"pvc"`
		Storage wireClaimSpec `json:"storage"`
	} `json:"spec"`
}

type wireClaimSpec struct {
	Resources struct {
		Requests wireStorage `json:"requests"`
	} `json:"resources"`
}

type wireStorage struct {
	Storage *resource.Quantity `json:"storage"`
}

// wireSpec is a VirtualMachineInstanceSpec.
type wireSpec struct {
	Architecture string       `json:"architecture"`
	Grace        *int64       `json:"terminationGracePeriodSeconds"`
	Domain       wireDomain   `json:"domain"`
	Volumes      []wireVolume `json:"volumes"`
}

type wireDomain struct {
	CPU struct {
		Sockets int32  `json:"sockets"`
		Cores   int32  `json:"cores"`
		Threads int32  `json:"threads"`
		Model   string `json:"model"`
	} `json:"cpu"`
	Memory struct {
		Guest     *resource.Quantity `json:"guest"`
		Hugepages struct {
			PageSize string `json:"pageSize"` // text without a check by the API server
		} `json:"hugepages"`
	} `json:"memory"`
	Resources struct {
		Requests wireComputing `json:"requests"`
		Limits   wireComputing `json:"limits"`
	} `json:"resources"`
	Firmware struct {
		UUID       string `json:"uuid"`
		Serial     string `json:"serial"`
		Bootloader struct {
			EFI *struct {
				SecureBoot *bool `json:"secureBoot"`
			} `json:"efi"`
		} `json:"bootloader"`
	} `json:"firmware"`
	Chassis struct {
		Asset string `json:"asset"`
		SKU   string `json:"sku"`
	} `json:"chassis"`
	Devices struct {
		Disks      []wireDisk `json:"disks"`
		Interfaces []struct {
			Name      string `json:"name"`
			MAC       string `json:"macAddress"`
			BootOrder int32  `json:"bootOrder"`
		} `json:"interfaces"`
	} `json:"devices"`
}

type wireComputing struct {
	CPU    *resource.Quantity `json:"cpu"`
	Memory *resource.Quantity `json:"memory"`
}

type wireDisk struct {
	Name      string      `json:"name"`
	Serial    string      `json:"serial"`
	BootOrder int32       `json:"bootOrder"`
	Disk      *wireTarget `json:"disk"`
	LUN       *wireTarget `json:"lun"`
	CDROM     *wireTarget `json:"cdrom"`
}

type wireTarget struct {
	Bus string `json:"bus"`
}

type wireClaim struct {
	ClaimName string `json:"claimName"`
}

type wireCapacity struct {
	Capacity *resource.Quantity `json:"capacity"`
}

// wireVolume is a volume; at most one of its sources is set. Sources without content of interest are empty
// objects.
type wireVolume struct {
	Name       string `json:"name"`
	DataVolume *struct {
		Name string `json:"name"`
	} `json:"dataVolume"`
	PersistentVolumeClaim *wireClaim `json:"persistentVolumeClaim"`
	Ephemeral             *struct {
		PersistentVolumeClaim *wireClaim `json:"persistentVolumeClaim"`
	} `json:"ephemeral"`
	EmptyDisk        *wireCapacity `json:"emptyDisk"`
	HostDisk         *wireCapacity `json:"hostDisk"`
	ContainerDisk    *struct{}     `json:"containerDisk"`
	CloudInitNoCloud *struct{}     `json:"cloudInitNoCloud"`
	CloudInitConfig  *struct{}     `json:"cloudInitConfigDrive"`
}

type wireVMI struct {
	Metadata wireMeta `json:"metadata"`
	Spec     wireSpec `json:"spec"`
	Status   struct {
		Phase       string          `json:"phase"`
		NodeName    string          `json:"nodeName"`
		Conditions  []wireCondition `json:"conditions"`
		Transitions []struct {
			Phase string    `json:"phase"`
			At    time.Time `json:"phaseTransitionTimestamp"`
		} `json:"phaseTransitionTimestamps"`
		Interfaces []struct {
			Name      string   `json:"name"`
			MAC       string   `json:"mac"`
			Addresses []string `json:"ipAddresses"`
			LinkState string   `json:"linkState"`
		} `json:"interfaces"`
		Volumes []struct {
			Name  string `json:"name"`
			Size  int64  `json:"size"`
			Claim *struct {
				Capacity wireStorage `json:"capacity"`
				Requests wireStorage `json:"requests"`
			} `json:"persistentVolumeClaimInfo"`
		} `json:"volumeStatus"`
		Topology struct {
			Sockets int32 `json:"sockets"`
			Cores   int32 `json:"cores"`
			Threads int32 `json:"threads"`
		} `json:"currentCPUTopology"`
		Memory struct {
			GuestCurrent *resource.Quantity `json:"guestCurrent"`
		} `json:"memory"`
		GuestOS struct {
			PrettyName string `json:"prettyName"`
		} `json:"guestOSInfo"`
	} `json:"status"`
}

type wireCondition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

type wirePVC struct {
	Metadata wireMeta      `json:"metadata"`
	Spec     wireClaimSpec `json:"spec"`
	Status   struct {
		Capacity wireStorage `json:"capacity"`
	} `json:"status"`
}
