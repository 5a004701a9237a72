// Package server puts the parts of the program together and runs them: the cluster (real or simulated), the
// backend, the accounts, the certificates, the Redfish service, the endpoint for metrics and health, and the
// watch on the configuration file.
//
// It holds no rules of its own. It may import everything.
//
// Read first: [Programs], serve, endpoint.
package server
