package redfish

import (
	"context"
	"errors"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// SystemID is the Id of a ComputerSystem, of its Manager and of its Chassis: "<namespace>.<name>", or the
// bare name where the legacy convention is configured.
type SystemID string

// Errors of a platform that callers decide on.
var (
	// ErrNotFound is the answer for what is absent and for what the caller may not see.
	ErrNotFound = errors.New("not found")
	// ErrNotReady is the answer while the platform's state is not known yet.
	ErrNotReady = errors.New("the state of the machines is not known yet")
	// ErrUnavailable wraps failures of the platform that a later retry can cure.
	ErrUnavailable = errors.New("platform unavailable")
	// ErrConflict wraps refusals of an action that the machine's present state does not allow.
	ErrConflict = errors.New("not possible in the present state")
	// ErrForbidden wraps refusals because this service itself lacks a right on the platform.
	ErrForbidden = errors.New("the service lacks a right on the platform")
)

// Backend is all that the protocol needs from a platform. Every method answers from memory and never blocks;
// ErrNotReady is returned until the platform's state has been read once.
type Backend interface {
	// Machine returns ErrNotFound when id is absent or hidden from the caller. Aliases of an id are
	// accepted; the Machine knows its canonical one.
	Machine(who auth.Principal, id SystemID) (Machine, error)
	// Machines lists what the caller may see. The same *Listing is returned as long as nothing changed.
	Machines(who auth.Principal) (*Listing, error)
	// Resolve is the id of the machine with that bare name in a configured chassis; ErrNotFound when either
	// is absent or hidden.
	Resolve(who auth.Principal, in auth.ChassisName, name string) (SystemID, error)
	// Chassis lists the configured chassis that are granted to the caller, in configured order.
	Chassis(who auth.Principal) ([]Chassis, error)
	// Tasks lists the tasks of the machines that the caller may see, by id.
	Tasks(who auth.Principal) ([]Task, error)
}

// Machine is one machine in one immutable state. Having one is the proof that its caller may see it.
type Machine interface {
	ID() SystemID
	// Version changes whenever Describe would answer differently.
	Version() Version
	// Describe builds the full description. It allocates: what is made of it is kept under Version.
	Describe() *System
	// Reset makes one platform call, none when the state is already reached. It returns when the
	// platform has accepted it and reads show it, or the ID of a task when the action is held back.
	// ErrConflict, ErrUnavailable and ErrForbidden are wrapped in its errors.
	Reset(ctx context.Context, how ResetType) (TaskID, error)
}

// Version identifies a state. Two equal versions of machines are the same state of the same machine, since
// one URI may name different machines for different callers.
type Version struct {
	// Object counts the changes of all machines, and is that of the last one of this machine; of a list it
	// counts the changes of the list.
	Object uint64
	// Service counts the changes that concern everything, as the loss of the platform or a new exposure.
	Service uint64
}

// Listing is an immutable list of machines in canonical order.
type Listing struct {
	Version Version
	IDs     []SystemID
}

// Chassis is a configured chassis with the machines it contains.
type Chassis struct {
	Name        auth.ChassisName
	Description string
	Machines    *Listing
}
