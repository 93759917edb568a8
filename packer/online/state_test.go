package online_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/internal/golden"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

var steps = flag.Int("steps", race.Fewer(600), "how many events TestSchedulerState draws")

// told is all that a caller knows of a Scheduler.
type told struct {
	t    *testing.T
	rng  *rand.Rand
	new  func() *online.Scheduler
	s    *online.Scheduler
	now  time.Duration
	n    int
	jobs []*toldJob
	gpus []*toldGPU
}

type toldJob struct {
	online.Job
	on, forbidden []int
	held          bool
}

type toldGPU struct {
	packer.GPU
	foreign         profile.Bytes
	failed, drained bool
	machine         int
}

// again is another Scheduler that is told the same and given the state.
func (w *told) again() *online.Scheduler {
	state, err := w.s.State()
	ok(w.t, err)
	s := w.retold()
	if err := s.RestoreState(state); err != nil {
		w.t.Fatalf("%v\n%s", err, state)
	}
	if after, err := s.State(); err != nil || string(after) != string(state) {
		w.t.Fatalf("%v restored\n%s\nwant\n%s", err, after, state)
	}
	return s
}

// retold is another Scheduler that is told the same.
func (w *told) retold() *online.Scheduler {
	s := w.new()
	for g, c := range w.gpus {
		if c == nil {
			c = &toldGPU{GPU: packer.GPU{ID: fmt.Sprint("gone", g), Memory: 1}}
		}
		at, err := s.AddGPU(c.GPU, c.machine)
		if ok(w.t, err); at != g {
			w.t.Fatalf("GPU %d has index %d", g, at)
		}
	}
	for _, j := range w.rng.Perm(len(w.jobs)) {
		if j := w.jobs[j]; j.on == nil {
			ok(w.t, s.Submit(j.Job))
		} else {
			ok(w.t, s.Adopt(j.Job, j.on...))
		}
	}
	for _, j := range w.jobs {
		ok(w.t, s.Forbid(j.ID, j.forbidden...))
		if j.held {
			ok(w.t, s.Hold(j.ID))
		}
	}
	for g, c := range w.gpus {
		switch {
		case c == nil:
			ok(w.t, s.RemoveGPU(g))
			continue
		case c.failed:
			ok(w.t, s.Fail(g))
		case c.drained:
			ok(w.t, s.Drain(g))
		}
		ok(w.t, s.Foreign(g, c.foreign))
	}
	return s
}

// leave takes jobs off a GPU in the caller's books.
func (w *told) leave(g int) {
	for _, j := range w.jobs {
		if slices.Contains(j.on, g) {
			j.on = nil
		}
	}
}

func (w *told) job() (int, *toldJob) {
	if len(w.jobs) == 0 {
		return 0, nil
	}
	i := w.rng.IntN(len(w.jobs))
	return i, w.jobs[i]
}

func (w *told) draw(id string) online.Job {
	r := w.rng
	j := job(id, []float64{0.1, 0.4, 1}[r.IntN(3)], profile.Bytes(1+r.IntN(20)), time.Duration(1+r.IntN(300))*time.Minute)
	if r.IntN(2) == 0 {
		j.Kind = fmt.Sprint("k", r.IntN(5))
	}
	if r.IntN(2) == 0 {
		j.Left = profile.Opt[time.Duration]{}
	}
	if r.IntN(3) == 0 {
		j.Restart = profile.Some(time.Duration(r.IntN(3)) * time.Minute)
	}
	if r.IntN(6) == 0 {
		j.GPUs = 2
	}
	if r.IntN(6) == 0 {
		j.Weight, j.Class = float64(1+r.IntN(3)), r.IntN(2)
	}
	return j
}

func (w *told) gpu(id string) packer.GPU {
	memory := []profile.Bytes{24, 40, 80}[w.rng.IntN(3)]
	return packer.GPU{ID: id, Memory: memory * profile.GiB, Mechanisms: [][]profile.Mechanism{nil, {profile.MPS, profile.TimeSlice}}[w.rng.IntN(2)]}
}

