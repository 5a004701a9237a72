package guest

import (
	"strings"
	"time"
)

// Program is what a guest does once booted. It is written "live" (boots and stays), "data" (not bootable: a seed or driver CD) or
// "installer [after=5s] [then=reboot|poweroff|stay] [disk=NAME]".
type Program struct {
	Kind  string
	After time.Duration // from the boot to the end of the installation
	Then  string
	Disk  string // empty: the first disk
}

// ParseProgram never fails: what it does not understand it leaves out.
func ParseProgram(text string) Program {
	p := Program{Kind: "live", Then: "reboot", After: 5 * time.Second}
	for i, field := range strings.Fields(text) {
		key, value, assigned := strings.Cut(field, "=")
		switch {
		case i == 0 && !assigned:
			p.Kind = field
		case key == "after":
			if d, err := time.ParseDuration(value); err == nil {
				p.After = d
			}
		case key == "then":
			p.Then = value
		case key == "disk":
			p.Disk = value
		}
	}
	return p
}
