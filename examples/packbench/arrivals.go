package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// arrivals prints how long it takes a scheduler that does not look ahead, with so many GPUs, seven
// eighths full of pairs, to see one task off and find a place for another.
func arrivals(name string, s *source, gpus, turns int, r *report) error {
	const kinds = 64
	p := packProblem(drawn(s, kinds), 2, gpus)
	for i := range p.Tasks {
		p.Tasks[i].Kind = p.Tasks[i].ID
		p.Tasks[i].Memory = profile.Bytes(1+i%4) * smallGPU / 16
	}
	scheduler, err := online.NewScheduler(p.GPUs, p.Model, p.Limits, &online.SchedulerOptions{Budget: profile.Some(0)})
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, uint64(gpus)))
	at := time.Duration(0)
	arrive := func(id string) error {
		t := p.Tasks[rng.IntN(kinds)]
		t.ID = id
		if err := scheduler.Submit(online.Job{Task: t, Left: profile.Some(time.Hour)}); err != nil {
			return err
		}
		at += time.Second
		_, err := scheduler.Decide(context.Background(), at)
		return err
	}
	ids := make([]string, gpus*7/4)
	for i := range ids {
		ids[i] = fmt.Sprintf("task%05d", i)
		if err := arrive(ids[i]); err != nil {
			return err
		}
	}
	var start time.Time
	for i := range 2 * turns { // the first half warms it up
		if i == turns {
			start = time.Now()
		}
		id := ids[rng.IntN(len(ids))]
		if err := scheduler.Finish(id); err != nil {
			return err
		}
		if err := arrive(id); err != nil {
			return err
		}
	}
	r.row(name, time.Since(start)/time.Duration(turns), 5*time.Millisecond, nil, "", "")
	return nil
}
