package packtest

import "context"

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
