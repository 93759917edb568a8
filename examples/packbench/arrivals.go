package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// arrivals prints how long it takes a session with so many GPUs, seven eighths
// full of pairs, to see one task off and find a place for another, and how often
// that allocates.
func arrivals(name string, s *source, gpus, turns int, r *report) error {
	const kinds = 64
	p := packProblem(drawn(s, kinds), 2, gpus)
	for i := range p.Tasks {
		p.Tasks[i].Kind = p.Tasks[i].ID
		p.Tasks[i].Memory = profile.Bytes(1+i%4) * smallGPU / 16
	}
	session, err := online.NewSession(p.GPUs, p.Model, p.Limits, nil)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, uint64(gpus)))
	arrive := func(id string) error {
		t := p.Tasks[rng.IntN(kinds)]
		t.ID = id
		_, err := session.Arrive(t)
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
	var before, after runtime.MemStats
	for i := range 2 * turns { // the first half warms it up
		if i == turns {
			runtime.ReadMemStats(&before)
			start = time.Now()
		}
		id := ids[rng.IntN(len(ids))]
		if _, err := session.Finish(id); err != nil {
			return err
		}
		if err := arrive(id); err != nil {
			return err
		}
	}
	took := time.Since(start) / time.Duration(turns)
	runtime.ReadMemStats(&after)
	mallocs := (after.Mallocs - before.Mallocs) / uint64(turns)
	r.row(name, took, 20*time.Microsecond, []figure{{fmt.Sprintf("%d allocations", mallocs), "0", mallocs > 0}}, "", "")
	return nil
}
