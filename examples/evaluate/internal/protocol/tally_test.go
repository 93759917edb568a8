package protocol

import "testing"

func TestTally(t *testing.T) {
	var c Tally
	if median, worst := c.FoldErrors(); c.WorstCover() != 0 || c.Groups() != 0 || median != 0 || worst != 0 {
		t.Errorf("nothing counted: cover %v of %d groups, off by %v and %v, want 0", c.WorstCover(), c.Groups(), median, worst)
	}
	for _, row := range []struct {
		fold   int
		gpu    string
		inside bool
		off    float64
	}{{0, "a", true, 1}, {0, "a", true, 3}, {1, "a", true, 1}, {1, "b", true, 5}, {1, "b", false, 3}} {
		c.Add(row.fold, row.gpu, row.inside, row.off)
	}
	if c.WorstCover() != 0.5 || c.Groups() != 2 {
		t.Errorf("worst %v of %d groups, want 0.5 of 2: fold 1 kept half of its promises on b", c.WorstCover(), c.Groups())
	}
	if median, worst := c.FoldErrors(); median != 2 || worst != 4 {
		t.Errorf("off by %v and %v, want 2 in fold 0 and 4 in fold 1 on b", median, worst)
	}
}
