package redfish

import "time"

// State is Resource.Status.State.
type State string

// The states that machines and their parts are reported in.
const (
	StateEnabled            State = "Enabled"
	StateDisabled           State = "Disabled"
	StateStarting           State = "Starting"
	StateUnavailableOffline State = "UnavailableOffline"
)

// Health is Resource.Health; it is also the severity of a [Condition].
type Health string

// The values of Resource.Health.
const (
	HealthOK       Health = "OK"
	HealthWarning  Health = "Warning"
	HealthCritical Health = "Critical"
)

// Worst is the more severe of the two.
func (h Health) Worst(other Health) Health {
	rank := map[Health]int{HealthOK: 0, HealthWarning: 1, HealthCritical: 2}
	if rank[other] > rank[h] {
		return other
	}
	return h
}

// Status is the state of a machine, with the reasons when it is not what one would wish.
type Status struct {
	State      State
	Health     Health
	Conditions []Condition
}

// Condition explains a Status. It becomes a member of Status.Conditions.
type Condition struct {
	Severity Health
	// Message is for people: the platform's reason, without anything secret.
	Message string
	// Since is when the condition began; zero when that is unknown.
	Since time.Time
}
