package body

import (
	"context"
	"errors"
	"slices"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/nvmlx"
)

// Start is a task that is to start.
type Start struct {
	*backlog.Entry

	Cards []*fleet.Card
	dispatch.Action
}

// Stop is a task that is to stop, for others or to move.
type Stop struct {
	*backlog.Entry
	dispatch.Action
}

// Decide says what to do now. Each Start must be answered by Began or Refused.
func (b *Body) Decide(ctx context.Context) (starts []Start, stops []Stop, err error) {
	if next, ok := b.d.Next(); !b.fresh && (!ok || next > b.at) {
		return nil, nil, nil
	}
	b.fresh = false
	actions, err := b.d.Decide(ctx, b.at)
	for _, a := range actions {
		at := slices.IndexFunc(b.known, func(t *told) bool { return t.Task.ID == a.Job })
		if at >= 0 && a.Verb == dispatch.Stop && b.known[at].run == a.Run {
			b.known[at].leaves = true
			stops = append(stops, Stop{b.known[at].Entry, a})
		}
		if at < 0 || a.Verb != dispatch.Start {
			continue
		}
		s := Start{Entry: b.known[at].Entry, Action: a}
		for _, id := range a.GPUs {
			s.Cards = append(s.Cards, b.fleet.Card(nvmlx.DeviceID(id)))
		}
		b.runs = max(b.runs, a.Run)
		starts = append(starts, s)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = nil // it looked less far ahead
	}
	return starts, stops, err
}

// Began tells that a start is carried out.
func (b *Body) Began(s *Start) error {
	t := b.of[s.Entry]
	t.run, t.number, t.reserve = s.Run, s.Runs, s.Reserved
	return b.tell(dispatch.Started{Job: s.Job, Run: s.Run})
}

// Refused tells that it is not, and may be tried again at once: by then it is known why.
func (b *Body) Refused(s *Start) error {
	return b.tell(dispatch.Ended{Job: s.Job, Run: s.Run, How: dispatch.Stopped})
}
