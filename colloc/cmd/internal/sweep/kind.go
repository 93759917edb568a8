package sweep

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/profile"
)

// saveKinds writes what was measured, for -known, as a task file.
func saveKinds(path string, kinds map[string]solo.Kind) error {
	f := &taskfile.File{About: "measured by colloc sweep"}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if k := kinds[name]; k.Profile != nil {
			f.Tasks = append(f.Tasks, solo.Task(name, k.Measured(), &k.Timing))
		}
	}
	return taskfile.WriteFile(path, f)
}

// loadKinds reads what saveKinds wrote, or any other task file.
func loadKinds(path string) (map[string]solo.Kind, error) {
	f, err := taskfile.ReadFile(path)
	if err != nil {
		return nil, err
	}
	kinds := make(map[string]solo.Kind)
	for i := range f.Tasks {
		t := &f.Tasks[i]
		p, timing, err := solo.Of(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Place(), err)
		}
		peak := profile.BytesOf(p.Vector.Or(profile.PeakMemory, 0))
		kinds[t.ID] = solo.Kind{Profile: p, Peaks: solo.Peaks{}.Saw(peak, true), Timing: timing}
	}
	return kinds, nil
}

// earlierKinds are those that an earlier sweep of the folder left; none where they cannot be read.
func earlierKinds(path string) map[string]solo.Kind {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	kinds, err := loadKinds(path)
	if err != nil {
		return nil
	}
	return kinds
}
