package body

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Body is not safe for concurrent use.
type Body struct {
	d     *dispatch.Dispatcher
	fleet *fleet.Fleet
	user  func(e *backlog.Entry) string // whose it is
	began time.Time
	at    time.Duration            // since 1970
	kept  map[string][]Reservation // by GPUs, those that are gone, too
	runs  uint64                   // the highest number of a run
	known []*told
	of    map[*backlog.Entry]*told
	cards []*card
	fresh bool // something was told since the last decision
}

// Wish is a task that waits.
type Wish struct {
	*backlog.Entry

	Held bool // it must not start
}

// told is what the Dispatcher knows of a task.
type told struct {
	*backlog.Entry

	job     dispatch.Job
	held    bool
	barred  []string      // GPUs that MPS keeps for another user
	run     uint64        // its number; 0: it waits
	number  int           // of the entry's run
	reserve profile.Bytes // at its start
	ends    time.Duration // when it was told to end
	gone    bool
	leaves  bool // it was told to stop for others
	judged  bool // nothing that is there will make it wait for ever
}

// card is what it knows of a GPU.
type card struct {
	id      string
	way     profile.Mechanism
	drained bool
	foreign profile.Bytes
	kept    []Reservation
}

// New returns a Body whose Dispatcher knows users and their limits, and nothing else yet.
func New(f *fleet.Fleet, m dispatch.Mind, o *dispatch.Options, now time.Time, user func(e *backlog.Entry) string, limits map[string]dispatch.Limits) (*Body, error) {
	d, err := dispatch.New(m, o)
	if err != nil {
		return nil, err
	}
	b := &Body{d: d, fleet: f, user: user, began: now, kept: make(map[string][]Reservation), of: make(map[*backlog.Entry]*told)}
	b.clock(now)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		err = errors.Join(err, b.tell(dispatch.Allowed{User: name, Limits: limits[name]}))
	}
	return b, err
}

// clock moves the time on: clocks are set back.
func (b *Body) clock(now time.Time) { b.at = max(b.at, time.Duration(now.UnixNano())) }

// time is one of the Dispatcher's times.
func (b *Body) time(at time.Duration) time.Time { return time.Unix(0, int64(at)) }

// Reservation keeps a GPU for the tasks of a user until a time; a zero time is without end. Without a user nobody's start
// there.
type Reservation struct {
	User  string
	Until time.Time
}

// reserved is what there is to tell of a GPU.
func reserved(id string, of []Reservation) dispatch.Reserved {
	e := dispatch.Reserved{GPU: id}
	for _, r := range of {
		to := dispatch.Reservation{User: r.User}
		if !r.Until.IsZero() {
			to.Until = max(1, time.Duration(r.Until.UnixNano()))
		}
		e.For = append(e.For, to)
	}
	return e
}

// tell tells of one event. What is wrong with it is a fault of the Mind or of this package.
func (b *Body) tell(e dispatch.Event) error {
	b.fresh = true
	return b.d.Tell(b.at, e)
}

// Sync tells how things are: which tasks wait, in their order, which hold GPUs, and what became of
// the others that it was told of. unfit are those of which nobody can say what they need.
func (b *Body) Sync(now time.Time, waits []Wish, active []*backlog.Entry) (unfit map[*backlog.Entry]error, err error) {
	b.clock(now)
	there := make(map[*backlog.Entry]bool, len(waits)+len(active))
	for _, w := range waits {
		there[w.Entry] = true
	}
	for _, e := range active {
		there[e] = true
	}
	errs := []error{b.cardsCome()}
	for _, t := range b.known {
		errs = append(errs, b.settle(t, there[t.Entry]))
	}
	b.known = slices.DeleteFunc(b.known, func(t *told) bool { return t.gone })
	errs = append(errs, b.cardsChange())
	for _, e := range active {
		errs = append(errs, b.holding(e))
	}
	for _, w := range waits {
		fault, err := b.waits(w)
		if errs = append(errs, err); fault != nil {
			if unfit == nil {
				unfit = make(map[*backlog.Entry]error)
			}
			unfit[w.Entry] = fault
		}
	}
	return unfit, errors.Join(errs...)
}

