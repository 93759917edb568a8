package policy_test

import (
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/simtest"
	"example.com/colloc/internal/race"
)

// TestConformance runs every policy through the kit; with the race detector, which
// has little to find in sequential code, a few of them.
func TestConformance(t *testing.T) {
	for i, p := range policy.All() {
		if race.Enabled && i%16 != 0 {
			continue
		}
		t.Run(p.Name(), func(t *testing.T) { simtest.Conformance(t, p) })
	}
	t.Run("fgd", func(t *testing.T) { simtest.Conformance(t, policy.FGD{Typical: []sim.Task{{Share: 0.5}}}) })
}
