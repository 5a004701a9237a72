package bench

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The view types are the parts of the two kinds that a BMC has to know: what a program cannot avoid to decode. The
// product has its own, which are much alike; these are apart from them so that the reference does not change
// when the product does.

type metadataView struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	Generation        int64             `json:"generation"`
	CreationTimestamp time.Time         `json:"creationTimestamp"`
	Labels            map[string]string `json:"labels"`
}

type vmView struct {
	Metadata metadataView `json:"metadata"`
	Spec     struct {
		RunStrategy  string         `json:"runStrategy"`
		Instancetype *referenceView `json:"instancetype"`
		Preference   *referenceView `json:"preference"`
		DataVolumes  []struct {
			Metadata metadataView `json:"metadata"`
			Spec     struct {
				Storage struct {
					Resources struct {
						Requests sizeView `json:"requests"`
					} `json:"resources"`
				} `json:"storage"`
			} `json:"spec"`
		} `json:"dataVolumeTemplates"`
		Template struct {
			Spec machineView `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		RunStrategy     string          `json:"runStrategy"`
		PrintableStatus string          `json:"printableStatus"`
		Conditions      []conditionView `json:"conditions"`
	} `json:"status"`
}

type vmiView struct {
	Metadata metadataView `json:"metadata"`
	Spec     machineView  `json:"spec"`
	Status   struct {
		Phase       string          `json:"phase"`
		NodeName    string          `json:"nodeName"`
		Conditions  []conditionView `json:"conditions"`
		Transitions []struct {
			Phase string    `json:"phase"`
			At    time.Time `json:"phaseTransitionTimestamp"`
		} `json:"phaseTransitionTimestamps"`
		Interfaces []struct {
			Name      string   `json:"name"`
			MAC       string   `json:"mac"`
			Addresses []string `json:"ipAddresses"`
		} `json:"interfaces"`
		Volumes []struct {
			Name  string `json:"name"`
			Size  int64  `json:"size"`
			Claim struct {
				Capacity sizeView `json:"capacity"`
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

type machineView struct {
	Architecture string `json:"architecture"`
	Grace        *int64 `json:"terminationGracePeriodSeconds"`
	Domain       struct {
		CPU struct {
			Sockets int32  `json:"sockets"`
			Cores   int32  `json:"cores"`
			Threads int32  `json:"threads"`
			Model   string `json:"model"`
		} `json:"cpu"`
		Memory struct {
			Guest *resource.Quantity `json:"guest"`
		} `json:"memory"`
		Firmware struct {
			UUID       string `json:"uuid"`
			Serial     string `json:"serial"`
			Bootloader struct {
				EFI *struct {
					SecureBoot *bool `json:"secureBoot"`
				} `json:"efi"`
			} `json:"bootloader"`
		} `json:"firmware"`
		Machine struct {
			Type string `json:"type"`
		} `json:"machine"`
		Devices struct {
			Disks []struct {
				Name      string   `json:"name"`
				Serial    string   `json:"serial"`
				BootOrder int32    `json:"bootOrder"`
				Disk      *busView `json:"disk"`
				CDROM     *busView `json:"cdrom"`
			} `json:"disks"`
			Interfaces []struct {
				Name      string `json:"name"`
				MAC       string `json:"macAddress"`
				BootOrder int32  `json:"bootOrder"`
			} `json:"interfaces"`
		} `json:"devices"`
	} `json:"domain"`
	Volumes []struct {
		Name       string         `json:"name"`
		DataVolume *referenceView `json:"dataVolume"`
	} `json:"volumes"`
}

type conditionView struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

type referenceView struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type busView struct {
	Bus string `json:"bus"`
}

type sizeView struct {
	Storage *resource.Quantity `json:"storage"`
}
