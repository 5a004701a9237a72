package redfish_test

import (
	"cmp"
	"context"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/redfish"
)

// fleet is a platform in memory: real rules of visibility over machines that only tests change.
type fleet struct {
	machines []*machine // in canonical order
	chassis  []auth.Chassis
	tasks    []redfish.Task
	version  redfish.Version // of every listing
	err      error           // what every read fails with
}

// machine is one state of a machine, described by value.
type machine struct {
	redfish.System
	version redfish.Version
	resets  []redfish.ResetType                                                      // what was asked for
	reset   func(ctx context.Context, how redfish.ResetType) (redfish.TaskID, error) // the answer; nil means done
}

func (m *machine) ID() redfish.SystemID      { return m.System.ID }
func (m *machine) Version() redfish.Version  { return m.version }
func (m *machine) Describe() *redfish.System { described := m.System; return &described }

func (m *machine) Reset(ctx context.Context, how redfish.ResetType) (redfish.TaskID, error) {
	m.resets = append(m.resets, how)
	if m.reset == nil {
		return "", nil
	}
	return m.reset(ctx, how)
}

func (f *fleet) sees(who auth.Principal, m *machine) bool {
	return who.Grants.Has(auth.ChassisName(m.KubeVirt.Namespace)) // the fleet has a chassis for each namespace
}

func (f *fleet) Machine(who auth.Principal, id redfish.SystemID) (redfish.Machine, error) {
	if f.err != nil {
		return nil, f.err
	}
	for _, m := range f.machines {
		if alias := redfish.SystemID(m.KubeVirt.Namespace + "." + m.KubeVirt.Name); (m.ID() == id || alias == id) && f.sees(who, m) {
			return m, nil
		}
	}
	return nil, redfish.ErrNotFound
}

func (f *fleet) listing(include func(*machine) bool) *redfish.Listing {
	list := &redfish.Listing{Version: f.version}
	for _, m := range f.machines {
		if include(m) {
			list.IDs = append(list.IDs, m.ID())
		}
	}
	return list
}

func (f *fleet) Machines(who auth.Principal) (*redfish.Listing, error) {
	return f.listing(func(m *machine) bool { return f.sees(who, m) }), f.err
}

func (f *fleet) Resolve(who auth.Principal, in auth.ChassisName, name string) (redfish.SystemID, error) {
	if f.err != nil || !who.Grants.Has(in) {
		return "", cmp.Or(f.err, redfish.ErrNotFound)
	}
	for _, m := range f.machines {
		if m.KubeVirt.Name == name && m.KubeVirt.Namespace == string(in) {
			return m.ID(), nil
		}
	}
	return "", redfish.ErrNotFound
}

func (f *fleet) Chassis(who auth.Principal) ([]redfish.Chassis, error) {
	var granted []redfish.Chassis
	for _, c := range f.chassis {
		if who.Grants.Has(c.Name) {
			inside := f.listing(func(m *machine) bool { return m.KubeVirt.Namespace == string(c.Name) })
			granted = append(granted, redfish.Chassis{Name: c.Name, Description: c.Description, Machines: inside})
		}
	}
	return granted, f.err
}

func (f *fleet) Tasks(who auth.Principal) ([]redfish.Task, error) {
	var seen []redfish.Task
	for _, task := range f.tasks {
		if _, err := f.Machine(who, task.System); err == nil {
			seen = append(seen, task)
		}
	}
	return seen, f.err
}
