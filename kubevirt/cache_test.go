package kubevirt

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMachinesAreKnownOnceBothTheirPartsAre(t *testing.T) {
	const readable, denied = true, false
	vms, instances := vmPath("cp1"), instancePath("cp1")
	tests := map[string]struct {
		synced map[string]bool
		want   bool
	}{
		"nothing yet":                       {map[string]bool{}, false},
		"machines alone":                    {map[string]bool{vms: readable}, false},
		"instances alone":                   {map[string]bool{instances: readable}, false},
		"no right to machines, so far":      {map[string]bool{vms: denied}, false},
		"both":                              {map[string]bool{vms: readable, instances: readable}, true},
		"no right to instances":             {map[string]bool{vms: readable, instances: denied}, false},
		"no right to machines: none":        {map[string]bool{vms: denied, instances: readable}, true},
		"no right to either: nothing there": {map[string]bool{vms: denied, instances: denied}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &watched{synced: tc.synced}
			require.Equal(t, tc.want, w.known("cp1"))
		})
	}
}
