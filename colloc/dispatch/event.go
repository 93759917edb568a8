package dispatch

import (
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// Event is something that happened: one of the types of this file.
type Event interface {
	// name is the job, GPU or user that it is about.
	name() string
	apply(d *Dispatcher) error
}

type (
	// Submitted says: a job came. It waits in the order of arrival.
	Submitted struct{ Job Job }

	// Adopted says: a job runs already, when the body tells everything anew, or because somebody else
	// started it. Run is its number, above 0; later starts get higher ones.
	Adopted struct {
		Job  Job
		Run  uint64
		GPUs []string
	}

	// Held says: a job must not start, but keeps its turn. One that runs goes on.
	Held struct{ Job string }

	// Released ends Held.
	Released struct{ Job string }

	// Described says: more is known of a job, which waits or runs on. It replaces what was said
	// before, but for After, and keeps its user and its number of GPUs.
	Described struct{ Job Job }

	// Barred says: a job must not start on these GPUs, for as long as they are there. They replace those
	// named before; none lets it go anywhere.
	Barred struct {
		Job  string
		GPUs []string
	}

	// Withdrawn says: a job is no longer wanted. One that runs stops.
	Withdrawn struct{ Job string }

	// Started says: a run that Decide asked for has begun.
	Started struct {
		Job string
		Run uint64
	}

	// Stays says: a stop that Decide asked for cannot be carried out now, for the body was refused it. A run
	// that was to stop for others, or to move, goes on, and is not asked to for a while, longer each time;
	// what was to start in its place waits again. One that is no longer wanted is asked to stop again then.
	Stays struct {
		Job string
		Run uint64
	}

	// Refused says: a run that Decide asked for did not begin. The job keeps its turn and does not
	// go to those GPUs for a while, nor anywhere once it was refused four times in a row.
	Refused struct {
		Job string
		Run uint64
		Why string
	}

	// Ended says: a run is over, asked for or not.
	Ended struct {
		Job string
		Run uint64
		How How
		// Peak is the most memory that it was seen to use on a GPU.
		Peak profile.Opt[profile.Bytes]
		// Left is what is left of a job that will go on. Missing means all that was left when
		// this run began. After a stop that Decide asked for it means what the predicted speeds say.
		Left profile.Opt[time.Duration]
	}

	// Seen says: the peak memory of a job on each of its GPUs, once it has run for long enough to
	// show it, and whenever it grows.
	Seen struct {
		Job  string
		Run  uint64
		Peak profile.Bytes
	}

	// Progress says how far a job is, as its own output shows: either Left, how long it would still run
	// without company on a GPU of pace 1, or Ends, after how long it ends as it runs now. By itself it
	// is no reason to decide anew.
	Progress struct {
		Job  string
		Run  uint64
		Left profile.Opt[time.Duration]
		Ends profile.Opt[time.Duration]
	}

	// GPUAdded says: a GPU, or a MIG instance, came. Its Residents are not looked at: tell of them by
	// Adopted and Foreign. Machine is the number of the machine that it is in, from 0.
	GPUAdded struct {
		GPU     colloc.GPU
		Machine int
	}

	// GPUChanged says: a GPU has other labels, memory or ways to share. What runs there runs on.
	GPUChanged struct{ GPU colloc.GPU }

	// GPURemoved says: a GPU went for good, with what ran there.
	GPURemoved struct{ GPU string }

	// GPUFailed says: a GPU is out of service. What ran there is lost and waits again.
	GPUFailed struct{ GPU string }

	// GPURestored says: it is back, empty, and not drained.
	GPURestored struct{ GPU string }

	// Drained says: no job starts on a GPU any more, or jobs may again.
	Drained struct {
		GPU string
		Off bool
	}

	// Reserved says: for whom a GPU is kept, and when. It replaces what was said before; none lifts it.
	Reserved struct {
		GPU string
		For []Reservation
	}

	// Foreign says: how much memory of a GPU is in use by processes that are no jobs.
	Foreign struct {
		GPU    string
		Memory profile.Bytes
	}

	// Allowed says: what a user may have. User "" stands for all of whom nothing else is told.
	Allowed struct {
		User   string
		Limits Limits
	}

	// Elsewhere says: how many jobs of a user run where the Dispatcher does not look, on how many
	// GPUs, one that is shared counted for each. It replaces what was said before. They count for the
	// limits and the turn of the user, and take no GPU time of a quota: that is told by Accounted.
	Elsewhere struct {
		User string
		Jobs int
		GPUs int
	}

	// Accounted says: what a user had so far, as it was kept elsewhere. It replaces the account.
	Accounted struct {
		User string
		Used Used
	}

	// Learned says: the Mind predicts better than before. What waits and says no memory of its own
	// reserves what it now predicts.
	Learned struct{}
)

// How is how a run ended.
type How uint8

// The ways to end. After Done and Failed the job is over; after the others it waits again.
const (
	// Done: its work is done.
	Done How = iota + 1
	// Failed: it cannot go on. It teaches no length.
	Failed
	// OutOfMemory: it wanted more memory than it got. It reserves half as much again as it had or
	// was seen to use, then has a GPU alone, then the largest alone, and is then given up. Others of its
	// Kind that wait reserve as much, until something was seen of the Kind.
	OutOfMemory
	// Stopped: it was stopped, by an action or otherwise.
	Stopped
	// Lost: its GPU or machine went away, or nobody knows.
	Lost
)

func (e Submitted) name() string   { return e.Job.ID }
func (e Adopted) name() string     { return e.Job.ID }
func (e Held) name() string        { return e.Job }
func (e Released) name() string    { return e.Job }
func (e Described) name() string   { return e.Job.ID }
func (e Barred) name() string      { return e.Job }
func (e Withdrawn) name() string   { return e.Job }
func (e Started) name() string     { return e.Job }
func (e Stays) name() string       { return e.Job }
func (e Refused) name() string     { return e.Job }
func (e Ended) name() string       { return e.Job }
func (e Seen) name() string        { return e.Job }
func (e Progress) name() string    { return e.Job }
func (e GPUAdded) name() string    { return e.GPU.ID }
func (e GPUChanged) name() string  { return e.GPU.ID }
func (e GPURemoved) name() string  { return e.GPU }
func (e GPUFailed) name() string   { return e.GPU }
func (e GPURestored) name() string { return e.GPU }
func (e Drained) name() string     { return e.GPU }
func (e Reserved) name() string    { return e.GPU }
func (e Foreign) name() string     { return e.GPU }
func (e Allowed) name() string     { return e.User }
func (e Elsewhere) name() string   { return e.User }
func (e Accounted) name() string   { return e.User }
func (Learned) name() string       { return "" }
