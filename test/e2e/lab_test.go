package e2e

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(RunWithLab(m)) }

// bothRights runs a test once with our rights and once with those that are documented.
func bothRights(t *testing.T, test func(*testing.T, *Space)) {
	t.Parallel()
	for _, rights := range []Rights{OurRights, DocumentedRights} {
		t.Run(string(rights), func(t *testing.T) {
			t.Parallel()
			test(t, NewSpace(t, rights))
		})
	}
}

func TestLabGofishReadsAndPowerCycles(t *testing.T) {
	bothRights(t, func(t *testing.T, s *Space) {
		id := s.create(t, "node-0", machine{})
		p := s.Serve(t)
		eventually(t, "the machine is there", func() bool { return p.Do(t, Admin, "GET", "/redfish/v1/Systems/"+id, nil).Status == 200 })
		gofishReadsAndPowerCycles(t, p, id)
	})
}
