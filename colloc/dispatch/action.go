package dispatch

import (
	"time"

	"example.com/colloc/profile"
)

// Verb is what is to be done.
type Verb uint8

// The verbs.
const (
	// Start a run, and tell Started or Refused by Due.
	Start Verb = iota + 1
	// Stop a run, and tell Ended. It is asked for again until that is told.
	Stop
	// GiveUp: the job is over and will never start. Nothing is to be told.
	GiveUp
)

// Action is one thing to do, in the order of the list. A job that moves is stopped, and
// starts elsewhere once that is told.
type Action struct {
	Verb Verb   `json:"verb"`
	Job  string `json:"job"`
	// Run is the number of the run; 0 for GiveUp.
	Run uint64 `json:"run,omitempty"`
	// GPUs are where it starts, or runs.
	GPUs []string `json:"gpus,omitempty"`
	// Mechanism is how it shares those GPUs, Reserve what is set aside for it on each.
	Mechanism profile.Mechanism `json:"mechanism,omitempty"`
	Reserve   profile.Bytes     `json:"reserve_bytes,omitempty"`
	// Speed is what is predicted, as a share of its speed alone; Gain is what it adds to the
	// throughput of its GPUs.
	Speed float64 `json:"speed,omitempty"`
	Gain  float64 `json:"gain,omitempty"`
	// Due is when a start that is not answered counts as lost.
	Due time.Duration `json:"due_ns,omitempty"`
	// For are the jobs that are to run on the GPUs of a stop instead, as far as is decided, the job itself
	// where it moves and they are its new ones. Gain is then what they add less what it added.
	For []string `json:"for,omitempty"`
	// Why says why a job is stopped or given up.
	Why string `json:"why,omitempty"`
}
