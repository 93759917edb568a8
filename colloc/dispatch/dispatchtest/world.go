package dispatchtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/profile"
)

// World is a cluster that pretends. A body learns by Events what happened, and acts by Do.
type World struct {
	rng    *rand.Rand
	now    time.Duration
	calm   bool // no more faults
	prompt bool // every start and stop is carried out, and nothing comes late
	cards  []*card
	jobs   []*job
	away   int // GPUs that ann has elsewhere
	script []change
	out    []letter
	saved  []byte
	log    []string
	faults []string
	fresh  []*job // that started in this turn
}

// card is a GPU as it is.
type card struct {
	colloc.GPU
	machine         int
	failed, drained bool
	foreign         profile.Bytes
}

// offers is what may be promised of it.
func (c *card) offers() profile.Bytes { return colloc.Usable(c.Total(), headroom) - c.foreign }

const headroom = 0.1

// limits are those of the users. Whoever starts one of ann's jobs must see to them.
var limits = map[string]dispatch.Limits{"ann": {GPUs: profile.Some(5), Weight: 2}, "bob": {Jobs: profile.Some(12)}} //nolint:gochecknoglobals // read-only

// job is a job as it is.
type job struct {
	dispatch.Job
	told    bool // to the body
	held    bool
	over    string // done, withdrawn or given up
	left    time.Duration
	peak    profile.Bytes
	life    *life
	shunned []string // where a start was refused, lately
	shunAt  time.Duration
}

// life is a run.
type life struct {
	number   uint64
	gpus     []string
	began    time.Duration
	promised profile.Bytes
	seen     bool
	done     bool // Ended was sent
}

// letter is an event on its way.
type letter struct {
	at    time.Duration
	event dispatch.Event
}

// change is what happens by itself.
type change struct {
	at time.Duration
	do func(w *World)
}

// Now is the time.
func (w *World) Now() time.Duration { return w.now }

// Events returns what the body has come to hear since the last call, some of it late, twice or
// out of order.
func (w *World) Events() []dispatch.Event {
	slices.SortStableFunc(w.out, func(a, b letter) int { return int(a.at - b.at) })
	var due []dispatch.Event
	for len(w.out) > 0 && w.out[0].at <= w.now {
		due = append(due, w.out[0].event)
		w.out = w.out[1:]
	}
	return due
}

// Save keeps what a body will find after it restarts, by Saved.
func (w *World) Save(state []byte) { w.saved = slices.Clone(state) }

// Saved is what was saved before the body restarted; nil if nothing was, or if it was lost: then
// Everything tells how things are.
func (w *World) Saved() []byte { return w.saved }

// Everything tells a body that knows nothing how things are. What was on its way is in it.
func (w *World) Everything() []dispatch.Event {
	w.out = slices.DeleteFunc(w.out, func(l letter) bool {
		_, comes := l.event.(dispatch.Submitted)
		return !comes
	})
	var all []dispatch.Event
	for _, c := range w.cards {
		all = append(all, dispatch.GPUAdded{GPU: c.GPU, Machine: c.machine})
		if c.failed {
			all = append(all, dispatch.GPUFailed{GPU: c.ID})
		} else if c.drained {
			all = append(all, dispatch.Drained{GPU: c.ID})
		}
		if c.foreign > 0 {
			all = append(all, dispatch.Foreign{GPU: c.ID, Memory: c.foreign})
		}
	}
	for _, user := range []string{"ann", "bob"} {
		all = append(all, dispatch.Allowed{User: user, Limits: limits[user]})
	}
	all = append(all, dispatch.Elsewhere{User: "ann", Jobs: w.away, GPUs: w.away})
	for _, j := range w.jobs {
		if !j.told || j.over != "" {
			continue
		}
		now := j.Job
		now.After = slices.DeleteFunc(slices.Clone(now.After), func(a dispatch.Dependency) bool { return w.job(a.Job).over != "" })
		if l := j.life; l != nil {
			now.Reserved = max(now.Reserved, l.promised)
			all = append(all, dispatch.Adopted{Job: now, Run: l.number, GPUs: l.gpus})
		} else {
			all = append(all, dispatch.Submitted{Job: now})
		}
		if j.held {
			all = append(all, dispatch.Held{Job: j.ID})
		}
	}
	return all
}

// errRefused is the fault of a start.
var errRefused = errors.New("the machine said no")

// Do carries out an action. An error means that a start was refused, as the body then tells its
// Dispatcher; otherwise events will say what becomes of it, as a rule.
func (w *World) Do(a dispatch.Action) error {
	w.log = append(w.log, fmt.Sprintf("%v %v %s %d %v %v", w.now, a.Verb, a.Job, a.Run, a.GPUs, a.Reserve))
	j := w.job(a.Job)
	switch {
	case j == nil:
		w.fault("%v of %q: there is no such job", a.Verb, a.Job)
	case a.Verb == dispatch.Start:
		return w.start(j, &a)
	case a.Verb == dispatch.Stop:
		w.stop(j, &a)
	default:
		w.giveUp(j, &a)
	}
	return nil
}

