package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// Task is a command that somebody wants to run. Only Command is required.
type Task struct {
	// Name is what people call it, at most [MaxName] bytes.
	Name string `json:"name,omitempty"`
	// Kind is one word for tasks that need and do the same: what was seen of one counts
	// for all of them, whoever submits them. Empty is a kind of its own for each command.
	Kind string `json:"kind,omitempty"`
	// Command is the program and its arguments; with Shell the first is a script of
	// /bin/sh and the others are $1, $2 and so on.
	Command []string `json:"command"`
	Shell   bool     `json:"shell,omitempty"`
	// Dir is where it runs, an absolute path; Env its whole environment, KEY=value.
	Dir string   `json:"dir"`
	Env []string `json:"env,omitempty"`
	// Umask is the mode bits that files it makes do not get; missing is 077.
	Umask profile.Opt[uint32] `json:"umask,omitzero"`
	// Limits are the process's resource limits by the names of ulimit's manual: core, cpu,
	// data, fsize, memlock, nofile, nproc, rss, stack, as.
	Limits map[string]Limit `json:"limits,omitempty"`
	// GPUs is how many it takes at once; 0 means 1.
	GPUs int `json:"gpus,omitempty"`
	// Memory is what to reserve on each; 0 lets the station find out.
	Memory profile.Bytes `json:"memory,omitempty"`
	// Alone forbids sharing.
	Alone bool `json:"alone,omitempty"`
	// MaxSlowdown is how much slower it may run beside others, at least 1; 0 is the
	// station's default.
	MaxSlowdown float64 `json:"max_slowdown,omitempty"`
	// CPUs is how many threads its libraries are told to use; 0 is a fair share.
	CPUs int `json:"cpus,omitempty"`
	// Time is how long a run may take; 0 is without limit.
	Time Duration `json:"time,omitempty"`
	// Class is its priority class, one of the station's; empty is the middle one.
	Class string `json:"class,omitempty"`
	// After are jobs that must be over before, with Any however they ended: by their IDs,
	// or "#2" for the second task of the same request.
	After []queue.Dependency `json:"after,omitempty"`
	// Retries is how often it runs again after a failure.
	Retries int `json:"retries,omitempty"`
	// Restart is what it costs to stop it and start it again, which goes on from what it saved: it may be
	// stopped for others. Missing is never, unless it tells so itself, see [queue.Task].
	Restart profile.Opt[Duration] `json:"restart,omitzero"`
	// Held makes it wait until it is released.
	Held bool `json:"held,omitempty"`
	// Progress says how to follow its steps; the zero value finds the usual ways.
	Progress queue.Progress `json:"progress,omitzero"`
}

// Limit is a resource limit; -1 is none.
type Limit struct {
	Soft int64 `json:"soft"`
	Hard int64 `json:"hard"`
}

// Submission is the body of POST /v1/jobs: all of its tasks are taken, or none.
type Submission struct {
	Tasks []Task `json:"tasks"`
}

// Most bounds the request, see [wire.Bounded].
func (*Submission) Most() map[string]int { return map[string]int{"tasks": MaxTasks, "": maxValues} }

// Stream reads the request task by task, see [wire.Streamed]: tasks in a row with the same
// environment have it in memory once.
func (s *Submission) Stream() (key string, next func(*json.Decoder) error) {
	s.Tasks = nil
	var last []string
	return "tasks", func(d *json.Decoder) error {
		var t Task
		err := d.Decode(&t)
		if slices.Equal(t.Env, last) {
			t.Env = last
		}
		last, s.Tasks = t.Env, append(s.Tasks, t)
		return err
	}
}

// What a station takes at most.
const (
	// MaxName is the length of a name or kind in bytes.
	MaxName = 200
	// MaxAfter is for how many jobs one waits.
	MaxAfter = 1000
	// MaxTasks is how many tasks come in one request, or IDs of jobs.
	MaxTasks = 10_000
	// MaxIDs is how many jobs one request waits for.
	MaxIDs = 1000
	// MaxRetries is how often a task runs again: each run leaves its output.
	MaxRetries = 1000
	// MaxBody is the length of a request.
	MaxBody = 64 * profile.MiB
	// MaxArguments is the length of a task's command and environment together, which the
	// kernel limits too.
	MaxArguments = profile.MiB
	// maxValues is how many values a request holds, of 16 bytes each.
	maxValues = int(MaxBody / 16)
)

// Duration is a time.Duration that JSON gives as text: "1h30m0s".
type Duration time.Duration

// String returns the duration as text.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes what String returns.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "90s", "1h30m" and the like.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q: want 90s, 1h30m or the like", text)
	}
	*d = Duration(parsed)
	return nil
}
