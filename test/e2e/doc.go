// Package e2e drives the product as its users do: a Redfish client on one side, a simulated or a real control
// plane on the other. It may import everything of this project but what is internal to a command.
//
// Read first: [Product] (backend and service in process, on any cluster) with simulator_test.go, [Space] (a namespace
// on a real control plane) with lab_resets_test.go and its table in testdata, [Process] (the program itself).
package e2e