// holds reports whether a task is in the run that the Dispatcher knows.
func (t *told) holds() bool {
	return t.run > 0 && t.Runs == t.number && (t.State == queue.Starting || t.State == queue.Running)
}

// settle tells what became of a task.
func (b *Body) settle(t *told, there bool) error {
	if t.holds() {
		return nil
	}
	var err error
	if t.run > 0 {
		how := dispatch.Lost
		if t.leaves {
			how = dispatch.Stopped
		}
		switch t.State {
		case queue.Succeeded:
			how = dispatch.Done
		case queue.Failed, queue.Cancelled:
			how = dispatch.Failed
		default:
		}
		err = b.tell(dispatch.Ended{Job: t.Task.ID, Run: t.run, How: how})
		if t.run, t.leaves = 0, false; how == dispatch.Done || how == dispatch.Failed {
			t.gone = true
			delete(b.of, t.Entry)
			return err
		}
	}
	if there && t.State == queue.Queued {
		return err
	}
	t.gone = true
	delete(b.of, t.Entry)
	return errors.Join(err, b.tell(dispatch.Withdrawn{Job: t.Task.ID}))
}

// job is what there is to tell of a task. Those of one kind count as alike: one that must be alone, or of
// which nothing is known, is of none.
func (b *Body) job(e *backlog.Entry) dispatch.Job {
	j := dispatch.Job{Task: b.fleet.Demand(e), User: b.user(e), Restart: e.RestartCost()}
	if j.Kind = e.Task.Kind; j.Alone || e.Profile == nil {
		j.Kind = ""
	}
	if j.Kind != "" && e.Task.Owner != nil {
		j.Kind = fmt.Sprintf("%d:%s", e.Task.Owner.UID, j.Kind)
	}
	return j
}

// same reports whether two descriptions of a task say the same.
func same(a, b *dispatch.Job) bool {
	return a.Profile == b.Profile && a.Reserved == b.Reserved && a.Alone == b.Alone &&
		a.MaxSlowdown == b.MaxSlowdown && a.Priority == b.Priority && a.Kind == b.Kind && a.Restart == b.Restart
}

// enter notes a task that was told of.
func (b *Body) enter(e *backlog.Entry, j *dispatch.Job) *told {
	t := &told{Entry: e, job: *j}
	b.known, b.of[e] = append(b.known, t), t
	return t
}

// holding tells of a task that holds GPUs.
func (b *Body) holding(e *backlog.Entry) error {
	t, j := b.of[e], b.job(e)
	if t == nil {
		cards := b.fleet.CardsOf(e)
		if len(cards) != e.Task.Width() { // the others are gone: it counts as a stranger, and ends
			return nil
		}
		if !j.Alone {
			j.Reserved = max(1, e.Reserved)
		}
		j.Done = profile.Some(max(0, time.Duration(e.Speed.Or(1)*float64(b.began.Sub(e.Started)))))
		b.runs++
		adopted := dispatch.Adopted{Job: j, Run: b.runs}
		for _, c := range cards {
			adopted.GPUs = append(adopted.GPUs, string(c.Info.ID))
		}
		if err := b.tell(adopted); err != nil {
			return err
		}
		t = b.enter(e, &j)
		t.run, t.number, t.reserve = b.runs, e.Runs, -1
		return nil
	}
	if e.Reserved != t.reserve && !j.Alone {
		j.Reserved = max(1, e.Reserved)
	}
	return errors.Join(b.describe(t, &j), b.progress(t))
}

// progress tells when a task will end by its steps, if that is not what was told before.
func (b *Body) progress(t *told) error {
	step, known := t.Step.Get()
	total, of := t.Total.Get()
	each := t.StepTime.Or(b.time(b.at).Sub(t.Started) / time.Duration(max(1, step)))
	if !known || !of || step < 1 || each <= 0 || t.run == 0 || t.leaves || total < step || each > math.MaxInt64/time.Duration(max(1, total-step)) {
		return nil
	}
	left := time.Duration(total-step) * each
	if d := (b.at + left - t.ends).Abs(); d <= left/8 {
		return nil
	}
	t.ends = b.at + left
	return b.tell(dispatch.Progress{Job: t.Task.ID, Run: t.run, Ends: profile.Some(left)})
}

