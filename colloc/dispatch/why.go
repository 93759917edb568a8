package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	// Refusals: it was refused too often, the last time on Name, a GPU. It starts nowhere until Until.
	Refusals
	// OverQuota: its user, Name, has spent what Limits.Quota says. Until is when that lifts, unless it is 0.
	OverQuota
	// OverLimit: its user, Name, has as many jobs or GPUs as Limits says, or it wants more.
	OverLimit
	// ForOthers: it must not start on some GPUs, and the others are too few. Name is one of them,
	// Detail says why. Until is when the first may take it, if that is known.
	ForOthers
	// OutOfTurn: GPUs are taken, and Ahead jobs of other users go first. They had less of what
	// is due to them.
	OutOfTurn
	// Room: Placing says what keeps it from starting.
	Room
)

// Reason says why a job waits, and what would lift that.
type Reason struct {
	Job  string `json:"job"`
	Code Code   `json:"code"`
	// Name is the job, GPU or user that Code speaks of.
	Name string `json:"name,omitempty"`
	// Until is when it lifts by itself.
	Until profile.Opt[time.Duration] `json:"until_ns,omitzero"`
	// Detail is what the body said when it refused, or why a run stops.
	Detail string `json:"detail,omitempty"`
	// Limits and Used are those of the user, for OverQuota and OverLimit. Jobs of the user run, on
	// GPUs, as Account has them.
	Limits Limits `json:"limits,omitzero"`
	Used   Used   `json:"used,omitzero"`
	Jobs   int    `json:"jobs,omitempty"`
	GPUs   int    `json:"gpus,omitempty"`
	// Ahead is how many jobs go first, for OutOfTurn.
	Ahead int `json:"ahead,omitempty"`
	// Placing is the answer of the Scheduler, for Room, OutOfTurn and ForOthers.
	Placing packer.Reason `json:"placing,omitzero"`
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
	case Refusals:
		return fmt.Sprintf("starts were refused, the last on GPU %q (%s); it is tried again at %v", r.Name, r.Detail, r.Until.Or(0))
	case OverQuota:
		until := ""
		if at, ok := r.Until.Get(); ok {
			until = fmt.Sprintf(": until %v", at)
		}
		return fmt.Sprintf("user %q has spent the %v of GPU time that one may have%s", r.Name, r.Limits.Quota, until)
	case OverLimit:
		return fmt.Sprintf("user %q runs %d jobs on %d GPUs, shared ones counted for each, of the %s that one may have at once", r.Name, r.Jobs, r.GPUs, r.Limits.atOnce())
	case ForOthers:
		return fmt.Sprintf("too few GPUs are left: %s. %s", r.Detail, r.Placing.String())
	case OutOfTurn:
		return fmt.Sprintf("%d jobs of users who had less of their share go first. %s", r.Ahead, r.Placing.String())
	default:
		return r.Placing.String()
	}
}

// atOnce says how much a user may have at once.
func (l *Limits) atOnce() string {
	switch {
	case l.GPUs.IsZero():
		return fmt.Sprintf("%v jobs", l.Jobs)
	case l.Jobs.IsZero():
		return fmt.Sprintf("%v GPUs", l.GPUs)
	}
	return fmt.Sprintf("%v jobs and %v GPUs", l.Jobs, l.GPUs)
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
		if l.job == job && (j.over != 0 || !d.ready(j)) {
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
		r.Code, r.Until = Refusals, profile.Some(j.rest)
		if len(j.shuns) > 0 {
			s := slices.MaxFunc(j.shuns, func(a, b shun) int { return cmp.Compare(a.Until, b.Until) })
			r.Name, r.Detail = s.GPU, s.Why
		}
	case d.whyUser(j, &r):
	default:
		r.Code = Room
		r.Placing, err = d.online.Why(job)
		if !d.whyNotHere(j, &r) {
			d.whyTurn(j, &r)
		}
	}
	return r, err
}

// whyUser says what of the user's limits keeps a job from starting, and whether something does.
func (d *Dispatcher) whyUser(j *entry, r *Reason) bool {
	u := d.users[j.User]
	a := d.account(j.User, u)
	l := &a.Limits
	switch {
	case u.over:
		r.Code, r.Until = OverQuota, d.relief(j.User)
	case l.keep(u, j.Width()):
		r.Code = OverLimit
	default:
		return false
	}
	r.Name, r.Limits, r.Used, r.Jobs, r.GPUs = j.User, a.Limits, a.Used, a.Running, a.GPUs
	return true
}

// whyNotHere says who keeps GPUs from a job that would have enough with them, and whether somebody does.
func (d *Dispatcher) whyNotHere(j *entry, r *Reason) bool {
	if len(j.shunned) == 0 || r.Placing.Code != packer.TooFewGPUs && r.Placing.Code != packer.GPUsDown {
		return false
	}
	r.Code = ForOthers
	var details []string
	sooner := func(at time.Duration) {
		if old, ok := r.Until.Get(); !ok || at < old {
			r.Until = profile.Some(at)
		}
	}
	for _, i := range j.shunned {
		c := d.slots[i]
		if r.Name == "" {
			r.Name = c.gpu.ID
		}
		by := d.keeps(c, &j.Job)
		at := slices.IndexFunc(j.shuns, func(s shun) bool { return s.GPU == c.gpu.ID })
		switch {
		case slices.Contains(j.bars, c.gpu.ID):
			details = append(details, fmt.Sprintf("it is barred from GPU %q", c.gpu.ID))
		case by != nil:
			details = append(details, fmt.Sprintf("GPU %q is reserved%s", c.gpu.ID, by.words()))
			if by.Until > 0 {
				sooner(by.Until)
			}
		case at >= 0:
			details = append(details, fmt.Sprintf("GPU %q refused it (%s)", c.gpu.ID, j.shuns[at].Why))
			sooner(j.shuns[at].Until)
		}
		if len(details) == mostTold {
			break
		}
	}
	r.Detail = strings.Join(details, "; ")
	return true
}

// mostTold is how many GPUs a reason speaks of.
const mostTold = 4

// words says for whom a reservation is.
func (r *Reservation) words() string {
	var out string
	if r.User != "" {
		out += fmt.Sprintf(" for %q", r.User)
	}
	if r.Label != "" {
		out += fmt.Sprintf(" for jobs labelled %q", r.Label)
	}
	if r.From > 0 {
		out += fmt.Sprintf(" from %v", r.From)
	}
	if r.Until > 0 {
		out += fmt.Sprintf(" until %v", r.Until)
	}
	return out
}

// whyTurn says whether jobs of other users go first.
func (d *Dispatcher) whyTurn(j *entry, r *Reason) {
	if d.o.HalfLife == 0 || r.Placing.Code != packer.GPUsTaken {
		return
	}
	for _, o := range d.order {
		if !o.gone && o.run == nil && o.User != j.User && o.Priority == j.Priority && o.tier < j.tier && d.ready(o) {
			r.Ahead++
		}
	}
	if r.Ahead > 0 {
		r.Code = OutOfTurn
	}
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
