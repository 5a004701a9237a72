package reconcile_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubevirt-redfish/kubevirt-redfish/test/lab/programs/reconcile"
)

func TestSoonerTakesZeroForNever(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ a, b, want time.Duration }{
		"both never":  {0, 0, 0},
		"first never": {0, 2, 2},
		"other never": {3, 0, 3},
		"shorter":     {3, 2, 2},
		"past":        {-1, 2, 2},
		"both past":   {-1, -2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, reconcile.Sooner(c.a, c.b))
		})
	}
}
