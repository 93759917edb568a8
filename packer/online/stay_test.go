package online_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

var days = flag.Int("days", race.Fewer(30), "how many random days TestSchedulerEnds plays")

// uneven is pressing on GPUs of which the second half is slower.
type uneven struct{ pressing }

func (uneven) Pace(_ *packer.Task, gpu *packer.GPU) float64 {
	if len(gpu.Labels) > 0 {
		return 0.4
	}
	return 1
}

// life is a task as it is: what the Scheduler is told of it may be wrong.
type life struct {
	left, length float64 // minutes of work
	peak         profile.Bytes
	stops, moves int // moves are stops to go on elsewhere at once
	speed        float64
	on           []int
	since        int
	seen         bool
}

// TestSchedulerEnds: on random days of lengths that are unknown, told or wrong, of memory that is more or less than was
// told, up to 98 % of a GPU, on unequal GPUs that a decision is made for every minute, every task ends, none moves more
// than 3 times, and none stops more often than it can have run 4, 8, 16 minutes and so on.
func TestSchedulerEnds(t *testing.T) {
	var all counts
	for seed := range uint64(*days) {
		all.day(t, seed)
	}
	t.Logf("%+v", all)
	if n := *days; !race.Enabled && (all.moved < n/3 || all.wrong < n || all.large < n || all.died < n/3) {
		t.Errorf("%+v: this says little", all)
	}
}

// counts are what days had: moves, stops of tasks of which a wrong length was told, tasks that ended and used more than
// a GPU offers after the headroom, and runs that ended for want of memory.
type counts struct{ moved, wrong, large, died int }

func (n *counts) day(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 48))
	gpus := cards(4)
	gpus[2].Labels, gpus[3].Labels = []string{"slow"}, []string{"slow"}
	s, err := online.NewScheduler(gpus, uneven{}, packer.Limits{MaxSet: 4}, &online.SchedulerOptions{Budget: profile.Some(200)})
	ok(t, err)
	whole := gpus[0].Memory
	var peaks [6]profile.Bytes // of kinds
	for k := range peaks {
		peaks[k] = profile.BytesOf(float64(whole) * min(0.98, 0.05+r.ExpFloat64()/3))
	}
	tasks, runs, wrong := map[string]*life{}, map[string]bool{}, map[string]bool{}
	for minute := 0; minute < 60000 && (minute < 60 || len(tasks) > 0); minute++ {
		if minute < 60 && r.IntN(3) == 0 {
			k := r.IntN(2 * len(peaks))
			l := &life{length: r.ExpFloat64() * 90, peak: peaks[k%len(peaks)]}
			l.left = l.length
			j := job(fmt.Sprint("t", minute), float64(r.IntN(5))/5, 1, 0)
			j.Memory = min(whole*9/10, profile.BytesOf(float64(l.peak)*(0.3+r.Float64())))
			if k < len(peaks) {
				j.Kind = fmt.Sprint("k", k)
			}
			j.Restart, j.GPUs = profile.Some(time.Minute), 1+r.IntN(8)/7
			told := l.length
			switch r.IntN(3) {
			case 0:
				j.Left = profile.Opt[time.Duration]{}
			case 1:
				told *= math.Exp(1.5 * r.NormFloat64())
				wrong[j.ID] = true
				fallthrough
			default:
				j.Left = profile.Some(time.Duration(told * float64(time.Minute)))
			}
			tasks[j.ID] = l
			submit(t, s, j)
		}
		for _, id := range slices.Sorted(maps.Keys(runs)) {
			l := tasks[id]
			if l.left <= 0 {
				ok(t, s.Finish(id))
				if delete(tasks, id); l.peak > whole*9/10 {
					n.large++
				}
				delete(runs, id)
			} else if minute == l.since+2 && !l.seen {
				l.seen = true
				ok(t, s.Seen(id, l.peak))
				if crowded(tasks, runs, l, whole) {
					n.died++
					l.left = l.length
					ok(t, s.Return(id))
					delete(runs, id)
				}
			}
		}
		ds, err := s.Decide(t.Context(), time.Duration(minute)*time.Minute)
		ok(t, err)
		for _, d := range ds {
			l := tasks[d.Task]
			if !d.Placed {
				delete(runs, d.Task)
				l.stops++
				if l.left++; wrong[d.Task] {
					n.wrong++
				}
				continue
			}
			runs[d.Task], l.speed, l.since = true, d.Speed*0.4, minute // never faster than that
			l.on = append([]int{d.GPU}, d.Gang...)
		}
		for _, d := range ds {
			if !d.Placed && runs[d.Task] {
				tasks[d.Task].moves++
				n.moved++
			}
		}
		for id := range runs {
			l := tasks[id]
			l.left -= l.speed
			if stay := 4 * (1<<l.stops - 1); l.moves > 3 || stay > minute {
				t.Fatalf("seed %d: in minute %d %s of %.0f minutes has stopped %d times and moved %d times", seed, minute, id, l.length, l.stops, l.moves)
			}
		}
	}
	if len(tasks) > 0 {
		t.Errorf("seed %d: %d tasks never end", seed, len(tasks))
	}
}

// crowded reports whether what runs where a task does uses more memory than there is.
func crowded(tasks map[string]*life, runs map[string]bool, l *life, whole profile.Bytes) bool {
	for _, g := range l.on {
		used := profile.Bytes(0)
		for id := range runs {
			if slices.Contains(tasks[id].on, g) {
				used += tasks[id].peak
			}
		}
		if used > whole {
			return true
		}
	}
	return false
}
