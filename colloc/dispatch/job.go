package dispatch

import (
	"fmt"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// Job is a task with what a scheduler knows of it beside what it needs. Priority is its class:
// no job starts while one of a higher class could instead, and of lower classes those stop
// for it that say Restart. Home and MoveCost are not looked at.
//
// A task of which neither Profile nor Reserved is told reserves half of the largest GPU, until
// enough is seen of it or of others of its Kind.
type Job struct {
	colloc.Task
	// User is whose it is: see [Limits].
	User string
	// Fixed says that Reserved stands, whatever is seen of the job or of others of its Kind, as
	// long as it does not use more.
	Fixed bool
	// Left is how long it would still run without company on a GPU of pace 1, as predicted;
	// missing means that nobody knows. Then those of its Kind teach it.
	Left profile.Opt[time.Duration]
	// Done is how much of it is behind it, in the same measure.
	Done profile.Opt[time.Duration]
	// Came is when it came, by the clock of Tell, for who tells everything anew; missing is when it is told of.
	Came profile.Opt[time.Duration]
	// Restart is what it costs to stop it and start it again. Missing means that it is never
	// stopped to make room or to move.
	Restart profile.Opt[time.Duration]
	// After are jobs that must end before it starts.
	After []Dependency
}

// Dependency is a job for which another waits. The job must be known when the one that
// waits is submitted: who names one that is over leaves the dependency out.
type Dependency struct {
	Job string `json:"job"`
	// Any says that it does not matter how it ends. Otherwise it must be [Done]; if it ends in
	// another way the job that waits is given up.
	Any bool `json:"any,omitempty"`
}

// check reports what is wrong with a job as far as no Mind is needed.
func (j *Job) check() error {
	for _, x := range [...]struct {
		field string
		value profile.Opt[time.Duration]
	}{{"Left", j.Left}, {"Done", j.Done}, {"Restart", j.Restart}} {
		if v := x.value.Or(0); v < 0 {
			return fmt.Errorf("%w: %s is %v; want 0 or more", ErrInvalid, x.field, v)
		}
	}
	for _, a := range j.After {
		if a.Job == j.ID {
			return fmt.Errorf("%w: it comes after itself", ErrInvalid)
		}
	}
	return nil
}

// untold reports whether nothing is known of the memory that the job needs.
func (j *Job) untold() bool { return j.Profile == nil && j.Reserved == 0 }
