// Package bench measures what the product costs. Everything is compared within one run: with a bare HTTP
// server that serves the same bytes, or with decoding the same objects once. Only ratios and exact counts can
// fail; absolute numbers depend on the machine and are printed for people.
//
// The servers that are measured are processes of their own: the product's real binary, and stand-ins that are
// this test binary started again in another role. It may import everything but what is internal to a command.
//
// Read first: role (the processes), machines (the synthetic cluster), load (the client that asks).
package bench
