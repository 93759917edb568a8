package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/nvmlx"
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
	// since a task joined, idle what was when the card was last seen without tasks.
	used, highest, idle profile.Opt[profile.Bytes]
	busy                profile.Opt[float64]
	window              window
	// processes were there at the last look, promised is what tasks of other runners
	// have reserved and do not use yet.
	processes []nvmlx.Process
	promised  profile.Bytes
}

// findCards lists the devices to use: of a GPU that is cut, its instances.
// leftOut says which of those that were not asked for by name cannot be used.
func findCards(ctx context.Context, c *Config) (cards []*card, leftOut []string, err error) {
	devices, err := c.Source.Devices(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("runner: list GPUs: %w", err)
	}
	runnable := nvmlx.Runnable(devices)
	for _, id := range c.GPUs {
		at := slices.IndexFunc(devices, func(d nvmlx.DeviceInfo) bool { return d.ID == id })
		switch {
		case at < 0:
			err = errors.Join(err, fmt.Errorf("runner: Config.GPUs: %w: %s", nvmlx.ErrNoDevice, id))
		case !slices.ContainsFunc(runnable, func(d nvmlx.DeviceInfo) bool { return d.ID == id || d.Parent == id }):
			err = errors.Join(err, fmt.Errorf("runner: Config.GPUs: GPU %s is in MIG mode and has no instance: nvidia-smi mig -cgi makes some", id))
		}
	}
	for i := range runnable {
		d := &runnable[i]
		named := slices.Contains(c.GPUs, d.ID) || d.Parent != "" && slices.Contains(c.GPUs, d.Parent)
		switch prohibited := d.ComputeMode.Or(nvmlx.ComputeDefault) == nvmlx.ComputeProhibited; {
		case !named && c.GPUs != nil:
		case prohibited && named:
			err = errors.Join(err, fmt.Errorf("runner: Config.GPUs: GPU %s is closed to programs: its %s", d.ID, prohibition))
		case prohibited:
			leftOut = append(leftOut, fmt.Sprintf("GPU %s is left out: its %s", d.ID, prohibition))
		default:
			model, _ := d.GPU()
			cards = append(cards, &card{info: *d, model: model})
		}
	}
	if len(cards) == 0 && err == nil {
		err = fmt.Errorf("runner: %w: %s", nvmlx.ErrNoDevice, strings.Join(append(leftOut, "the source lists no GPU to use"), "; "))
	}
	return cards, leftOut, err
}

const prohibition = "compute mode is prohibited; root can change that with nvidia-smi -c DEFAULT"

// gpu is the card as Planner and Ledger know it.
func (c *card) gpu(mechanisms []profile.Mechanism) colloc.GPU {
	return colloc.GPU{ID: string(c.info.ID), Model: c.model, Memory: c.info.Memory.Or(0), Mechanisms: Sharing(c.info, mechanisms)}
}

// Sharing returns those of the ways to share that the device's compute mode allows:
// one that takes a single process is shared by MPS or not at all.
func Sharing(d nvmlx.DeviceInfo, mechanisms []profile.Mechanism) []profile.Mechanism {
	switch {
	case !exclusive(&d):
		return mechanisms
	case slices.Contains(mechanisms, profile.MPS):
		return []profile.Mechanism{profile.MPS}
	}
	return []profile.Mechanism{profile.Exclusive}
}

// exclusive reports whether the driver refuses a second process on the device.
func exclusive(d *nvmlx.DeviceInfo) bool {
	return d.ComputeMode.Or(nvmlx.ComputeDefault) == nvmlx.ComputeExclusiveProcess
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
func (e *entry) alone() bool { return e.Task.Alone || e.Task.width() > 1 || e.takesAll() }

// takesAll reports whether all that is free on a GPU is reserved for the task:
// because nothing is known of its memory, or because that ran out before.
func (e *entry) takesAll() bool {
	return e.unknown || e.Recovery == RanAlone || e.profile == nil && e.reserve() == 0
}
