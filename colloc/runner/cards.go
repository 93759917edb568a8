package runner

import (
	"example.com/colloc/colloc"
	"example.com/colloc/nvmlx"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// card finds a device by its ID; nil if there is none.
func (r *Runner) card(id nvmlx.DeviceID) *card {
	for _, c := range r.cards {
		if c.info.ID == id {
			return c
		}
	}
	return nil
}

// usable is what a card offers to tasks when nothing else is on it.
func (r *Runner) usable(c *card) profile.Bytes {
	total := c.info.Memory.Or(c.model.Memory)
	return r.afterHeadroom(total)
}

// largestUsable is the most that any card offers.
func (r *Runner) largestUsable() (most profile.Bytes) {
	for _, c := range r.cards {
		if !c.lost {
			most = max(most, r.usable(c))
		}
	}
	return most
}

// afterHeadroom is the part of a memory that tasks may use.
func (r *Runner) afterHeadroom(total profile.Bytes) profile.Bytes {
	return profile.BytesOf((1 - r.config.Headroom.Or(packer.DefaultHeadroom)) * float64(total))
}

// cardsOf are the cards of the present or last run that are there.
func (r *Runner) cardsOf(e *entry) (cards []*card) {
	for _, id := range e.devices() {
		if c := r.card(id); c != nil {
			cards = append(cards, c)
		}
	}
	return cards
}

// join puts a task on all its cards.
func (r *Runner) join(e *entry, m profile.Mechanism) {
	for _, c := range r.cardsOf(e) {
		c.join(e, m)
	}
}

// leave takes a task off all its cards.
func (r *Runner) leave(e *entry) {
	for _, c := range r.cardsOf(e) {
		c.leave(e)
	}
}

// class are the tasks that fit, or do not, for the same reasons.
type class struct {
	profile             *profile.Profile
	reserved            profile.Bytes
	weight, slowdown    float64
	width               int
	alone, all, avoided bool
	avoid               profile.Mechanism
}

func (e *entry) class() class {
	avoid, avoided := e.Avoid.Get()
	return class{
		profile: e.profile, reserved: e.reserve(), weight: e.Task.Weight, slowdown: e.Task.MaxSlowdown, width: e.Task.width(),
		alone: e.alone(), all: e.takesAll(), avoided: avoided, avoid: avoid,
	}
}

// demand is the task as the Planner knows it. One that takes a whole GPU
// reserves what is free there, which is not known before.
func (r *Runner) demand(e *entry) colloc.Task {
	t := colloc.Task{
		ID: e.Task.ID, Profile: e.profile, Reserved: e.reserve(),
		Weight: e.Task.Weight, MaxSlowdown: e.Task.MaxSlowdown, Alone: e.alone(), GPUs: e.Task.width(),
	}
	if t.Profile == nil {
		t.Profile = &r.blank
	}
	if e.takesAll() {
		t.Reserved = 1
	}
	return t
}
