package protocol

import "testing"

func TestWorstCoverage(t *testing.T) {
	c := Coverage{}
	if c.Worst() != 0 || c.Groups() != 0 {
		t.Errorf("nothing counted: worst %v of %d groups, want 0 of 0", c.Worst(), c.Groups())
	}
	for _, row := range []struct {
		fold   int
		gpu    string
		inside bool
	}{{0, "a", true}, {0, "a", true}, {1, "a", true}, {1, "b", true}, {1, "b", false}} {
		c.Add(row.fold, row.gpu, row.inside)
	}
	if c.Worst() != 0.5 || c.Groups() != 2 {
		t.Errorf("worst %v of %d groups, want 0.5 of 2: fold 1 kept half of its promises on b", c.Worst(), c.Groups())
	}
}
