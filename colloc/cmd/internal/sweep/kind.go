package sweep

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// kind is what is known of tasks that are alike. The first of them that starts
// is watched while it has its GPU to itself; the others go by what it showed.
type kind struct {
	Name string
	// Profile is what a Planner needs, with a bound for the peak of the next run; nil as long as nothing is known.
	Profile *profile.Profile
	// Peaks are of those that ended.
	Peaks solo.Peaks
	// Solo is how fast a task is alone.
	Solo solo.Timing

	largest profile.Bytes // what the largest GPU offers
	watched *solo.Watch   // nil while no task is watched
	gpu     nvmlx.DeviceID
}

// begin starts to watch a run, if its kind is unknown and nobody is watched.
func (k *kind) begin(at time.Time, r *runner.Record) {
	if k.Profile == nil && k.watched == nil {
		k.watched, k.gpu = solo.Begin(r.Task.ID, at), r.GPU
	}
}

// watches reports whether the task is the one that is watched.
func (k *kind) watches(task string) bool { return k.watched != nil && k.watched.Run() == task }

// progress notes how far the run that is watched is.
func (k *kind) progress(at time.Time, r *runner.Record) {
	k.watched.Peak(r.Peak)
	k.watched.Step(at, r.Step, r.Restarts)
}

// conclude makes of what was seen a description.
func (k *kind) conclude(now time.Time, gpu profile.GPUModel) error {
	w := k.watched
	k.watched = nil
	spec := profile.Spec{Model: profile.Model{Name: k.Name}, Training: profile.Training{BatchSize: 1}}
	p, timing, err := w.Conclude(now, spec, gpu)
	if err != nil {
		return err
	}
	k.Profile, k.Solo = p, timing
	k.bound(profile.BytesOf(p.Vector.Or(profile.PeakMemory, 0)), false)
	return nil
}

// usual is by what share tasks are believed to differ that -by says are alike.
const usual = 0.01

// bound notes what a run was seen to use, and reports whether the next ones are to reserve something else for that.
func (k *kind) bound(peak profile.Bytes, over bool) bool {
	if k.Profile == nil || peak <= 0 {
		return false
	}
	was := k.Profile
	k.Peaks = k.Peaks.Saw(peak, over)
	k.Profile = k.Peaks.Bounded(was, usual, colloc.MeasuredMargin, k.largest)
	return k.Profile != was
}

// measured is the profile with what was seen, and no bound.
func (k *kind) measured() *profile.Profile {
	p := *k.Profile
	if k.Peaks.Most > 0 && p.Vector.Set(profile.PeakMemory, float64(k.Peaks.Most)) != nil {
		return k.Profile
	}
	return &p
}

// String says what was measured.
func (k *kind) String() string { return solo.Describe(k.Name, k.measured(), &k.Solo) }

// saveKinds writes what was measured, for -known, as a task file.
func saveKinds(path string, kinds map[string]*kind) error {
	f := &taskfile.File{About: "measured by colloc sweep"}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if k := kinds[name]; k.Profile != nil {
			f.Tasks = append(f.Tasks, solo.Task(k.Name, k.measured(), &k.Solo))
		}
	}
	return taskfile.WriteFile(path, f)
}

// loadKinds reads what saveKinds wrote, or any other task file.
func loadKinds(path string) (map[string]*kind, error) {
	f, err := taskfile.ReadFile(path)
	if err != nil {
		return nil, err
	}
	kinds := make(map[string]*kind)
	for i := range f.Tasks {
		t := &f.Tasks[i]
		p, timing, err := solo.Of(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Place(), err)
		}
		peak := profile.BytesOf(p.Vector.Or(profile.PeakMemory, 0))
		kinds[t.ID] = &kind{Name: t.ID, Profile: p, Peaks: solo.Peaks{}.Saw(peak, true), Solo: timing}
	}
	return kinds, nil
}