// step draws an event and tells it to all; it returns what it was.
func (w *told) step(all ...*online.Scheduler) string {
	r := w.rng
	each := func(what string, f func(*online.Scheduler) error) string {
		for _, s := range all {
			ok(w.t, f(s))
		}
		return what
	}
	i, j := w.job()
	g := -1
	if len(w.gpus) > 0 {
		if g = r.IntN(len(w.gpus)); w.gpus[g] == nil {
			g = -1
		}
	}
	switch k := r.IntN(23); {
	case k < 6 && len(w.jobs) < 25:
		w.n++
		x := &toldJob{Job: w.draw(fmt.Sprint("t", w.n))}
		w.jobs = append(w.jobs, x)
		return each("submit "+x.ID, func(s *online.Scheduler) error { return s.Submit(x.Job) })
	case k < 10 && j != nil:
		w.jobs = slices.Delete(w.jobs, i, i+1)
		if k < 9 && j.on != nil {
			return each("finish "+j.ID, func(s *online.Scheduler) error { return s.Finish(j.ID) })
		}
		return each("withdraw "+j.ID, func(s *online.Scheduler) error { return s.Withdraw(j.ID) })
	case k == 10 && j != nil:
		j.on = nil
		return each("return "+j.ID, func(s *online.Scheduler) error { return s.Return(j.ID) })
	case k == 11 && j != nil && j.on != nil:
		peak := profile.Bytes(1+r.IntN(25)) * profile.GiB
		return each("seen "+j.ID, func(s *online.Scheduler) error { return s.Seen(j.ID, peak) })
	case k == 12 && j != nil:
		left := time.Duration(r.IntN(100)) * time.Minute
		return each("report "+j.ID, func(s *online.Scheduler) error { return s.Report(j.ID, left) })
	case k == 13 && j != nil:
		j.held = !j.held
		return each("hold "+j.ID, func(s *online.Scheduler) error {
			if j.held {
				return s.Hold(j.ID)
			}
			return s.Release(j.ID)
		})
	case k == 14 && j != nil:
		j.forbidden = nil
		if g >= 0 && r.IntN(3) > 0 {
			j.forbidden = []int{g}
		}
		return each("forbid "+j.ID, func(s *online.Scheduler) error { return s.Forbid(j.ID, j.forbidden...) })
	case k == 15 && j != nil && j.on == nil:
		j.Job = w.draw(j.ID)
		return each("change "+j.ID, func(s *online.Scheduler) error { return s.Change(j.Job) })
	case k == 16:
		at := slices.Index(w.gpus, nil)
		w.n++
		c := &toldGPU{GPU: w.gpu(fmt.Sprint("g", w.n)), machine: r.IntN(2)}
		if at >= 0 {
			w.gpus[at] = c
		} else if len(w.gpus) < 6 {
			w.gpus = append(w.gpus, c)
		} else {
			return ""
		}
		return each("add", func(s *online.Scheduler) error { _, err := s.AddGPU(c.GPU, c.machine); return err })
	case k == 22:
		most := 1 + r.IntN(3)
		return each("forget", func(s *online.Scheduler) error { return s.Forget(most) })
	case g < 0:
		return ""
	case k == 17:
		c := w.gpus[g]
		c.GPU = w.gpu(c.ID)
		return each("change", func(s *online.Scheduler) error { return s.ChangeGPU(g, c.GPU, c.machine) })
	case k == 18:
		c := w.gpus[g]
		if c.failed = !c.failed; c.failed {
			w.leave(g)
		}
		c.drained = false
		return each("fail", func(s *online.Scheduler) error {
			if c.failed {
				return s.Fail(g)
			}
			return s.Restore(g)
		})
	case k == 19 && !w.gpus[g].failed:
		w.gpus[g].drained = true
		return each("drain", func(s *online.Scheduler) error { return s.Drain(g) })
	case k == 20:
		w.gpus[g].foreign = profile.Bytes(r.IntN(10)) * profile.GiB
		return each("foreign", func(s *online.Scheduler) error { return s.Foreign(g, w.gpus[g].foreign) })
	case k == 21 && r.IntN(3) == 0:
		w.leave(g)
		w.gpus[g] = nil
		for _, j := range w.jobs {
			j.forbidden = slices.DeleteFunc(j.forbidden, func(o int) bool { return o == g })
		}
		return each("remove", func(s *online.Scheduler) error { return s.RemoveGPU(g) })
	}
	return ""
}

