package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

// everything is what the flags ask for by default.
func everything() Options {
	return Options{
		Tasks: Catalogue, Mechanisms: []profile.Mechanism{profile.TimeSlice, profile.MPS},
		Repeats: 3, Triples: 16, Quadruples: 12, Threads: true, Seed: 1,
	}
}

func TestPlan(t *testing.T) {
	o := everything()
	stages := o.Stages()
	if diff := cmp.Diff(stages, o.Stages()); diff != "" {
		t.Errorf("the same options give another plan:\n%s", diff)
	}
	first := stages[0].Cells
	if len(first) != 16 || slices.ContainsFunc(first, func(c Cell) bool { return !c.Alone() }) {
		t.Errorf("the first stage has %d cells, want the 16 tasks alone", len(first))
	}
	seen := make(map[string]int)
	kinds := make(map[profile.Mechanism]map[int]int)
	for _, s := range stages {
		for _, c := range s.Cells {
			if seen[c.ID()]++; seen[c.ID()] > 1 {
				t.Errorf("%s is there twice", c.ID())
			}
			if len(c.Threads) == 0 && c.Repeat == 0 {
				if kinds[c.Mechanism] == nil {
					kinds[c.Mechanism] = make(map[int]int)
				}
				kinds[c.Mechanism][len(c.Tasks)]++
			}
			if n := len(c.Threads); n != 0 && (n != len(c.Tasks) || c.Mechanism != profile.MPS) {
				t.Errorf("%s has caps it cannot have", c.ID())
			}
		}
	}
	shared := map[int]int{2: 136, 3: 16, 4: 12} // 16 tasks and themselves: 136 pairs
	want := map[profile.Mechanism]map[int]int{profile.Exclusive: {1: 16}, profile.TimeSlice: shared, profile.MPS: shared}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("cells of the first repetition by mechanism and size (-want +got):\n%s", diff)
	}
}

// TestPlanCore checks what the first ten minutes are for.
func TestPlanCore(t *testing.T) {
	o := everything()
	second := o.Stages()[1].Cells
	count := make(map[profile.Mechanism]int)
	switches := 0
	for i, c := range second {
		count[c.Mechanism]++
		if i > 0 && c.Mechanism != second[i-1].Mechanism {
			switches++
		}
	}
	want := map[profile.Mechanism]int{profile.TimeSlice: 36, profile.MPS: 36, profile.Exclusive: 8}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("pairs of the core (-want +got):\n%s", diff)
	}
	if switches < 20 {
		t.Errorf("the mechanism changes %d times in %d cells: they are not interleaved", switches, len(second))
	}
}

func TestPlanOptions(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		cells  int
	}{
		{"one task", func(o *Options) { o.Tasks = o.Tasks[:1] }, 3 + 3*2 + 3*(3+2)}, // alone, beside itself, with caps
		{"two tasks, time-slicing", func(o *Options) { o.Tasks, o.Mechanisms = o.Tasks[:2], o.Mechanisms[:1] }, 3*2 + 3*3},
		{"no caps", func(o *Options) { o.Tasks, o.Threads = o.Tasks[:1], false }, 3 + 3*2},
		{"one repetition", func(o *Options) { o.Tasks, o.Threads, o.Repeats = o.Tasks[:1], false, 1 }, 3 + 2*2}, // and one pair again for the noise
		{"no tasks", func(o *Options) { o.Tasks = nil }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := everything()
			tt.change(&o)
			cells := 0
			for _, s := range o.Stages() {
				cells += len(s.Cells)
			}
			if cells != tt.cells {
				t.Errorf("%d cells, want %d", cells, tt.cells)
			}
		})
	}
}
