package kubevirt

import (
	"encoding/json"
	"regexp"
	"time"
)

// powerOn is the value of the annotation [markers.PowerOn]: a power-on that waits, or how the last one ended.
type powerOn struct {
	// Version is the format's; a value of a newer one is left alone.
	Version int       `json:"v"`
	ID      string    `json:"id"` // random, names the task
	Reset   string    `json:"reset"`
	State   holdState `json:"state"`
	Since   time.Time `json:"since"`
	Ended   time.Time `json:"ended,omitzero"`
	Message string    `json:"message,omitempty"`
}

// powerOnVersion is the format that this code writes.
const powerOnVersion = 1

// holdState is where a held power-on stands.
type holdState string

const (
	holdWaiting   holdState = "waiting"
	holdDone      holdState = "done"
	holdCancelled holdState = "cancelled"
	holdFailed    holdState = "failed"
)

// powerOnID is the form of ids: everybody who may change the VM can write the annotation, and the id becomes part
// of URIs.
var powerOnID = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

// parsePowerOn reads the annotation; nil when there is none or it is not ours.
func parsePowerOn(text string) *powerOn {
	if text == "" {
		return nil
	}
	var p powerOn
	if json.Unmarshal([]byte(text), &p) != nil || p.Version < 1 || !powerOnID.MatchString(p.ID) {
		return nil
	}
	return &p
}

// String is the annotation's value.
func (p *powerOn) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and times only
	}
	return string(text)
}

// waiting reports whether a power-on is held, also one of a newer format.
func (p *powerOn) waiting() bool { return p != nil && p.State == holdWaiting }

// ended is p as it is after its end.
func (p *powerOn) ended(state holdState, message string, now time.Time) *powerOn {
	over := *p
	over.State, over.Message, over.Ended = state, message, now.UTC().Truncate(time.Second)
	return &over
}
