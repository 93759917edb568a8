package profile

import (
	"math"
	"testing"
)

// TestMIGMemory: the largest instance has the GPU's memory, and each of the others the part
// of it that its slices are, in whole GB.
func TestMIGMemory(t *testing.T) {
	for _, g := range GPUs() {
		var largest MIGProfile
		for _, m := range g.MIG {
			if m.Size >= largest.Size {
				largest = m
			}
		}
		if diff := (largest.Memory - g.Memory).GiBs(); len(g.MIG) > 0 && math.Abs(diff) > 1 {
			t.Errorf("%s: %s is %g GiB larger than the GPU", g.Name, largest.Name, diff)
		}
		for _, m := range g.MIG {
			part := largest.Memory.GiBs() * float64(m.Size) / float64(largest.Size)
			if math.Abs(m.Memory.GiBs()-part) > 0.5 {
				t.Errorf("%s: %s has %v, want %g GiB", g.Name, m.Name, m.Memory, part)
			}
		}
	}
}
