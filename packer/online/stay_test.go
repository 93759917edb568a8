package online_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

var days = flag.Int("days", 30, "how many random days TestSchedulerEnds plays")

// uneven is pressing on GPUs of which the second half is slower.
type uneven struct{ pressing }

func (uneven) Pace(_ *packer.Task, gpu *packer.GPU) float64 {
	if len(gpu.Labels) > 0 {
		return 0.4
	}
	return 1
}

// breaks is how often a task stopped, of these to go on elsewhere at once, and how long its work
// takes alone.
type breaks struct {
	left, length float64
	stops, moves int
	speed        float64
}

// TestSchedulerEnds: on random days of unknown lengths, on unequal GPUs that a decision is made for
// every minute, every task ends, none moves more than 3 times, and none stops more often than
// it can have run 4, 8, 16 minutes and so on.
func TestSchedulerEnds(t *testing.T) {
	moved := 0
	for seed := range uint64(*days) {
		r := rand.New(rand.NewPCG(seed, 48))
		gpus := cards(4)
		gpus[2].Labels, gpus[3].Labels = []string{"slow"}, []string{"slow"}
		s, err := online.NewScheduler(gpus, uneven{}, packer.Limits{MaxSet: 4}, &online.SchedulerOptions{Budget: profile.Some(200)})
		ok(t, err)
		tasks, runs := map[string]*breaks{}, map[string]bool{}
		for minute := 0; minute < 60000 && (minute < 60 || len(tasks) > 0); minute++ {
			if minute < 60 && r.IntN(3) == 0 {
				j := job(fmt.Sprint("t", minute), float64(r.IntN(5))/5, profile.Bytes(1+r.IntN(20)), 0)
				j.Left, j.Restart, j.GPUs = profile.Opt[time.Duration]{}, profile.Some(time.Minute), 1+r.IntN(8)/7
				length := r.ExpFloat64() * 90
				tasks[j.ID] = &breaks{left: length, length: length}
				submit(t, s, j)
			}
			for _, id := range slices.Sorted(maps.Keys(runs)) {
				if b := tasks[id]; b.left <= 0 {
					ok(t, s.Finish(id))
					delete(tasks, id)
					delete(runs, id)
				}
			}
			ds, err := s.Decide(t.Context(), time.Duration(minute)*time.Minute)
			ok(t, err)
			for _, d := range ds {
				b := tasks[d.Task]
				if !d.Placed {
					delete(runs, d.Task)
					b.stops++
					b.left++
					continue
				}
				runs[d.Task], b.speed = true, d.Speed*0.4 // never faster than that
			}
			for _, d := range ds {
				if !d.Placed && runs[d.Task] {
					tasks[d.Task].moves++
					moved++
				}
			}
			for id := range runs {
				b := tasks[id]
				b.left -= b.speed
				if stay := 4 * (1<<b.stops - 1); b.moves > 3 || stay > minute {
					t.Fatalf("seed %d: in minute %d %s of %.0f minutes has stopped %d times and moved %d times", seed, minute, id, b.length, b.stops, b.moves)
				}
			}
		}
		if len(tasks) > 0 {
			t.Errorf("seed %d: %d tasks never end", seed, len(tasks))
		}
	}
	if moved < *days/3 {
		t.Errorf("only %d moves", moved)
	}
}
