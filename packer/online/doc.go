// Package online packs tasks as they come and go: a [Scheduler] is told what happens, and says what
// starts, stops and moves.
//
//	s, err := online.NewScheduler(gpus, model, packer.Limits{}, nil)
//	if err != nil {
//		return err
//	}
//	err = s.Submit(online.Job{Task: packer.Task{ID: "bert", Memory: 9 * profile.GiB}, Left: profile.Some(2 * time.Hour)})
//	decisions, err := s.Decide(ctx, now)
//
// What a set is worth is said in package packer: the sum of weight times pace times speed.
// By the plain rule each task that fits, short ones first, goes to the GPUs where it adds most, if
// that is as much as DefaultThreshold says. Told how long tasks still run, a Scheduler plays the rest
// of the day under one rule after the other, and does what another says where that is enough better.
//
// Package dispatch has what a body needs beside: users, dependencies, reservations, refusals.
package online
