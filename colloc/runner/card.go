package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/nvmlx"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// card is one GPU, or MIG instance, that tasks run on.
type card struct {
	info  nvmlx.DeviceInfo
	model profile.GPUModel
	// entries run there, in the order they joined; all of them share by mechanism.
	entries   []*entry
	mechanism profile.Mechanism
	lost      bool
	// used and busy are as last seen, highest is the most memory that was in use
	// since a task joined.
	used, highest profile.Opt[profile.Bytes]
	busy          profile.Opt[float64]
	window        window
}

// findCards lists the devices to use: of a GPU that is cut, its instances.
func findCards(ctx context.Context, c *Config) ([]*card, error) {
	devices, err := c.Source.Devices(ctx)
	if err != nil {
		return nil, fmt.Errorf("runner: list GPUs: %w", err)
	}
	cut := make(map[nvmlx.DeviceID]bool)
	for i := range devices {
		cut[devices[i].Parent] = true
	}
	wanted := func(d *nvmlx.DeviceInfo) bool {
		return c.GPUs == nil || slices.Contains(c.GPUs, d.ID) || d.Parent != "" && slices.Contains(c.GPUs, d.Parent)
	}
	var cards []*card
	for i := range devices {
		if d := &devices[i]; !cut[d.ID] && wanted(d) {
			cards = append(cards, newCard(d))
		}
	}
	for _, id := range c.GPUs {
		if !slices.ContainsFunc(devices, func(d nvmlx.DeviceInfo) bool { return d.ID == id }) {
			err = errors.Join(err, fmt.Errorf("runner: Config.GPUs: %w: %s", nvmlx.ErrNoDevice, id))
		}
	}
	if len(cards) == 0 && err == nil {
		err = fmt.Errorf("runner: %w: the source lists no GPU to use", nvmlx.ErrNoDevice)
	}
	return cards, err
}

func newCard(d *nvmlx.DeviceInfo) *card {
	model, known := d.GPU()
	if !known {
		model = profile.GPUModel{Name: d.Name, Memory: d.Memory.Or(0), SMs: d.SMs.Or(0)}
	}
	return &card{info: *d, model: model}
}

// gpu is the card as Planner and Ledger know it.
func (c *card) gpu(mechanisms []profile.Mechanism) colloc.GPU {
	g := colloc.GPU{ID: string(c.info.ID), Model: c.model, Memory: c.info.Memory.Or(0), Mechanisms: mechanisms}
	if c.info.ComputeMode.Or(nvmlx.ComputeDefault) == nvmlx.ComputeExclusiveProcess && !slices.Contains(mechanisms, profile.MPS) {
		g.Mechanisms = []profile.Mechanism{profile.Exclusive} // a second process would be refused
	}
	return g
}

// join puts a task on the card.
func (c *card) join(e *entry, m profile.Mechanism) {
	if len(c.entries) == 0 {
		c.mechanism = m
	}
	c.entries = append(c.entries, e)
	c.highest = c.used
}

// leave takes a task off the card.
func (c *card) leave(e *entry) {
	c.entries = slices.DeleteFunc(c.entries, func(other *entry) bool { return other == e })
}

// seats is how many more tasks may run there, as far as their number goes.
func (c *card) seats(limit int) int {
	if c.lost || len(c.entries) > 0 && c.entries[0].alone() {
		return 0
	}
	return max(0, limit-len(c.entries))
}

// alone reports whether the task's present placement shares with nobody.
func (e *entry) alone() bool { return e.Task.Alone || e.takesAll() }

// takesAll reports whether all that is free on a GPU is reserved for the task:
// because nothing is known of its memory, or because that ran out before.
func (e *entry) takesAll() bool {
	return e.unknown || e.Recovery == RanAlone || e.profile == nil && e.reserve() == 0
}

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
