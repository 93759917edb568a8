package backlog

import (
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// Entry is one task in the queue.
type Entry struct {
	Saved

	Profile *profile.Profile // nil if nothing is known
	blocked int              // dependencies that are not over
	// dependents wait for this task.
	dependents []*Entry
	Unknown    bool // the Planner cannot tell its memory
	// Inherited says that it was in the queue when the runner opened it: the cards that it
	// fitted may be gone since.
	Inherited bool
	// Adopted says that a former runner started its present run.
	Adopted  bool
	Victims  profile.Opt[int64] // of lack of host memory, when its present run began
	TermAt   time.Time          // when it was asked to end; zero if it was not
	Killed   bool               // it got SIGKILL
	Dirty    bool               // the queue file is behind
	Gone     bool               // all processes of its present run are, with their host
	Keeper   int                // the process and session of its supervisor; 0 if it is not known
	Port     int                // where its processes meet, if it has several GPUs
	Told     bool               // or it was there to get SIGTERM, as far as is known
	Overran  int                // the run of which was told that it uses too much memory
	Follower progress.Follower
	// Restarted is when its count of steps was seen to begin anew, Cycle the time
	// between the last two of those; zero if they are not known.
	Restarted time.Time
	Cycle     time.Duration
	// BusySum is the sum of shares of the GPU that it was seen to have in its present run, BusyLooks how many.
	BusySum   float64
	BusyLooks int
	// Stood is since when its peak has not outgrown Stands by more than is kept for growth;
	// zero while nobody tells how much memory it holds.
	Stood  time.Time
	Stands profile.Bytes
}

// bears reports whether e may run although the other did not succeed.
func (e *Entry) bears(other *Entry) bool {
	return !slices.ContainsFunc(e.Task.After, func(d queue.Dependency) bool {
		return d.Task == other.Task.ID && !d.Any
	})
}

// Saved is a record as it is kept in the queue file, with what only the runner
// needs to know.
type Saved struct {
	queue.Record
	// ProfileKey is the key of the task's profile; empty if it has none.
	ProfileKey []byte `json:"profile,omitempty"`
	// Env is the task's, kept out of records that others see.
	Env []string `json:"env,omitempty"`
	// Raised is what to reserve instead of Task.Memory since memory ran out.
	Raised profile.Bytes `json:"raised,omitempty"`
	// Restart is what the task itself told of Task.Restart.
	Restart profile.Opt[time.Duration] `json:"restart,omitzero"`
	// Stop is why the run is being ended; it survives the runner.
	Stop Stop `json:"stop,omitempty"`
}

// Argv is what is run: the command, or a shell that reads it.
func (e *Entry) Argv() []string {
	if e.Task.Shell {
		return append([]string{"/bin/sh", "-c", e.Task.Command[0], "sh"}, e.Task.Command[1:]...)
	}
	return e.Task.Command
}

// Asked is what is set aside for the task; 0 lets the Planner predict it.
func (e *Entry) Asked() profile.Bytes {
	if e.Raised > 0 {
		return e.Raised
	}
	return e.Task.Memory
}

// RestartCost is what it costs to stop the task and start it again; missing is never.
func (e *Entry) RestartCost() profile.Opt[time.Duration] {
	if e.Restart.IsZero() {
		return e.Task.Restart
	}
	return e.Restart
}

// UID is the number of the user whose the task is, -1 of the runner's own.
func (e *Entry) UID() int64 {
	if e.Task.Owner == nil {
		return -1
	}
	return int64(e.Task.Owner.UID)
}

// Stem is what the names of the files of a task's present run begin with.
func (e *Entry) Stem() string { return strings.TrimSuffix(e.Log, supervise.LogEnd) }

// Stop is why a run is being ended.
type Stop int

// The reasons.
const (
	StopKilled Stop = iota + 1
	StopHalted
	StopTimeout
	StopLostGPU
	StopSpared // was to be killed, and may go on if it did not end
	StopOverrun
	StopForOthers
)

// Final reports whether the task is not to run again.
func (s Stop) Final() bool { return s == StopKilled || s == StopHalted }

// TakesAll reports whether all that is free on a GPU is reserved for the task:
// because nothing is known of its memory, or because that ran out before.
func (e *Entry) TakesAll() bool {
	return e.Unknown || e.Recovery == queue.RanAlone || e.Profile == nil && e.Asked() == 0
}
