package harness_test

import (
	"testing"

	"example.com/colloc/colloc/sim/harness"
	"example.com/colloc/colloc/sim/simtest"
)

// TestPolicyConforms: the planner as a policy keeps the rules that bind every
// scheduler.
func TestPolicyConforms(t *testing.T) { simtest.Conformance(t, harness.Policy{}) }
