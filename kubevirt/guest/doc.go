// Package guest models what a virtual machine does once it has power: which device its firmware
// boots, how long the operating system takes to come up, how it answers ACPI, reset and pause, and
// how it ends. It is pure: time is passed in, nothing blocks, nothing is executed.
//
// It imports the standard library only, so that every stand-in of a hypervisor can share it.
//
// Read first: Machine (the description), Firmware boot in Machine.Boot, Guest (the running state).
package guest
