package redfish

type secureBoot struct {
	head
	Enable      bool   `json:"SecureBootEnable"`
	CurrentBoot string `json:"SecureBootCurrentBoot"`
	Mode        string `json:"SecureBootMode"`
}

// secureBootResource exists with UEFI only. The firmware has keys enrolled exactly when secure boot is
// enabled in the definition.
func secureBootResource(_ *Service, m *System, _ map[string]string) (resource, error) {
	if !m.Firmware.UEFI {
		return nil, ErrNotFound
	}
	body := secureBoot{
		head:   newHead(systemURI(m.ID)+"/SecureBoot", schemaSecureBoot, "UEFI Secure Boot"),
		Enable: m.Firmware.SecureBoot, CurrentBoot: "Disabled", Mode: "SetupMode",
	}
	if m.Firmware.SecureBoot {
		body.Mode = "UserMode"
	}
	if m.Firmware.SecureNow {
		body.CurrentBoot = "Enabled"
	}
	return body, nil
}
