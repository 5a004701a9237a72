// Package virt imitates KubeVirt, CDI and what they need of a kubelet and a scheduler, on a store of
// objects: admission, the power subresources, run strategies, the life of a VirtualMachineInstance with its
// launcher pod, status and conditions, DataVolumes.
//
// Everything is level-triggered: a change in the store or a timer puts a key into a work queue, and
// reconciling that key does the next step. It may import the store, the guest model and API types.
//
// Read first: Virt, rules in subresource_table.go, reconcileVM in vm.go, reconcileVMI in vmi.go.
package virt
