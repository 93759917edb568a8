package packtest

import (
	"context"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// PollContext counts how often it is asked, and what is done in between. It is
// cancelled from the poll at on.
type PollContext struct {
	context.Context
	Polls, At int
	Questions *int
	last      int
	Worst     int // questions between two polls
	After     int // questions asked when it was cancelled
}

// Err implements context.Context.
func (c *PollContext) Err() error {
	c.Worst = max(c.Worst, *c.Questions-c.last)
	c.last = *c.Questions
	if c.Polls++; c.Polls < c.At {
		return nil
	}
	if c.Polls == c.At {
		c.After = *c.Questions
	}
	return context.Canceled
}

// CountingModel counts questions, by the pair.
type CountingModel struct {
	packer.BatchModel
	Questions int
}

// Speeds implements packer.Model.
func (m *CountingModel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	m.Questions++
	return m.BatchModel.Speeds(set, gpu, mech, dst)
}

// PairSpeeds implements packer.BatchModel.
func (m *CountingModel) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) error {
	m.Questions += len(partners)
	return m.BatchModel.PairSpeeds(task, partners, gpu, mech, own, other)
}
