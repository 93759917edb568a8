package queue

import (
	"time"

	"example.com/colloc/profile"
)

// Task is one command to run on one GPU, or on several at once.
type Task struct {
	// ID names the task, unique in the queue. Empty means a number that Submit
	// chooses: the place in the order of submission, from "1".
	ID string `json:"id"`
	// Name is what people call it. Kind is what is said of tasks that need and do the
	// same. Neither need be unique, and a Runner goes by neither.
	Name string `json:"name,omitempty"`
	Kind string `json:"kind,omitempty"`
	// Owner is the user that it runs as, in that user's folder, with Env and nothing else
	// for its environment but what the runner adds; nil is the runner's own. One of another
	// user takes a runner that is root, whose Config.Dir users may pass through.
	Owner *Owner `json:"owner,omitempty"`
	// Command is the program and its arguments. The program is looked up in the
	// PATH of the task's environment unless it holds a slash.
	Command []string `json:"command"`
	// Shell runs Command[0] as a script of /bin/sh, with the other elements as
	// $1, $2 and so on.
	Shell bool `json:"shell,omitempty"`
	// Dir is where it runs; empty means the folder this process runs in when the
	// task is submitted.
	Dir string `json:"dir,omitempty"`
	// Env is added to what it inherits from the runner's Config.Env, KEY=value; it wins over
	// everything but the choice of the GPU. It is kept in the queue file.
	Env []string `json:"-"`
	// Profile is what is known of the task; nil is nothing.
	Profile *profile.Profile `json:"-"`
	// Memory is what to reserve for it; 0 lets the Planner predict it from the
	// Profile. A task of which neither tells anything gets a GPU of its own, or a share of one.
	// It is at most what the largest GPU offers when it is empty.
	Memory profile.Bytes `json:"memory,omitempty"`
	// MaxSlowdown is solo speed over collocated speed that it bears, at least 1. 0 means
	// the Planner's default. +Inf is no limit, which a record gives as the largest
	// number.
	MaxSlowdown float64 `json:"max_slowdown,omitempty"`
	// Alone forbids sharing.
	Alone bool `json:"alone,omitempty"`
	// GPUs is how many GPUs it takes at once, all of one product and all or none of
	// them. 0 means 1. With several it shares with nobody where MPS is allowed, and Memory and the
	// Profile are of each. CUDA_VISIBLE_DEVICES names all. MASTER_ADDR and MASTER_PORT, where
	// nobody set them, let its processes find each other apart from other tasks'.
	GPUs int `json:"gpus,omitempty"`
	// CPUs is how many threads each of its numeric libraries and how many data
	// loader workers it is told to use; 0 means an equal share of the runner's Config.CPUs
	// for each task that fits on the GPUs. Variables that Env or the runner's Config.Env
	// set already stay.
	CPUs int `json:"cpus,omitempty"`
	// Priority: larger starts first.
	Priority int `json:"priority,omitempty"`
	// Held keeps it from starting until Runner.Release.
	Held bool `json:"held,omitempty"`
	// After are tasks that must be over before this one starts.
	After []Dependency `json:"after,omitempty"`
	// Retries is how often it is run again after a failure. Recoveries from lack
	// of memory and runs lost with a GPU do not count.
	Retries int `json:"retries,omitempty"`
	// Restart is what it costs to stop the task and start it again, which goes on from what it saved:
	// it may be stopped for others, or to run elsewhere, and is queued again. It gets SIGTERM, the
	// runner's Config.Grace, then SIGKILL, and COLLOC_RESTARTS says how often that was. Missing is
	// never, unless the task writes it, as "90s" or in seconds, into the file that COLLOC_RESTART names.
	Restart profile.Opt[time.Duration] `json:"restart,omitzero"`
	// Timeout is how long one run may take; 0 is without limit.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Progress says how to follow the steps it takes.
	Progress Progress `json:"progress,omitzero"`
}

// Dependency makes a task wait for another one.
type Dependency struct {
	// Task is the ID of the other, which must be in the queue already or be
	// submitted in the same call.
	Task string `json:"task"`
	// Any accepts every end. Otherwise the other must succeed, and if it does not,
	// the task that waits is cancelled.
	Any bool `json:"any,omitempty"`
}

// Progress says how a task tells how far it is. The zero value follows the
// file that the environment variable COLLOC_PROGRESS names, if the task writes
// it: the steps done so far, a blank, and all steps if known ("120 1000").
type Progress struct {
	// Pattern is a regular expression (package regexp) for lines of output, with
	// named groups: step, the steps done so far; total, all of them; seconds, the
	// time of one step; rate, steps per second. One of step, seconds and rate is
	// needed. What is repeated counts as if it were written out, and the whole may
	// have about 5,000 letters and operators.
	Pattern string `json:"pattern,omitempty"`
	// Total is the number of steps, if the task does not tell.
	Total int64 `json:"total,omitempty"`
}

// Width is how many GPUs the task takes at once, at least one.
func (t *Task) Width() int { return max(1, t.GPUs) }