// decide lets all decide, who must say the same.
func (w *told) decide(what string, all ...*online.Scheduler) {
	var first []online.Decision
	for k, s := range all {
		ds, err := s.Decide(w.t.Context(), w.now)
		ok(w.t, err)
		mean, last := s.Forecast()
		ds = append(ds, online.Decision{Task: fmt.Sprint(mean, last)})
		if k == 0 {
			first = ds
		} else if diff := cmp.Diff(first, ds); diff != "" {
			w.t.Fatalf("after %s at %v (-lives +restored):\n%s", what, w.now, diff)
		}
	}
	for _, d := range first[:len(first)-1] {
		at := slices.IndexFunc(w.jobs, func(j *toldJob) bool { return j.ID == d.Task })
		if w.jobs[at].on = nil; d.Placed {
			w.jobs[at].on = append([]int{d.GPU}, d.Gang...)
		}
		for _, g := range w.jobs[at].on {
			if slices.Contains(w.jobs[at].forbidden, g) {
				w.t.Fatalf("after %s: %s starts where it must not", what, d.Task)
			}
		}
	}
}

// TestSchedulerState: a Scheduler that is restored before a step decides as the one that lives on,
// whatever happens, and so on from there; what both keep count of is what counting again says.
func TestSchedulerState(t *testing.T) {
	for seed, budget := range []int{0, 300, 3000} {
		w := &told{t: t, rng: rand.New(rand.NewPCG(uint64(seed), 9))}
		w.new = func() *online.Scheduler {
			s, err := online.NewScheduler(nil, pressing{}, packer.Limits{MaxSet: 4}, &online.SchedulerOptions{Budget: profile.Some(budget)})
			ok(t, err)
			return s
		}
		w.s = w.new()
		for range *steps / (1 + seed) {
			twin := w.again()
			w.now += time.Duration(w.rng.IntN(40)) * time.Minute
			if w.rng.IntN(2) == 0 {
				ok(t, w.s.Advance(w.now), twin.Advance(w.now))
			}
			what := w.step(w.s, twin)
			ok(t, w.s.Sound(), twin.Sound())
			if w.rng.IntN(4) > 0 {
				w.decide(what, w.s, twin)
				ok(t, w.s.Sound(), twin.Sound())
			}
			if w.rng.IntN(2) == 0 {
				w.s = twin
			}
		}
	}
}

// TestSchedulerStateDamaged: of each value of a state it is known which others it may have, and what is taken is
// sound; what is no state, or one of other tasks, is an error and no panic.
func TestSchedulerStateDamaged(t *testing.T) {
	w := &told{t: t, rng: rand.New(rand.NewPCG(3, 9))}
	w.new = func() *online.Scheduler {
		s, err := online.NewScheduler(nil, pressing{}, packer.Limits{MaxSet: 4}, &online.SchedulerOptions{Budget: profile.Some(0)})
		ok(t, err)
		return s
	}
	w.s = w.new()
	for range 150 {
		w.now += time.Duration(w.rng.IntN(40)) * time.Minute
		w.decide(w.step(w.s), w.s)
	}
	state, err := w.s.State()
	ok(t, err)
	golden.Leaves(t, "states.txt", [][]byte{state}, []string{"-1", "0", "3", "1099511627776", "72057594037927937"}, nil, func(doc []byte) bool {
		again := w.retold()
		if err := again.RestoreState(doc); err != nil {
			return false
		}
		if err := again.Sound(); err != nil {
			t.Errorf("%v, of\n%s", err, doc)
		}
		return true
	})
	s := scheduler(t, 2, nil)
	submit(t, s, job("a", 0, 1, time.Hour), job("b", 0, 1, time.Hour))
	good, err := s.State()
	ok(t, err)
	again := scheduler(t, 2, nil)
	submit(t, again, job("a", 0, 1, time.Hour), job("c", 0, 1, time.Hour))
	if err := again.RestoreState(good); !errors.Is(err, online.ErrUnknown) {
		t.Errorf("it was told of another task: %v", err)
	}
	if err := (*online.Scheduler)(nil).RestoreState(good); err == nil {
		t.Error("nil was restored")
	}
}
