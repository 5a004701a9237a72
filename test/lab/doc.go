// Package lab builds, starts and stops a real Kubernetes and KubeVirt control plane on loopback: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, virt-api and virt-controller are the real programs, compiled from their Go modules
// (folder programs); one program of ours, fakenode, plays the nodes with their kubelets, virt-handlers and guests, storage and CDI.
//
// It imports only the standard library and a YAML parser. The annotations that steer the stand-ins, all of them with prefix
// lab.kubevirt-redfish.io/, are listed in package programs/knob. Read Options, Up and Build first.
package lab
