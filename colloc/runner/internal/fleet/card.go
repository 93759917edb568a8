package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Card is one GPU, or MIG instance, that tasks run on.
type Card struct {
	Info nvmlx.DeviceInfo
	// Entries run there, in the order they joined; all of them share by Mechanism.
	Entries   []*backlog.Entry
	Mechanism profile.Mechanism
	Lost      bool
	// Used and Busy are as last seen, Highest is the most memory that was in use since a
	// task joined.
	Used, Highest profile.Opt[profile.Bytes]
	Busy          profile.Opt[float64]
	// Promised is what tasks of other runners have reserved and do not use yet.
	Promised profile.Bytes

	model profile.GPUModel
	// foreign is in use by programs that are no tasks, as last seen.
	foreign profile.Bytes
	blind   bool                       // at the last look nothing told whose the memory is
	idle    profile.Opt[profile.Bytes] // in use when it was last seen without tasks
	window  window
	// processes were there at the last look.
	processes []nvmlx.Process
}

// Find lists the devices to use: of a GPU that is cut, its instances.
// leftOut says which of those that were not asked for by name cannot be used.
func Find(ctx context.Context, source nvmlx.Source, named []nvmlx.DeviceID) (cards []*Card, leftOut []string, err error) {
	devices, err := source.Devices(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("runner: list GPUs: %w", err)
	}
	runnable := nvmlx.Runnable(devices)
	for _, id := range named {
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
		model, _ := d.GPU()
		wanted := slices.Contains(named, d.ID) || d.Parent != "" && slices.Contains(named, d.Parent)
		switch prohibited := d.ComputeMode.Or(nvmlx.ComputeDefault) == nvmlx.ComputeProhibited; {
		case !wanted && named != nil:
		case prohibited && wanted:
			err = errors.Join(err, fmt.Errorf("runner: Config.GPUs: GPU %s is closed to programs: its %s", d.ID, prohibition))
		case prohibited:
			leftOut = append(leftOut, fmt.Sprintf("GPU %s is left out: its %s", d.ID, prohibition))
		case d.Memory.Or(model.Memory) <= 0:
			leftOut = append(leftOut, fmt.Sprintf("GPU %s is left out: nobody knows how much memory it has", d.ID))
		default:
			cards = append(cards, &Card{Info: *d, model: model})
		}
	}
	if len(cards) == 0 && err == nil {
		err = fmt.Errorf("runner: %w: %s", nvmlx.ErrNoDevice, strings.Join(append(leftOut, "the source lists no GPU to use"), "; "))
	}
	return cards, leftOut, err
}

const prohibition = "compute mode is prohibited; root can change that with nvidia-smi -c DEFAULT"

// gpu is the card as Planner and Ledger know it.
func (c *Card) gpu(mechanisms []profile.Mechanism) colloc.GPU {
	return colloc.GPU{ID: string(c.Info.ID), Model: c.model, Memory: c.Info.Memory.Or(0), Mechanisms: Sharing(c.Info, mechanisms)}
}

// Sharing returns those of the ways to share that the device's compute mode allows:
// one that takes a single process is shared by MPS or not at all.
func Sharing(d nvmlx.DeviceInfo, mechanisms []profile.Mechanism) []profile.Mechanism {
	switch {
	case !Exclusive(&d):
		return mechanisms
	case slices.Contains(mechanisms, profile.MPS):
		return []profile.Mechanism{profile.MPS}
	}
	return []profile.Mechanism{profile.Exclusive}
}

// Exclusive reports whether the driver refuses a second process on the device.
func Exclusive(d *nvmlx.DeviceInfo) bool {
	return d.ComputeMode.Or(nvmlx.ComputeDefault) == nvmlx.ComputeExclusiveProcess
}

// ServesOther reports whether the card is shared by MPS by tasks of another user than a task's: a server of MPS has one user.
func (c *Card) ServesOther(e *backlog.Entry) bool {
	return c.Mechanism == profile.MPS && len(c.Entries) > 0 && c.Entries[0].UID() != e.UID()
}

// OneUser says why a task does not join a GPU.
const OneUser = " is shared by MPS, by another user's, and MPS serves one user at a time"

// Join puts a task on the card.
func (c *Card) join(e *backlog.Entry, m profile.Mechanism) {
	if len(c.Entries) == 0 {
		c.Mechanism = m
	}
	c.Entries = append(c.Entries, e)
	c.Highest = c.Used
}

// Leave takes a task off the card.
func (c *Card) leave(e *backlog.Entry) {
	c.Entries = slices.DeleteFunc(c.Entries, func(other *backlog.Entry) bool { return other == e })
}

// usedBy is what a task of another runner was seen to use: what it reserved beyond
// that is promised to it. What is used counts already.
func (c *Card) usedBy(p supervise.Process) (used profile.Bytes) {
	if p.PID == 0 {
		return 0
	}
	for _, process := range c.processes {
		if _, ok := supervise.Owner(process.InnerPID.Or(process.PID), map[int]bool{p.PID: true}); ok {
			used += process.MemUsed.Or(0)
		}
	}
	return used
}
