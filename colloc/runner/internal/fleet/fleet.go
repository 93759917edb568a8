package fleet

import (
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Planner is what is asked of a [colloc.Planner].
type Planner interface {
	Fit(task colloc.Task, gpu colloc.GPU) (colloc.Verdict, error)
	Score(task colloc.Task, gpu colloc.GPU) (float64, error)
	Observe(o colloc.Observation) error
}

// Config says how tasks may share; see the runner's.
type Config struct {
	PerGPU      int
	Headroom    float64
	Together    profile.Bytes // of ledger.Config
	MemoryFloor profile.Bytes
	Mechanisms  []profile.Mechanism
	Window      time.Duration
	// Steady is how long a peak must have stood for a reservation to follow it down; 0 is never.
	Steady time.Duration
	// Beside is which share of a card must be free for a task of which nothing is known to
	// join others there; 0 is never.
	Beside float64
}

// Fleet is the cards of a runner and the books of what is reserved on them. It is
// not safe for concurrent use.
type Fleet struct {
	Cards []*Card
	Books *ledger.Ledger // nil until Open

	config  Config
	planner Planner
	gone    []*Card         // that were here and may come back, the last ones
	blank   profile.Profile // of tasks of which nothing is known
	solo    solo
}

// New makes a fleet of cards without books.
func New(c Config, p Planner, cards []*Card) (*Fleet, error) {
	f := &Fleet{
		Cards: cards, config: c, planner: p,
		solo: solo{byProfile: make(map[*profile.Profile]rates), byEntry: make(map[*backlog.Entry]rates)},
	}
	var err error
	f.blank, err = profile.New(profile.Spec{Training: profile.Training{BatchSize: 1}}, profile.Trace{}, profile.GPUModel{})
	return f, err
}

// there are the cards that answer.
func (f *Fleet) there() []*Card {
	return slices.DeleteFunc(slices.Clone(f.Cards), func(c *Card) bool { return c.Lost })
}

// absent are the cards that do not answer, or were here.
func (f *Fleet) absent() []*Card {
	return slices.DeleteFunc(slices.Concat(f.Cards, f.gone), func(c *Card) bool { return !c.Lost && slices.Contains(f.Cards, c) })
}

// Card finds a device by its ID; nil if there is none.
func (f *Fleet) Card(id nvmlx.DeviceID) *Card {
	for _, c := range f.Cards {
		if c.Info.ID == id {
			return c
		}
	}
	return nil
}

// usable is what a card offers to tasks when nothing else is on it.
func (f *Fleet) usable(c *Card) profile.Bytes {
	return f.AfterHeadroom(c.Info.Memory.Or(c.model.Memory))
}

// Spare is what stays free of a card's memory: its headroom.
func (f *Fleet) Spare(c *Card) profile.Bytes { return c.Info.Memory.Or(c.model.Memory) - f.usable(c) }

// largestUsable is the most that any card offers.
func (f *Fleet) largestUsable() (most profile.Bytes) {
	for _, c := range f.Cards {
		if !c.Lost {
			most = max(most, f.usable(c))
		}
	}
	return most
}

// AfterHeadroom is the part of a memory that tasks may use.
func (f *Fleet) AfterHeadroom(total profile.Bytes) profile.Bytes {
	return colloc.Usable(total, f.config.Headroom)
}

// CardsOf are the cards of the present or last run that are there.
func (f *Fleet) CardsOf(e *backlog.Entry) (cards []*Card) {
	for _, id := range e.Devices() {
		if c := f.Card(id); c != nil {
			cards = append(cards, c)
		}
	}
	return cards
}

// Join puts a task on all its cards.
func (f *Fleet) Join(e *backlog.Entry, m profile.Mechanism) {
	for _, c := range f.CardsOf(e) {
		c.join(e, m)
	}
}

// Leave takes a task off all its cards.
func (f *Fleet) Leave(e *backlog.Entry) {
	for _, c := range f.CardsOf(e) {
		c.leave(e)
	}
}

// Class are the tasks that fit, or do not, for the same reasons.
type Class struct {
	profile             *profile.Profile
	reserved            profile.Bytes
	weight, slowdown    float64
	width               int
	alone, all, avoided bool
	avoid               profile.Mechanism
}

// ClassOf says which tasks fit, or do not, as e does.
func ClassOf(e *backlog.Entry) Class {
	avoid, avoided := e.Avoid.Get()
	return Class{
		profile: e.Profile, reserved: e.Asked(), weight: e.Task.Weight, slowdown: e.Task.MaxSlowdown, width: e.Task.Width(),
		alone: e.Alone(), all: e.TakesAll(), avoided: avoided, avoid: avoid,
	}
}

// joins reports whether a task of which nothing is known may run beside others: all that
// is free is reserved for it then, until it was seen.
func (f *Fleet) joins(e *backlog.Entry) bool {
	return f.config.Beside > 0 && e.TakesAll() && e.Recovery != queue.RanAlone && !e.Task.Alone && e.Task.Width() < 2
}

// alone reports whether the task shares with nobody.
func (f *Fleet) alone(e *backlog.Entry) bool { return e.Alone() && !f.joins(e) }

// Seats is how many more tasks may run on a card, as far as their number goes.
func (f *Fleet) Seats(c *Card) int {
	if c.Lost || len(c.Entries) > 0 && f.alone(c.Entries[0]) {
		return 0
	}
	return max(0, f.config.PerGPU-len(c.Entries))
}

// demand is the task as the Planner knows it. One that takes a whole GPU
// reserves what is free there, which is not known before.
func (f *Fleet) demand(e *backlog.Entry) colloc.Task {
	t := colloc.Task{
		ID: e.Task.ID, Profile: e.Profile, Reserved: e.Asked(),
		Weight: e.Task.Weight, MaxSlowdown: e.Task.MaxSlowdown, Alone: f.alone(e), GPUs: e.Task.Width(),
	}
	if t.Profile == nil {
		t.Profile = &f.blank
	}
	if e.TakesAll() {
		t.Reserved = 1
	}
	return t
}
