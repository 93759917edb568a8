package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Code says what a job waits for.
type Code uint8

// The codes.
const (
	// Runs: it waits for nothing.
	Runs Code = iota + 1
	// Starts: the body was asked to start it.
	Starts
	// Clears: it has its place, and waits for Name, a job that is to stop there first.
	Clears
	// Stops: it was asked to stop.
	Stops
	// OnHold: Released would lift it.
	OnHold
	// Follows: it comes after Name, a job that is not over.
	Follows
	// Shunned: a start on Name, a GPU, was refused, until Until.
	Shunned
	// Room: Placing says what keeps it from starting.
	Room
)

// String returns a word such as "on hold".
func (c Code) String() string {
	if c < Runs || c > Room {
		return "unknown"
	}
	return [...]string{"runs", "starts", "clears", "stops", "on hold", "follows", "shunned", "room"}[c-Runs]
}

// Reason says why a job waits, and what would lift that.
type Reason struct {
	Job  string
	Code Code
	// Name is the job or GPU that Code speaks of.
	Name string
	// Until is when it lifts by itself.
	Until profile.Opt[time.Duration]
	// Detail is what the body said when it refused, or why a run stops.
	Detail string
	// Placing is the answer of the Scheduler, where Code is Room.
	Placing packer.Reason
}

// String is the reason in a sentence.
func (r *Reason) String() string {
	switch r.Code {
	case Runs:
		return "it runs"
	case Starts:
		return "it was asked to start"
	case Clears:
		return fmt.Sprintf("its place is decided: job %q stops there first", r.Name)
	case Stops:
		return "it was asked to stop: " + r.Detail
	case OnHold:
		return "it is held, until it is released"
	case Follows:
		return fmt.Sprintf("it comes after job %q, which is not over", r.Name)
	case Shunned:
		return fmt.Sprintf("a start on GPU %q was refused (%s); it is tried again at %v", r.Name, r.Detail, r.Until.Or(0))
	default:
		return r.Placing.String()
	}
}

// Why says why a job waits, as things are now. The error is [ErrUnknown], or what the Mind says.
// It changes no later answer. It costs a look at each job and GPU, as [online.Scheduler.Why].
func (d *Dispatcher) Why(job string) (Reason, error) {
	j, err := d.job(job)
	if err != nil {
		return Reason{}, fmt.Errorf("dispatch: why: %w %q", err, job)
	}
	r := Reason{Job: job}
	if run := j.run; run != nil {
		switch run.phase {
		case granted:
			r.Code, r.Name = Clears, d.before(run)
		case starting:
			r.Code, r.Until = Starts, profile.Some(run.due)
		default:
			r.Code = Runs
		}
		return r, nil
	}
	for _, l := range d.leaves {
		if l.job == job && (j.over != 0 || !j.ready()) {
			r.Code, r.Detail = Stops, l.why
			return r, nil
		}
	}
	switch {
	case j.held:
		r.Code = OnHold
	case len(j.After) > 0:
		r.Code, r.Name = Follows, j.After[0].Job
	case j.rest > 0:
		r.Code, r.Until = Shunned, profile.Some(j.rest)
		if len(j.shuns) > 0 {
			s := slices.MaxFunc(j.shuns, func(a, b shun) int { return cmp.Compare(a.Until, b.Until) })
			r.Name, r.Detail = s.GPU, s.Why
		}
	default:
		r.Code = Room
		r.Placing, err = d.online.Why(job)
	}
	return r, err
}

// before is a job that is to stop where a run is to start.
func (d *Dispatcher) before(r *run) string {
	for _, o := range d.leaves {
		if o.job == r.job || slices.ContainsFunc(o.gpus, func(id string) bool { return slices.Contains(r.gpus, id) }) {
			return o.job
		}
	}
	return ""
}
