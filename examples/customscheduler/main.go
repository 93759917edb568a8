// Customscheduler is a small scheduler that embeds colloc: it filters with Fit,
// ranks with Score, reserves in a Ledger and learns through Observe. Tasks run in
// virtual time, so that it needs no GPU; replace type cluster by whatever starts
// processes and the rest stays as it is.
//
//	go run ./examples/customscheduler
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "customscheduler:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	model, _ := profile.LookupGPU("RTX 3090")
	s, err := newScheduler(w, []colloc.GPU{{ID: "gpu0", Model: model}, {ID: "gpu1", Model: model}})
	if err != nil {
		return err
	}
	s.queue = jobs(model)
	for len(s.queue) > 0 || len(s.cluster.running) > 0 {
		if err := s.schedule(); err != nil {
			return err
		}
		if len(s.cluster.running) == 0 {
			return fmt.Errorf("%d tasks fit nowhere, %s for one", len(s.queue), s.queue[0].task.ID)
		}
		if err := s.finish(s.cluster.advance()); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "%s: all tasks done\n", s.cluster.clock())
	return nil
}

// scheduler is first come, first served, each task on the GPU with the highest
// score.
type scheduler struct {
	out     io.Writer
	planner *colloc.Planner
	ledger  *ledger.Ledger
	cluster *cluster
	queue   []job
}

func newScheduler(w io.Writer, gpus []colloc.GPU) (*scheduler, error) {
	c := &cluster{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	planner, err := colloc.New(colloc.Config{MaxSlowdown: 1.5})
	if err != nil {
		return nil, err
	}
	books, err := ledger.New(ledger.Config{GPUs: gpus, Now: func() time.Time { return c.now }})
	if err != nil {
		return nil, err
	}
	return &scheduler{out: w, planner: planner, ledger: books, cluster: c}, nil
}

// schedule starts every queued task for which there is a place.
func (s *scheduler) schedule() error {
	var waiting []job
	for _, j := range s.queue {
		started, err := s.place(j)
		if err != nil {
			return err
		}
		if !started {
			waiting = append(waiting, j)
		}
	}
	s.queue = waiting
	return nil
}

// place filters, scores, reserves and starts one task. Another scheduler may
// have taken the place meanwhile: then it looks again.
func (s *scheduler) place(j job) (bool, error) {
	for {
		now := s.ledger.Snapshot()
		best, score, reserved := -1, 0.0, profile.Bytes(0)
		for i, gpu := range now.GPUs {
			verdict, err := s.planner.Fit(j.task, gpu)
			if err != nil {
				return false, err
			}
			if !verdict.Fits {
				continue
			}
			points, err := s.planner.Score(j.task, gpu)
			if err != nil {
				return false, err
			}
			if points > score {
				best, score, reserved = i, points, verdict.Reserved
			}
		}
		if best < 0 {
			return false, nil
		}
		j.task.Reserved = reserved
		lease, err := s.ledger.Reserve(now.Version, ledger.Claim{Task: j.task, GPU: now.GPUs[best].ID})
		if errors.Is(err, ledger.ErrConflict) {
			continue
		}
		if err != nil {
			return false, err
		}
		s.cluster.start(j, now.GPUs[best].ID)
		fmt.Fprintf(s.out, "%s: %s starts on %s beside %d, score %.1f\n",
			s.cluster.clock(), j.task.ID, now.GPUs[best].ID, len(now.GPUs[best].Residents), score)
		return true, s.ledger.Commit(lease)
	}
}

// finish learns from the set that ended and gives its place back.
func (s *scheduler) finish(done job, set []colloc.Measurement, model profile.GPUModel) error {
	fmt.Fprintf(s.out, "%s: %s ends\n", s.cluster.clock(), done.task.ID)
	if len(set) > 1 {
		o := colloc.Observation{GPU: model, Mechanism: profile.TimeSlice, Members: set}
		if err := s.planner.Observe(o); err != nil {
			return err
		}
	}
	return s.ledger.Release(done.task.ID)
}