// describe tells what is new of a task.
func (b *Body) describe(t *told, j *dispatch.Job) error {
	if same(&t.job, j) {
		return nil
	}
	t.job, t.judged = *j, false
	return b.tell(dispatch.Described{Job: *j})
}

// waits tells of a task that waits.
func (b *Body) waits(w Wish) (unfit, err error) {
	t, j := b.of[w.Entry], b.job(w.Entry)
	if t == nil {
		err := b.tell(dispatch.Submitted{Job: j})
		if errors.Is(err, dispatch.ErrInvalid) && !w.TakesAll() && w.Asked() == 0 {
			w.Unknown = true
			return b.waits(w)
		}
		if err != nil {
			return err, nil
		}
		t = b.enter(w.Entry, &j)
	} else if err = b.describe(t, &j); err != nil {
		return nil, err
	}
	if w.Held != t.held {
		if t.held = w.Held; w.Held {
			err = b.tell(dispatch.Held{Job: w.Task.ID})
		} else {
			err = b.tell(dispatch.Released{Job: w.Task.ID})
		}
	}
	var barred []string
	for _, c := range b.fleet.Cards {
		if c.ServesOther(w.Entry) {
			barred = append(barred, string(c.Info.ID))
		}
	}
	if !slices.Equal(barred, t.barred) {
		t.barred = barred
		err = errors.Join(err, b.tell(dispatch.Barred{Job: w.Task.ID, GPUs: barred}))
	}
	return nil, err
}

// reconsider lets all tasks be judged anew.
func (b *Body) reconsider() {
	for _, t := range b.known {
		t.judged = false
	}
}

// cardsCome tells of cards that are new.
func (b *Body) cardsCome() error {
	var errs []error
	for _, c := range b.fleet.Cards {
		id := string(c.Info.ID)
		if slices.ContainsFunc(b.cards, func(o *card) bool { return o.id == id }) {
			continue
		}
		gpu := b.fleet.GPU(c)
		errs = append(errs, b.tell(dispatch.GPUAdded{GPU: gpu}))
		b.reconsider()
		b.cards = append(b.cards, &card{id: id, way: gpu.Mechanisms[0]})
	}
	return errors.Join(errs...)
}

// cardsChange tells what is new of cards, and of those that are gone.
func (b *Body) cardsChange() error {
	var errs []error
	known := func(e *backlog.Entry) bool { t := b.of[e]; return t != nil && t.holds() }
	b.cards = slices.DeleteFunc(b.cards, func(o *card) bool {
		c := b.fleet.Card(nvmlx.DeviceID(o.id))
		if c == nil {
			b.reconsider()
			errs = append(errs, b.tell(dispatch.GPURemoved{GPU: o.id}))
			return true
		}
		if gpu := b.fleet.GPU(c); gpu.Mechanisms[0] != o.way {
			o.way = gpu.Mechanisms[0]
			errs = append(errs, b.tell(dispatch.GPUChanged{GPU: gpu}))
		}
		if drained := !b.fleet.Takes(c); drained != o.drained {
			o.drained = drained
			b.reconsider()
			errs = append(errs, b.tell(dispatch.Drained{GPU: o.id, Off: !drained}))
		}
		if kept := b.kept[o.id]; !slices.Equal(kept, o.kept) {
			o.kept = kept
			b.reconsider()
			errs = append(errs, b.tell(reserved(o.id, kept)))
		}
		if foreign := b.fleet.Foreign(c, known); foreign != o.foreign {
			o.foreign = foreign
			errs = append(errs, b.tell(dispatch.Foreign{GPU: o.id, Memory: foreign}))
		}
		return false
	})
	return errors.Join(errs...)
}
