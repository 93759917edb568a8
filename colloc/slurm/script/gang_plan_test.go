package script_test

import (
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm/script"
)

// TestPlanOfGang: a script does not run a task of several GPUs once on each.
func TestPlanOfGang(t *testing.T) {
	plan := &colloc.Plan{Placements: []colloc.Placement{{GPU: "a", Gang: []string{"a", "b"}, Members: []colloc.Member{{Task: "train"}}}}}
	if sets, err := script.Sets(plan, []script.Task{{Name: "train"}}); err == nil || !strings.Contains(err.Error(), "takes 2 GPUs at once") {
		t.Errorf("%+v, %v", sets, err)
	}
}