func (w *World) start(j *job, a *dispatch.Action) error {
	w.judge(j, a)
	if !w.prompt && w.chance(8) {
		if j.shunAt < w.now-time.Minute {
			j.shunned = nil
		}
		j.shunned, j.shunAt = append(j.shunned, a.GPUs...), w.now
		return errRefused
	}
	if !w.prompt && w.chance(20) { // nobody hears of it again
		return nil
	}
	j.life = &life{number: a.Run, gpus: slices.Clone(a.GPUs), began: w.now, promised: a.Reserve}
	w.fresh = append(w.fresh, j)
	w.tell(dispatch.Started{Job: a.Job, Run: a.Run})
	return nil
}

func (w *World) stop(j *job, a *dispatch.Action) {
	if l := j.life; l != nil && l.number == a.Run {
		if !w.prompt && w.chance(8) { // somebody said no
			w.tell(dispatch.Stays{Job: a.Job, Run: a.Run})
			return
		}
		j.left = max(time.Second, j.left-(w.now-l.began))
		j.life = nil
		w.tell(dispatch.Ended{Job: a.Job, Run: a.Run, How: dispatch.Stopped, Left: profile.Some(j.left)})
	}
}

func (w *World) giveUp(j *job, a *dispatch.Action) {
	if j.over != "" {
		w.fault("%q is given up and is over", a.Job)
		return
	}
	fits := slices.ContainsFunc(w.cards, func(c *card) bool { return colloc.Usable(c.Total(), headroom) >= j.peak })
	doomed := slices.ContainsFunc(j.After, func(d dispatch.Dependency) bool {
		o := w.job(d.Job)
		return !d.Any && o.over != "" && o.over != "done"
	})
	if fits && !doomed {
		w.fault("%q is given up and fits: %s", a.Job, a.Why)
	}
	j.over = "given up"
}

// judge holds a start against what must be kept.
func (w *World) judge(j *job, a *dispatch.Action) {
	switch {
	case j.over != "":
		w.fault("%q starts and is %s", j.ID, j.over)
	case j.life != nil:
		w.fault("%q starts as run %d, and run %d lives", j.ID, a.Run, j.life.number)
	case len(a.GPUs) != j.Width():
		w.fault("%q starts on %d GPUs and needs %d", j.ID, len(a.GPUs), j.Width())
	}
	if most, set := limits[j.User].GPUs.Get(); set && w.has(j.User)+len(a.GPUs) > most {
		w.fault("%q starts on %d GPUs, and its user has %d already", j.ID, len(a.GPUs), w.has(j.User))
	}
	for _, d := range j.After {
		if o := w.job(d.Job); o.over == "" || !d.Any && o.over != "done" {
			w.fault("%q starts before %q is over", j.ID, d.Job)
		}
	}
	for i, id := range a.GPUs {
		c := w.card(id)
		if c == nil || c.failed || c.drained || slices.Contains(a.GPUs[:i], id) {
			w.fault("%q starts on GPU %q, which takes nobody", j.ID, id)
			continue
		}
		sum := a.Reserve
		for _, o := range w.jobs {
			if o.life != nil && slices.Contains(o.life.gpus, id) {
				sum += o.life.promised
			}
		}
		if sum > c.offers() {
			w.fault("%q starts on GPU %q, which then promises %v of %v", j.ID, id, sum, c.offers())
		}
	}
}

// has is how many GPUs a user has, shared ones counted for each job.
func (w *World) has(user string) int {
	n := 0
	if user == "ann" {
		n = w.away
	}
	for _, j := range w.jobs {
		if j.User == user && j.life != nil {
			n += len(j.life.gpus)
		}
	}
	return n
}

// tell sends an event, perhaps late or twice.
func (w *World) tell(e dispatch.Event) {
	at := w.now
	if !w.prompt && w.chance(6) {
		at += time.Duration(w.rng.IntN(100)) * time.Second
	}
	w.out = append(w.out, letter{at, e})
	if !w.prompt && w.chance(10) {
		w.out = append(w.out, letter{at + time.Duration(w.rng.IntN(100))*time.Second, e})
	}
}

// chance is true once in n times, and never when all is calm.
func (w *World) chance(n int) bool { return w.rng.IntN(n) == 0 && !w.calm }

func (w *World) job(id string) *job {
	if i := slices.IndexFunc(w.jobs, func(j *job) bool { return j.ID == id && j.told }); i >= 0 {
		return w.jobs[i]
	}
	return nil
}

func (w *World) card(id string) *card {
	if i := slices.IndexFunc(w.cards, func(c *card) bool { return c.ID == id }); i >= 0 {
		return w.cards[i]
	}
	return nil
}

func (w *World) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf("%v: ", w.now)+fmt.Sprintf(format, args...))
}
