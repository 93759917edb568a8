package gain

import (
	"time"

	"example.com/colloc/predict"
)

const (
	format  = "colloc gain"
	version = 1
)

// Report is what sharing would have gained. Its JSON form is stable: Version grows when a
// field changes its meaning.
type Report struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	// Total is the whole site, Pools are the parts between which no job could move.
	Total Gain   `json:"total"`
	Pools []Pool `json:"pools"`
	// Known says how much was known of the jobs.
	Known Known `json:"known"`
	// Together are the kinds of jobs that would have shared most, at most 20.
	Together []Together `json:"together"`
	// Pairs are all jobs that would have shared, in the order in which they came together.
	// They are of the replication that is the history as it was.
	Pairs []Pair `json:"-"`
	// Assumed are sentences.
	Assumed []string `json:"assumed"`
}

// Pool is GPUs of one product, and the jobs that ran there.
type Pool struct {
	// Name is the product, or the site's word for it, Partitions are whose jobs ran there.
	Name       string   `json:"name"`
	Partitions []string `json:"partitions,omitempty"`
	// Alone says why nothing shares here; empty if it does.
	Alone string `json:"alone,omitempty"`
	Gain
}

// Gain compares a history with sharing and without.
type Gain struct {
	GPUs int `json:"gpus"`
	Jobs int `json:"jobs"`
	// Recorded is what the site had.
	Recorded Times `json:"recorded"`
	// Without and With are the replays.
	Without Times `json:"without"`
	With    Times `json:"with"`
	// SavedHours are GPU hours that no job would have occupied, SavedShare the part of all.
	// SavedWaiting are the hours that jobs would have waited less, all together.
	// EndedEarlier are the hours by which jobs would have ended earlier, waiting and
	// slowdown together.
	SavedHours   predict.Estimate `json:"saved_gpu_hours"`
	SavedShare   predict.Estimate `json:"saved_share"`
	SavedWaiting predict.Estimate `json:"saved_waiting_hours"`
	EndedEarlier predict.Estimate `json:"ended_earlier_hours"`
	// Shared is the part of the jobs that would have shared. Slowdown is how much longer
	// these would have run on average, 1 or more. Later is the part of the jobs that would
	// have ended later, by 5 % of their run time and a minute at least. Died are runs that
	// would have run out of memory, for each job.
	Shared   float64 `json:"shared"`
	Slowdown float64 `json:"slowdown"`
	Later    float64 `json:"later"`
	Died     float64 `json:"died"`
}

// Times are sums and means of a history, in hours.
type Times struct {
	// GPUHours is for how long GPUs were occupied.
	GPUHours float64 `json:"gpu_hours"`
	// Waited is the mean waiting time of a job, Turnaround that from submission to end.
	Waited     float64 `json:"waited_hours"`
	Turnaround float64 `json:"turnaround_hours"`
}

// Known counts jobs by what was known of them.
type Known struct {
	// Watched were observed. Alike were not, but others of their kind were. Prior are as
	// Options.Prior says. Unknown run alone, and so do those that were the First of their
	// kind.
	Watched int `json:"watched"`
	Alike   int `json:"alike"`
	Prior   int `json:"prior"`
	Unknown int `json:"unknown"`
	First   int `json:"first_of_kind"`
	// Outside lie before From or after Until, or ran on a product of which Options.Cluster
	// has no GPU, or not enough.
	Outside int `json:"outside"`
}

// Together are two kinds of jobs that would have shared GPUs.
type Together struct {
	A string `json:"a"`
	B string `json:"b"`
	// Times is how often, Hours for how long on each GPU, in all.
	Times int     `json:"times"`
	Hours float64 `json:"gpu_hours"`
}

// Pair are two jobs that would have shared a GPU.
type Pair struct {
	A, B string
	// Pool is where, Hours for how long, on each GPU that they would have shared, in all.
	Pool  string
	Hours float64
}
