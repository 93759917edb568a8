package corun

import (
	"fmt"

	"example.com/colloc/profile"
)

// Table is the file form of co-runs: each task once, co-runs by the places of their
// tasks.
type Table struct {
	Tasks []task `json:"tasks"`
	Runs  []row  `json:"runs"`
}

type row struct {
	// Set holds a place in Tasks for each task, -1 for one of which nothing is known;
	// Speeds what was measured, 0 where nothing was.
	Set    []int     `json:"set"`
	Speeds []float64 `json:"speeds"`
	Groups []string  `json:"groups,omitempty"`
}

// Pack puts co-runs into a table, each of which Strip returned. O(tasks).
func Pack(runs []Run) *Table {
	t := &Table{Tasks: []task{}, Runs: make([]row, 0, len(runs))}
	known := make(map[*profile.Profile]int)
	equal := make(map[task]int)
	for _, r := range runs {
		one := row{Set: make([]int, len(r.Set)), Speeds: make([]float64, len(r.Speeds)), Groups: r.Groups}
		for i, s := range r.Speeds {
			one.Speeds[i] = s.Or(0)
		}
		for i, p := range r.Set {
			if p == nil {
				one.Set[i] = -1
				continue
			}
			at, ok := known[p]
			if !ok {
				what := taskOf(p)
				if at, ok = equal[what]; !ok {
					at = len(t.Tasks)
					equal[what] = at
					t.Tasks = append(t.Tasks, what)
				}
				known[p] = at
			}
			one.Set[i] = at
		}
		t.Runs = append(t.Runs, one)
	}
	return t
}

// Unpack returns the co-runs of a table. It returns an error for a task that is not
// there, a feature out of its range and for lengths that differ; it does not look at
// speeds.
func (t *Table) Unpack() ([]Run, error) {
	profiles := make([]profile.Profile, len(t.Tasks))
	for i := range t.Tasks {
		if err := t.Tasks[i].fill(&profiles[i]); err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
	}
	var runs []Run
	for k := range t.Runs {
		one := &t.Runs[k]
		if len(one.Speeds) != len(one.Set) || one.Groups != nil && len(one.Groups) != len(one.Set) {
			return nil, fmt.Errorf("co-run %d: %d tasks, %d speeds, %d groups: want as many of each", k, len(one.Set), len(one.Speeds), len(one.Groups))
		}
		r := Run{Set: make([]*profile.Profile, len(one.Set)), Speeds: make([]profile.Opt[float64], len(one.Set)), Groups: one.Groups}
		for i, at := range one.Set {
			if at < -1 || at >= len(profiles) {
				return nil, fmt.Errorf("co-run %d: task %d, want one of %d", k, at, len(profiles))
			}
			if at >= 0 {
				r.Set[i] = &profiles[at]
			}
			if s := one.Speeds[i]; s != 0 {
				r.Speeds[i] = profile.Some(s)
			}
		}
		runs = append(runs, r)
	}
	return runs, nil
}
