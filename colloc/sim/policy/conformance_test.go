package policy_test

import (
	"testing"

	"example.com/colloc/colloc/sim"

	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/simtest"
)

// TestConformance runs every policy through the kit.
func TestConformance(t *testing.T) {
	for _, p := range policy.All() {
		t.Run(p.Name(), func(t *testing.T) { simtest.Conformance(t, p) })
	}
	t.Run("fgd", func(t *testing.T) { simtest.Conformance(t, policy.FGD{Typical: []sim.Task{{Share: 0.5}}}) })
}
