package packer

import "context"

// improve takes the given number of steps.
func (s *search) improve(ctx context.Context, steps int) error {
	ruins := steps
	if s.estimable(steps) {
		ruins = steps / 4
		if err := s.anneal(ctx, steps); err != nil {
			return err
		}
	}
	return s.takeApart(ctx, ruins)
}

// takeApart takes the given number of steps of the other kind.
func (s *search) takeApart(ctx context.Context, steps int) error {
	for i := 0; i < steps && len(s.groups) > 0 && ctx.Err() == nil; i++ {
		if err := s.step(); err != nil {
			return err
		}
	}
	return nil
}
