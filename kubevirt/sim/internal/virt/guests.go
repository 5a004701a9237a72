package virt

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/guest"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

// guests are the hypervisor processes behind the instances: what a node knows and the API does not.
type guests struct {
	mu    sync.Mutex
	byUID map[types.UID]*instance
	byKey map[store.Key]types.UID
}

// instance is the hidden side of one VirtualMachineInstance.
type instance struct {
	pod      string                                 // name of the launcher pod, "" before there is one
	phase    kubevirtv1.VirtualMachineInstancePhase // as last written
	entered  time.Time                              // when it got that phase, exactly
	guest    *guest.Guest                           // nil until Running
	stopping time.Time                              // when the stop was first seen, zero before
	template *kubevirtv1.VirtualMachineInstanceSpec // the VM's template at the start
}

// use calls f with the hidden side of an instance, made when it is new, while nobody else uses it.
func (g *guests) use(key store.Key, uid types.UID, f func(*instance)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	in := g.byUID[uid]
	if in == nil {
		if old, ok := g.byKey[key]; ok {
			delete(g.byUID, old)
		}
		in = &instance{}
		g.byUID[uid], g.byKey[key] = in, uid
	}
	f(in)
}

func (g *guests) forget(key store.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.byUID, g.byKey[key])
	delete(g.byKey, key)
}

// enter notes a phase and returns how long the instance has been in it.
func (in *instance) enter(phase kubevirtv1.VirtualMachineInstancePhase, now time.Time) time.Duration {
	if in.phase != phase {
		in.phase, in.entered = phase, now
	}
	return now.Sub(in.entered)
}
