// Package cli is the command line: commands, flags, their checks, and what the process exits with.
//
// It decides nothing about the server; the commands call the functions of [Commands]. It imports cobra, and the
// config and auth packages for the two commands that only look at a file or a password.
//
// Read first: [Run], [Commands], [ServeOptions].
package cli
