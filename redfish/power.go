package redfish

// PowerState is Resource.PowerState.
type PowerState string

// The values of Resource.PowerState.
const (
	PowerOn          PowerState = "On"
	PowerOff         PowerState = "Off"
	PowerPoweringOn  PowerState = "PoweringOn"
	PowerPoweringOff PowerState = "PoweringOff"
	PowerPaused      PowerState = "Paused"
)

// ResetType is Resource.ResetType, the parameter of ComputerSystem.Reset.
type ResetType string

// The reset types that a machine can be asked for.
const (
	ResetOn               ResetType = "On"
	ResetForceOn          ResetType = "ForceOn"
	ResetForceOff         ResetType = "ForceOff"
	ResetGracefulShutdown ResetType = "GracefulShutdown"
	ResetGracefulRestart  ResetType = "GracefulRestart"
	ResetForceRestart     ResetType = "ForceRestart"
	ResetPowerCycle       ResetType = "PowerCycle"
	ResetPushPowerButton  ResetType = "PushPowerButton"
	ResetPause            ResetType = "Pause"
	ResetResume           ResetType = "Resume"
)
