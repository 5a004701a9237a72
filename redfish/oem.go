package redfish

// oemBody is the Oem member of a ComputerSystem.
type oemBody struct {
	KubeVirt kubeVirtBody `json:"KubeVirt"`
}

// kubeVirtBody is Oem.KubeVirt of a ComputerSystem: what has no property in the standard.
type kubeVirtBody struct {
	ODataType       string                  `json:"@odata.type"`
	Namespace       string                  `json:"Namespace"`
	Name            string                  `json:"Name"`
	RunStrategy     *string                 `json:"RunStrategy"`
	PrintableStatus *string                 `json:"PrintableStatus"`
	Node            *string                 `json:"Node"`
	InstanceUID     *string                 `json:"InstanceUID"`
	Phase           *string                 `json:"Phase"`
	GuestAgent      bool                    `json:"GuestAgentConnected"`
	GuestOS         *string                 `json:"GuestOS"`
	RestartRequired bool                    `json:"RestartRequired"`
	Instancetype    *string                 `json:"Instancetype"`
	Preference      *string                 `json:"Preference"`
	Conditions      []platformConditionBody `json:"Conditions"`
}

type platformConditionBody struct {
	Type    string  `json:"Type"`
	Status  string  `json:"Status"`
	Reason  *string `json:"Reason"`
	Message *string `json:"Message"`
}

func kubeVirtOf(k *KubeVirt) kubeVirtBody {
	conditions := make([]platformConditionBody, len(k.Conditions))
	for i, c := range k.Conditions {
		conditions[i] = platformConditionBody{Type: c.Type, Status: c.Status, Reason: optional(c.Reason), Message: optional(c.Message)}
	}
	return kubeVirtBody{
		ODataType: "#KubeVirt.v1_0_0.ComputerSystem", Namespace: k.Namespace, Name: k.Name, RunStrategy: optional(k.RunStrategy),
		PrintableStatus: optional(k.PrintableStatus), Node: optional(k.Node), InstanceUID: optional(k.InstanceUID),
		Phase: optional(k.Phase), GuestAgent: k.GuestAgent, GuestOS: optional(k.GuestOS), RestartRequired: k.RestartRequired,
		Instancetype: optional(k.Instancetype), Preference: optional(k.Preference), Conditions: conditions,
	}
}
