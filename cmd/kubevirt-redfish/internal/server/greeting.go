package server

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// greetTimeout bounds the list of machines in the greeting.
const greetTimeout = 5 * time.Second

// greet tells a person who tries the program what there is and how to reach it.
func (s *serving) greet(ctx context.Context, e *endpoint, t *target) {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	names, _ := machineNames(ctx, t.config) // without the list the rest is still useful
	scheme, insecure := "http", ""
	if e.server.TLSConfig != nil {
		scheme, insecure = "https", "k"
	}
	url := scheme + "://" + e.address()
	var b strings.Builder
	fmt.Fprintf(&b, "\nSimulated KubeVirt, served as Redfish at %s/redfish/v1/\n\n", url)
	if s.source != nil {
		b.WriteString("The users and the machines that they see are those of " + s.source.Path + ".\n")
	} else {
		listMachines(&b, url, names)
		password := s.password
		if s.options.AdminPasswordFile != "" {
			password = "$(cat " + s.options.AdminPasswordFile + ")"
		}
		fmt.Fprintf(&b, "\n  user      admin\n  password  %s\n", password)
		if len(names) > 0 {
			fmt.Fprintf(&b, "\nTry:\n\n  curl -s%s -u \"admin:%s\" %s/redfish/v1/Systems/%s\n", insecure, password, url, names[0])
			fmt.Fprintf(&b, "  curl -s%s -u \"admin:%s\" -H 'Content-Type: application/json' -d '{\"ResetType\": \"On\"}' -w '%%{http_code}\\n' \\\n    %s/redfish/v1/Systems/%s/Actions/ComputerSystem.Reset\n",
				insecure, password, url, names[len(names)-1])
		}
	}
	_, _ = fmt.Fprintln(s.Out, b.String()) // a closed output is no reason to stop
}

func listMachines(b *strings.Builder, url string, names []string) {
	for i, name := range names {
		if i == maxGreeted {
			fmt.Fprintf(b, "  … %d machines in all\n", len(names))
			break
		}
		fmt.Fprintf(b, "  %s/redfish/v1/Systems/%s\n", url, name)
	}
}

// maxGreeted bounds the list of machines in the greeting.
const maxGreeted = 10
