package queue

import (
	"strings"
	"time"

	"example.com/colloc/internal/enum"
	"example.com/colloc/nvmlx"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// State is where a task is in its life.
type State int

// The states, in the order of a life.
const (
	// Queued: it waits for a GPU, for other tasks, or for another try.
	Queued State = iota
	// Starting: a run is recorded, its process may exist.
	Starting
	// Running: its process runs.
	Running
	// Succeeded: it ended with exit code 0.
	Succeeded
	// Failed: it ended otherwise and is not tried again.
	Failed
	// Cancelled: it was killed on request or by the runner's Halt, or never ran because a
	// task that it depends on did not succeed.
	Cancelled
)

// Over reports whether the task will not run again by itself.
func (s State) Over() bool { return s >= Succeeded }

// Record is everything known of a task in the queue. It is the caller's;
// slices that it shares with others must not be modified.
type Record struct {
	// Task is what was submitted, without Env, which may hold secrets.
	Task Task `json:"task"`
	// Number is the place in the order of submission, from 1.
	Number int `json:"number"`
	// State is where it is.
	State State `json:"state"`
	// Waiting says, while Queued, what the last attempt to place it lacked.
	Waiting string `json:"waiting,omitempty"`
	// Runs counts the runs that were recorded, the present one included;
	// Failures those that failed and count against Retries.
	Runs     int `json:"runs"`
	Failures int `json:"failures,omitempty"`
	// Recovery is what was done so far because memory ran out.
	Recovery Recovery `json:"recovery,omitempty"`
	// LostRuns counts the runs that were lost with a GPU or a supervisor.
	LostRuns int `json:"lost_runs,omitempty"`
	// Overruns counts the runs that were stopped because they used more memory than was
	// reserved, see [Record.Overrun].
	Overruns int `json:"overruns,omitempty"`
	// Stops counts the runs that were stopped for others, or to move; Stopped says of the last for whom and
	// what that gained. See [Task].Restart.
	Stops   int    `json:"stops,omitempty"`
	Stopped string `json:"stopped,omitempty"`
	// Submitted, Started and Ended are times; of the last run, zero before.
	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	// GPU, Mechanism and Reserved are where the last run was placed and what was
	// set aside for it.
	GPU nvmlx.DeviceID `json:"gpu,omitempty"`
	// GPUs are all of them where the task takes several; GPU is the first.
	GPUs      []nvmlx.DeviceID  `json:"gpus,omitempty"`
	Mechanism profile.Mechanism `json:"mechanism"`
	Reserved  profile.Bytes     `json:"reserved,omitempty"`
	// Predicted is the speed predicted when it was placed, as a fraction of its
	// solo speed; Confidence is 0 if it was not.
	Predicted predict.Estimate `json:"predicted,omitzero"`
	// Speed is the last one measured in the same unit.
	Speed profile.Opt[float64] `json:"speed,omitzero"`
	// Peak is the most device memory it was seen to use in the last run.
	Peak profile.Opt[profile.Bytes] `json:"peak,omitzero"`
	// Busy is the mean share of time in which it was seen to have the GPU: as the driver tells of its processes, or, of
	// the only one that it does not tell of, what the others left.
	Busy profile.Opt[float64] `json:"busy,omitzero"`
	// Step and Total are its progress, StepTime the time of a step.
	Step     profile.Opt[int64]         `json:"step,omitzero"`
	Total    profile.Opt[int64]         `json:"total,omitzero"`
	StepTime profile.Opt[time.Duration] `json:"step_time,omitzero"`
	// Restarts is how often its count of steps began anew, as with every epoch, or
	// gave way to another one. Step goes on; what is between two steps with a restart
	// between them need not be training.
	Restarts int `json:"restarts,omitempty"`
	// PID is the process of the last run, which names its session and process group.
	// PIDStart is when it began, in the kernel's ticks since boot.
	PID      int    `json:"pid,omitempty"`
	PIDStart uint64 `json:"pid_start,omitempty"`
	// Exit is the exit code of the last run, -1 if it had none; Signal the signal
	// that ended it, 0 if none did.
	Exit   int `json:"exit"`
	Signal int `json:"signal,omitempty"`
	// Err says for people why the last run failed.
	Err string `json:"err,omitempty"`
	// Log is the file with the output of the last run. It is not there if the
	// command was not found.
	Log string `json:"log,omitempty"`
	// LogDropped is how much of the output was left out of the middle of Log. That is
	// so where the log became larger than the runner's limit. It is known at the end
	// of the run.
	LogDropped profile.Bytes `json:"log_dropped,omitempty"`
}

// ExitDone is the exit code of a task that was stopped for others, see [Task].Restart, and was done all the
// same. With 0 it is only if its last step was the last of all: many programs save their state on SIGTERM
// and exit with 0.
const ExitDone = 79

// Recovery is a step of what is done when memory ran out.
type Recovery int

// The steps, in the order in which they are taken.
const (
	// NoRecovery: memory has not run out.
	NoRecovery Recovery = iota
	// ReservedMore: a larger reservation.
	ReservedMore
	// RanAlone: a GPU of its own.
	RanAlone
)

// Devices are the GPUs of the present or last run; none before the first. O(1).
func (r *Record) Devices() []nvmlx.DeviceID {
	switch {
	case len(r.GPUs) > 0:
		return r.GPUs
	case r.GPU != "":
		return []nvmlx.DeviceID{r.GPU}
	}
	return nil
}

// Overrun is by how much the memory that the present or last run was seen to use exceeds
// what was reserved for it; 0 if it does not, or if nobody knows. O(1).
func (r *Record) Overrun() profile.Bytes { return max(0, r.Peak.Or(0)-r.Reserved) }

// On names the GPUs of the present or last run, separated by commas; empty before the
// first. O(GPUs).
func (r *Record) On() string {
	var names []string
	for _, id := range r.Devices() {
		names = append(names, string(id))
	}
	return strings.Join(names, ",")
}

// The names of enumerations, in the order of their constants.
//
//nolint:gochecknoglobals // read-only tables
var (
	stateNames    = enum.Of("queue: state", "queued", "starting", "running", "succeeded", "failed", "cancelled")
	recoveryNames = enum.Of("queue: step of recovery", "none", "reserve more", "alone")
)

// String returns the name of the state, such as "queued".
func (s State) String() string { return stateNames.Text(int(s)) }

// MarshalText writes what String returns; an undefined state is an error.
func (s State) MarshalText() ([]byte, error) { return stateNames.Marshal(int(s)) }

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(name []byte) error { return enum.Parse(stateNames, name, s) }

// String returns what is done, such as "reserve more".
func (r Recovery) String() string { return recoveryNames.Text(int(r)) }

// MarshalText writes what String returns; an undefined step is an error.
func (r Recovery) MarshalText() ([]byte, error) { return recoveryNames.Marshal(int(r)) }

// UnmarshalText reads what MarshalText writes, and the step of queues of before that took another way to share.
func (r *Recovery) UnmarshalText(name []byte) error {
	if string(name) == "another mechanism" {
		*r = ReservedMore
		return nil
	}
	return enum.Parse(recoveryNames, name, r)
}
