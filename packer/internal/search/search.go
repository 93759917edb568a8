package search

import (
	"context"
)

// Improve takes the given number of steps.
func (s *Search) Improve(ctx context.Context, steps int) error {
	ruins := steps
	if s.Estimable(steps) {
		ruins = steps / 4
		if err := s.Anneal(ctx, steps); err != nil {
			return err
		}
	}
	return s.TakeApart(ctx, ruins)
}

// TakeApart takes the given number of steps of the other kind.
func (s *Search) TakeApart(ctx context.Context, steps int) error {
	for i := 0; i < steps && len(s.Groups) > 0 && ctx.Err() == nil; i++ {
		if err := s.step(); err != nil {
			return err
		}
	}
	return nil
}
