package fleet

import (
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Planner is what is asked of a [colloc.Planner].
type Planner interface {
	dispatch.Mind
	Observe(o colloc.Observation) error
}

// Config says how tasks may share; see the runner's.
type Config struct {
	PerGPU      int
	Headroom    float64
	MemoryFloor profile.Bytes
	Mechanisms  []profile.Mechanism
	Window      time.Duration
	// Steady is how long a peak must have stood for a reservation to follow it down; 0 is never.
	Steady time.Duration
	// Beside is which share of the largest card is reserved for a task of which nothing is known;
	// 0 gives it a card of its own.
	Beside float64
}

// Fleet is the cards of a runner, with what runs there and what was seen of them. Who starts where is decided elsewhere. It is
// not safe for concurrent use.
type Fleet struct {
	Cards []*Card

	config  Config
	planner Planner
	gone    []*Card         // that were here and may come back, the last ones
	blank   profile.Profile // of tasks of which nothing is known
	solo    solo
}

// New makes a fleet of cards.
func New(c Config, p Planner, cards []*Card) (*Fleet, error) {
	f := &Fleet{
		Cards: cards, config: c, planner: p,
		solo: solo{byProfile: make(map[*profile.Profile]rates), byEntry: make(map[*backlog.Entry]rates)},
	}
	var err error
	f.blank, err = profile.New(profile.Spec{Training: profile.Training{BatchSize: 1}}, profile.Trace{}, profile.GPUModel{})
	return f, err
}

// Planner is what predicts.
func (f *Fleet) Planner() Planner { return f.planner }

// there are the cards that answer.
func (f *Fleet) there() []*Card {
	return slices.DeleteFunc(slices.Clone(f.Cards), func(c *Card) bool { return c.Lost })
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

// Offers is what a card has for tasks, after headroom and what other programs use.
func (f *Fleet) Offers(c *Card) profile.Bytes { return max(0, f.usable(c)-c.foreign) }

// Free is what nobody has reserved or uses on a card, after headroom.
func (f *Fleet) Free(c *Card) profile.Bytes { return max(0, f.room(c, nil)) }

// room is what a card has for a task, beside the others there.
func (f *Fleet) room(c *Card, e *backlog.Entry) profile.Bytes {
	room := f.Offers(c) - c.Promised
	for _, o := range c.Entries {
		if o != e {
			room -= max(o.Reserved, o.Peak.Or(0))
		}
	}
	return room
}

// GPU is the card for who decides: a running task cannot change how it shares, so that one way
// is left.
func (f *Fleet) GPU(c *Card) colloc.GPU {
	way := Sharing(c.Info, f.config.Mechanisms)[0]
	if len(c.Entries) > 0 {
		way = c.Mechanism
	}
	if f.config.PerGPU == 1 {
		way = profile.Exclusive
	}
	return c.gpu([]profile.Mechanism{way})
}

// Foreign is what nobody must count on who knows some tasks: what others use or were promised, what
// tasks hold that are not known, and what the others use beyond their reservations.
func (f *Fleet) Foreign(c *Card, known func(e *backlog.Entry) bool) profile.Bytes {
	sum := c.foreign + c.Promised
	for _, e := range c.Entries {
		if known(e) {
			sum += e.Overrun()
		} else {
			sum += max(e.Reserved, e.Peak.Or(0))
		}
	}
	return sum
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

// beside reports whether a task of which nothing is known may run beside others.
func (f *Fleet) beside(e *backlog.Entry) bool {
	return f.config.Beside > 0 && e.TakesAll() && e.Recovery != queue.RanAlone
}

// alone reports whether the task shares with nobody. MPS has one server for each GPU, and a task of
// several does not go through all of them.
func (f *Fleet) alone(e *backlog.Entry) bool {
	return e.Task.Alone || e.TakesAll() && !f.beside(e) || e.Task.Width() > 1 && slices.Contains(f.config.Mechanisms, profile.MPS)
}

// leaves is which share of a GPU's multiprocessors a task leaves to others where they share by MPS and its kernels would fill it:
// without that heavy ones starve light ones.
const leaves = 0.25

// Threads is which share of them a task may fill that shares by MPS; 0 is all. It holds for as long as it runs, beside others or not.
func (f *Fleet) Threads(e *backlog.Entry) float64 {
	fills := 1.0 // as long as nobody knows
	if e.Profile != nil {
		fills = e.Profile.Vector.Or(profile.MeanSMActive, e.Profile.Vector.Or(profile.MeanGPUBusy, 1))
	}
	if f.alone(e) || fills <= 1-leaves {
		return 0
	}
	return 1 - leaves
}

// Seats is how many more tasks may run on a card.
func (f *Fleet) Seats(c *Card) int { return max(0, f.config.PerGPU-len(c.Entries)) }

// Takes reports whether tasks may start on a card, as far as the floor goes.
func (f *Fleet) Takes(c *Card) bool {
	return !c.Lost && (f.config.MemoryFloor == 0 || f.Free(c) >= f.config.MemoryFloor)
}

// Demand is the task as the Planner knows it. One that takes a whole GPU reserves what is free there,
// which is not known before.
func (f *Fleet) Demand(e *backlog.Entry) colloc.Task {
	t := colloc.Task{
		ID: e.Task.ID, Profile: e.Profile, Reserved: e.Asked(), Priority: e.Task.Priority,
		MaxSlowdown: e.Task.MaxSlowdown, Alone: f.alone(e), GPUs: e.Task.Width(),
	}
	if t.Profile == nil {
		t.Profile = &f.blank
	}
	switch {
	case e.TakesAll() && t.Alone:
		t.Reserved = 1
	case e.TakesAll():
		t.Reserved = f.guess()
	}
	return t
}

// guess is what is reserved for a task of which nothing is known: a share of the largest card, and no more
// than the smallest offers.
func (f *Fleet) guess() profile.Bytes {
	most := f.largestUsable()
	least := most
	for _, c := range f.Cards {
		if !c.Lost {
			least = min(least, f.usable(c))
		}
	}
	return max(1, min(profile.BytesOf(f.config.Beside*float64(most)), least))
}
