// Package e2e drives the product as its users do: a Redfish client on one side, a simulated or a real control
// plane on the other. It may import everything of this project but what is internal to a command.
//
// Read first: [Product] (backend and service in process, on any cluster), simulator_test.go, lab_test.go.
package e2e
