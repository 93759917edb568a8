package api

import (
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// State is a station at one moment: what top, the status page and metrics show.
type State struct {
	// At is when, Since when the daemon started, Version what it was built from.
	At      time.Time `json:"at"`
	Since   time.Time `json:"since"`
	Version string    `json:"version,omitempty"`
	// Draining says that nothing starts any more; Warnings are what people should know,
	// the latest last.
	Draining bool      `json:"draining,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
	// GPUs are in the order of their numbers, Users by name. Active are the jobs that
	// hold GPUs, in the order of their starts. Queue are those that wait, the next one
	// first; only the first [MaxQueue] are listed.
	GPUs   []GPU  `json:"gpus"`
	Users  []User `json:"users"`
	Active []Job  `json:"active"`
	Queue  []Job  `json:"queue"`
	// Count counts the jobs by what became of them, since the history began.
	Count Count `json:"count"`
}

// MaxQueue is how many of the jobs that wait a State lists.
const MaxQueue = 100

// Count is how many jobs there are of each state.
type Count struct {
	Queued    int `json:"queued"`
	Held      int `json:"held"` // of those that are queued
	Running   int `json:"running"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// Warning is something that people should know.
type Warning struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// GPU is one card, or MIG instance, of the host.
type GPU struct {
	Index int            `json:"index"`
	ID    nvmlx.DeviceID `json:"id"`
	Name  string         `json:"name"`
	// Memory is all of it, Usable what tasks may have of it. Reserved is what is set
	// aside for them, Used what is in use by everybody.
	Memory   profile.Bytes              `json:"memory"`
	Usable   profile.Bytes              `json:"usable"`
	Reserved profile.Bytes              `json:"reserved"`
	Used     profile.Opt[profile.Bytes] `json:"used,omitzero"`
	// Busy is the share of time with work, in [0, 1].
	Busy profile.Opt[float64] `json:"busy,omitzero"`
	// Mechanism is how its jobs share it; Jobs are their IDs.
	Mechanism profile.Mechanism `json:"mechanism"`
	Jobs      []string          `json:"jobs,omitempty"`
	// Lost says that it does not answer, Drained that no job starts there any more.
	Lost    bool `json:"lost,omitempty"`
	Drained bool `json:"drained,omitempty"`
	// For is the only user whose jobs start there, until Until; empty is everybody.
	For   string    `json:"for,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// User is what one user has, had and waits for.
type User struct {
	Name string `json:"name"`
	UID  uint32 `json:"uid"`
	// Weight is how much of the station is due to the user, compared with others. Share
	// is what that is of the whole among those who want it now. Had is what the user had
	// of late. Both lie in [0, 1].
	Weight float64 `json:"weight"`
	Share  float64 `json:"share"`
	Had    float64 `json:"had"`
	// Queued, Held, Running, Succeeded, Failed and Cancelled count the user's jobs.
	Count

	// GPUSeconds is the GPU time used, a shared GPU counted by halves, thirds and so on;
	// SavedSeconds what sharing saved of it: how much longer the same work would have
	// taken one after the other.
	GPUSeconds   float64 `json:"gpu_seconds"`
	SavedSeconds float64 `json:"saved_seconds"`
	// WaitSeconds is the time that jobs waited before they started, Started how many did.
	WaitSeconds float64 `json:"wait_seconds"`
	Started     int     `json:"started"`
	// OutOfMemory counts runs that ran out of the GPU's memory, Overruns jobs that were
	// stopped because they used more than was reserved for them.
	OutOfMemory int `json:"out_of_memory"`
	Overruns    int `json:"overruns"`
}

// GPURequest is the body of POST /v1/gpus/{verb}. No GPUs means the whole station.
type GPURequest struct {
	// GPUs are numbers or IDs.
	GPUs []string `json:"gpus,omitempty"`
	// User and Until are for reserve: who may still start jobs there, empty is who asks,
	// and how long.
	User  string    `json:"user,omitempty"`
	Until time.Time `json:"until,omitzero"`
}
