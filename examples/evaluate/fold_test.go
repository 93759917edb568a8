package main

import "testing"

func TestWorstCoverage(t *testing.T) {
	c := coverage{}
	if c.worst() != 0 || c.groups() != 0 {
		t.Errorf("nothing counted: worst %v of %d groups, want 0 of 0", c.worst(), c.groups())
	}
	for _, row := range []struct {
		fold   int
		gpu    string
		inside bool
	}{{0, "a", true}, {0, "a", true}, {1, "a", true}, {1, "b", true}, {1, "b", false}} {
		c.add(row.fold, row.gpu, row.inside)
	}
	if c.worst() != 0.5 || c.groups() != 2 {
		t.Errorf("worst %v of %d groups, want 0.5 of 2: fold 1 kept half of its promises on b", c.worst(), c.groups())
	}
}
