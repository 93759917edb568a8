package online

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/internal/rollout"
	"example.com/colloc/profile"
)

// TestAgain: a Scheduler that looks only at what changed since its last decision decides as one that looks at
// everything anew each time, and tasks are as fast.
func TestAgain(t *testing.T) {
	m := packtest.BenchModel(t, "random", 64)
	kinds := packtest.BenchProblem(m).Tasks
	for seed := range uint64(race.Fewer(12)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var cards []packer.GPU
		for i := range 12 {
			cards = append(cards, packer.GPU{ID: fmt.Sprint("g", i), Memory: profile.Bytes(10+6*(i%2)) * profile.GiB})
		}
		var twins [2]*Scheduler
		for k := range twins {
			var err error
			if twins[k], err = NewScheduler(cards, m, packer.Limits{MaxSet: 4}, &SchedulerOptions{Budget: profile.Some(0)}); err != nil {
				t.Fatal(err)
			}
		}
		both := func(do func(s *Scheduler) error) {
			t.Helper()
			if a, b := do(twins[0]), do(twins[1]); a != nil || b != nil {
				t.Fatal(a, b)
			}
		}
		var ids []string
		starts, now := 0, time.Duration(0)
		for n := range 400 {
			for range rng.IntN(3) {
				task := kinds[rng.IntN(6)]
				task.Kind, task.ID, task.Memory = task.ID, fmt.Sprint("t", n, "-", len(ids)), profile.Bytes(1+rng.IntN(6))*profile.GiB
				j := Job{Task: task, Left: profile.Some(time.Duration(1+rng.IntN(90)) * time.Minute), Class: rng.IntN(20) / 19}
				if seed%3 == 0 && rng.IntN(40) == 0 {
					j.GPUs = 2
				}
				if rng.IntN(4) == 0 {
					j.Restart = profile.Some(time.Minute)
				}
				ids = append(ids, j.ID)
				both(func(s *Scheduler) error { return s.Submit(j) })
			}
			if len(ids) == 0 {
				continue
			}
			at := rng.IntN(len(ids))
			id, gpu, memory := ids[at], rng.IntN(len(cards)), profile.Bytes(rng.IntN(4))*profile.GiB
			switch rng.IntN(9) {
			case 0:
				both(func(s *Scheduler) error { return s.Drain(gpu) })
			case 1:
				both(func(s *Scheduler) error { return s.Restore(gpu) })
			case 2:
				both(func(s *Scheduler) error { return s.Foreign(gpu, memory) })
			case 3:
				both(func(s *Scheduler) error { return s.Return(id) })
			case 4:
				both(func(s *Scheduler) error { return s.Forbid(id, gpu, (gpu+1)%len(cards)) })
			case 5:
				both(func(s *Scheduler) error { return s.Fail(gpu) })
			default:
				ids = append(ids[:at], ids[at+1:]...)
				both(func(s *Scheduler) error { return s.Finish(id) })
			}
			now += time.Duration(rng.IntN(600)) * time.Second
			anew := twins[1]
			anew.ask()
			anew.engine = rollout.Engine{Sets: anew.sets, MinGain: anew.engine.MinGain}
			got, err := twins[0].Decide(t.Context(), now)
			want, err2 := anew.Decide(t.Context(), now)
			if err != nil || err2 != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, step %d: %+v (%v), and anew %+v (%v)", seed, n, got, err, want, err2)
			}
			for i, e := range twins[0].order {
				if o := anew.order[i]; e.ID != o.ID || e.rate != o.rate || e.progress != o.progress {
					t.Fatalf("seed %d, step %d: %q at %d with %+v, and anew %q at %d with %+v", seed, n, e.ID, e.rate, e.progress, o.ID, o.rate, o.progress)
				}
			}
			starts += len(got)
		}
		if starts < 50 {
			t.Errorf("seed %d: %d starts say little", seed, starts)
		}
	}
}
