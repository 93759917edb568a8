package journal

import (
	"time"

	"example.com/colloc/profile"
)

// Snapshot is a site at one moment.
type Snapshot struct {
	At   time.Time
	GPUs []GPU
	// Jobs wait or run; one that is no longer among them has ended.
	Jobs []Job
}

// GPU is one card.
type GPU struct {
	ID string `json:"id"`
	// Node is the machine, Product what it is, as profile.LookupGPU knows it, or in the site's
	// words.
	Node    string `json:"node,omitempty"`
	Product string `json:"product"`
	// Memory is the card's total; 0 is the product's.
	Memory profile.Bytes `json:"memory,omitempty"`
	// Down says that nothing new can start there.
	Down bool `json:"down,omitempty"`
}

// Job is a job of the site's scheduler, or a process that somebody started.
type Job struct {
	ID        string `json:"id"`
	User      string `json:"user,omitempty"`
	Name      string `json:"name,omitempty"`
	Partition string `json:"partition,omitempty"`
	// Submitted is when it began to wait, Started when it ran; zero while it waits.
	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started,omitzero"`
	// GPUs is how many it wants or has, Product of which, if it says so. On are the IDs of
	// those that it has, as far as anybody knows.
	GPUs    int      `json:"gpus"`
	Product string   `json:"product,omitempty"`
	On      []string `json:"on,omitempty"`
	// Busy is the part of the time or of the SMs that it uses now of each of its GPUs. Memory
	// is what it takes of each.
	Busy   profile.Opt[float64]       `json:"busy,omitzero"`
	Memory profile.Opt[profile.Bytes] `json:"memory,omitzero"`
}

const (
	format  = "colloc shadow journal"
	version = 1
)

// header is the first line of a file.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// entry is any other line.
type entry struct {
	At   time.Time `json:"at"`
	Full bool      `json:"full,omitempty"`
	GPUs []GPU     `json:"gpus,omitempty"` // all, if one changed
	Jobs []Job     `json:"jobs,omitempty"` // those that changed
	Gone []string  `json:"gone,omitempty"`
}
