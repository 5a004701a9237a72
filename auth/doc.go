// Package auth says who a request is made by and what that caller may see and do.
//
// It holds accounts and the verification of their credentials, roles and their privileges, the exposure
// of machines through chassis, and the TLS material of the service. State that outlives the process sits
// behind small interfaces which the platform package implements.
//
// It imports the standard library, golang.org/x and an LRU only: no Kubernetes package, and no other package of
// this project.
//
// Read first: [Principal] (the caller), [Exposure] (which chassis a machine belongs to), [Authenticator]
// (credentials in, principal out).
package auth
