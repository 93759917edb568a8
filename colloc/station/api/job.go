package api

import (
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// Job is a task in the queue of a station, as the one who asks may see it.
type Job struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// User is whose it is.
	User string `json:"user"`
	// Kind, Command, Dir, Log and Err are told to its user and to root only.
	Kind    string   `json:"kind,omitempty"`
	Command []string `json:"command,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	Log     string   `json:"log,omitempty"`
	Err     string   `json:"err,omitempty"`
	// State is where it is; Held, that it waits to be released.
	State queue.State `json:"state"`
	Held  bool        `json:"held,omitempty"`
	// Why says, while it is queued, what it waits for.
	Why   string `json:"why,omitempty"`
	Class string `json:"class,omitempty"`
	// Submitted, Started and Ended are times, of the last run; zero before.
	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	// Starts and Ends are when it is expected to, if nothing else comes; missing if nobody knows. They are told but by
	// wait. StartsIn and EndsIn are the earliest and the latest, should all that is left take half as long as is
	// thought, or twice as long.
	Starts   profile.Opt[time.Time] `json:"starts,omitzero"`
	Ends     profile.Opt[time.Time] `json:"ends,omitzero"`
	StartsIn profile.Opt[Between]   `json:"starts_in,omitzero"`
	EndsIn   profile.Opt[Between]   `json:"ends_in,omitzero"`
	// Width is how many GPUs it takes. GPUs are the numbers of those that it has or had in
	// its last run, Product is what they are. Both are empty where these are gone.
	Width   int    `json:"width"`
	GPUs    []int  `json:"gpus,omitempty"`
	Product string `json:"product,omitempty"`
	// Beside are the jobs that share one of its GPUs now.
	Beside []string `json:"beside,omitempty"`
	// Reserved is the memory set aside for it on each, Peak the most that it was seen to
	// use.
	Reserved profile.Bytes              `json:"reserved,omitempty"`
	Peak     profile.Opt[profile.Bytes] `json:"peak,omitzero"`
	// Mechanism is how it shares. Predicted and Speed are its speed beside others as a
	// fraction of that alone: as foretold when it started, as long as nobody came later, and as measured.
	Mechanism profile.Mechanism    `json:"mechanism"`
	Predicted profile.Opt[float64] `json:"predicted,omitzero"`
	Speed     profile.Opt[float64] `json:"speed,omitzero"`
	// Step and Total are its progress.
	Step  profile.Opt[int64] `json:"step,omitzero"`
	Total profile.Opt[int64] `json:"total,omitzero"`
	// Runs counts its runs, OutOfMemory those that ran out of the GPU's memory.
	Runs        int `json:"runs"`
	OutOfMemory int `json:"out_of_memory,omitempty"`
	// Stops counts the runs that were stopped for others, see [Task].Restart; Stopped says of the last for whom
	// and what that gained.
	Stops   int    `json:"stops,omitempty"`
	Stopped string `json:"stopped,omitempty"`
	// Exit and Signal are how the last run ended, if it did.
	Exit   profile.Opt[int] `json:"exit,omitzero"`
	Signal int              `json:"signal,omitempty"`
}

// Between is the earliest and the latest of a time.
type Between struct {
	Lo time.Time `json:"lo"`
	Hi time.Time `json:"hi"`
}

// Query says which jobs to list, the last submitted ones. The zero Query is all that are not
// over.
type Query struct {
	// User is whose; empty is everybody's.
	User string
	// States are the states to list; none means all.
	States []queue.State
	// Ended is how many of those that are over to list, the last ones; negative is all.
	Ended int
	// Before is the ID of a job: only those submitted earlier are listed. Empty is all.
	Before string
	// Limit is how many to list, at most [MaxPage], which 0 stands for.
	Limit int
	// Brief leaves out what a table does not show: Kind, Dir, Log, Err, Class and Why, and
	// Command where there is a Name.
	Brief bool
}

// MaxPage is how many jobs one answer lists.
const MaxPage = 10_000
