package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/colloc/profile"
)

// Options say how the simulated world behaves and how well a policy knows it.
// The zero value is a world of exact time-slicing without failures or overheads,
// and a policy that knows lengths, memory and speeds perfectly.
type Options struct {
	// Truth is how fast tasks really run; nil is Constant(nil).
	Truth Model
	// Predicted is what the policy is told; nil is Truth.
	Predicted Model
	// Reserve is the memory that is predicted for a task; nil is its Memory.
	Reserve func(*Task) profile.Bytes
	// Likely is the memory that is expected of a task, where Reserve is a bound that
	// it hardly ever exceeds; nil is Reserve.
	Likely func(*Task) profile.Bytes
	// Length is the run time alone on the reference GPU that is predicted for a task,
	// before LengthError; nil is its Work.
	Length func(*Task) time.Duration
	// Guessed says that what Length predicts are guesses, see [TaskView]: nobody knows
	// how long tasks run.
	Guessed bool
	// LengthError is the standard deviation of the logarithm of the error in
	// predicted lengths.
	LengthError float64
	// Seed chooses errors and is handed to policies that draw lots.
	Seed uint64

	// OOMAfter is the time from the start of a task whose memory does not fit
	// until it dies; 0 means 30 s.
	OOMAfter time.Duration
	// MaxFailures is the number of deaths after which a task is given up; 0
	// means 20.
	MaxFailures int
	// Checkpoint is the time between two checkpoints of a running task, without
	// which a GPU that fails takes all work since the start; 0 is never. Each
	// costs CheckpointCost. Preempted tasks lose nothing but their Startup.
	Checkpoint, CheckpointCost time.Duration
	// RestartAll says that every decision stops and restarts every running task,
	// as in systems that apply each plan from checkpoints. The loss is counted at
	// the next decision: each task then loses the Startup of all members of its
	// set, and a task that finishes earlier loses nothing. Muri's simulator counts
	// in this way, see [Stages], and with it the means of SRTF and SRSF equal the
	// published ones to the last digit. Counted before the work, the loss changes
	// them by up to 1.6 %.
	RestartAll bool
	// ObserveAfter is how long a set must have run unchanged for its speeds to
	// count as measured; 0 means 60 s. ObserveError is the standard deviation of
	// the logarithm of the error in a measured speed.
	ObserveAfter time.Duration
	ObserveError float64

	// Quotas are the most GPUs that tasks of a user may ask for at once, by Task.User.
	// "*" is of each user who is not named; without it there is no limit for them.
	// What is beyond is held back from the policy until tasks of that user ended. Then
	// the highest Priority goes first, then the order of arrival. Such a wait counts
	// like any.
	Quotas map[string]int
	// ShareCPU lets machines run tasks that want more cores than there are: all of them
	// then run at the part of the speed that their cores are of what they want. Without
	// it cores are set aside, and tasks wait for them. Policies are not told, but
	// measured speeds show it.
	ShareCPU bool

	// Until ends the simulation; 0 lets it run until nothing happens any more.
	Until time.Duration
	// OnEvent, if not nil, is told of every event in order. The Event and its
	// slices are valid during the call only.
	OnEvent func(*Event)
	// Points is how many points the time series has at most; 0 means 512.
	Points int
}

func (o Options) withDefaults() (Options, error) {
	if o.Truth == nil {
		o.Truth = Constant(nil)
	}
	if o.Predicted == nil {
		o.Predicted = o.Truth
	}
	setDefault(&o.OOMAfter, 30*time.Second)
	setDefault(&o.MaxFailures, 20)
	setDefault(&o.ObserveAfter, time.Minute)
	setDefault(&o.Points, 512)
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", field, value, want))
		}
	}
	for _, d := range []struct {
		name string
		time.Duration
	}{
		{"OOMAfter", o.OOMAfter},
		{"Checkpoint", o.Checkpoint},
		{"CheckpointCost", o.CheckpointCost},
		{"ObserveAfter", o.ObserveAfter},
		{"Until", o.Until},
	} {
		check(d.Duration >= 0, d.name, d.Duration, "0 or more")
	}
	check(o.Checkpoint == 0 || o.Checkpoint > o.CheckpointCost, "Checkpoint", o.Checkpoint, "more than CheckpointCost")
	check(o.LengthError >= 0 && o.LengthError <= 4, "LengthError", o.LengthError, "0 to 4")
	check(o.ObserveError >= 0 && o.ObserveError <= 4, "ObserveError", o.ObserveError, "0 to 4")
	for _, user := range slices.Sorted(maps.Keys(o.Quotas)) {
		check(o.Quotas[user] >= 0, fmt.Sprintf("Quotas[%q]", user), o.Quotas[user], "0 or more")
	}
	check(o.MaxFailures > 0, "MaxFailures", o.MaxFailures, "0 or more")
	check(o.Points >= 2 && o.Points <= 1<<20, "Points", o.Points, "2 to 1048576, or 0 for the default")
	if len(errs) > 0 {
		return o, fmt.Errorf("sim: options: %w", errors.Join(errs...))
	}
	return o, nil
}

func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}
