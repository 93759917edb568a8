package online_test

import (
	"errors"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

func ok(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// sized are GPUs of so many GiB.
func sized(t *testing.T, headroom float64, memory ...profile.Bytes) *online.Scheduler {
	t.Helper()
	gpus := cards(len(memory))
	for i, m := range memory {
		gpus[i].Memory = m * profile.GiB
	}
	s, err := online.NewScheduler(gpus, pressing{}, packer.Limits{MaxSet: 4, Headroom: profile.Some(headroom)}, nil)
	ok(t, err)
	return s
}

// TestSchedulerFullCards: tasks whose peak nearly fills a GPU start again, and those of their
// Kind, gangs too, where a larger GPU has no second one for them.
func TestSchedulerFullCards(t *testing.T) {
	for percent := 93; percent <= 98; percent++ {
		for _, width := range []int{1, 2} {
			s := sized(t, 0.02, 80, 40, 40)
			if width == 1 {
				ok(t, s.RemoveGPU(0))
			}
			of := func(id string) online.Job {
				j := job(id, 0, 30, time.Hour)
				j.Kind, j.GPUs = "k", width
				return j
			}
			submit(t, s, of("first"))
			first := decided(t, s, 0)
			ok(t, s.Seen("first", profile.Bytes(percent)*40*profile.GiB/100))
			submit(t, s, of("second"))
			if got := decided(t, s, 0); first == "" || width == 2 && got != "" || width == 1 && got != "second[2]" {
				t.Fatalf("%d %%, %d GPUs: at first %q, then %q", percent, width, first, got)
			}
			ok(t, s.Finish("first"), s.Return("second"))
			if got := decided(t, s, time.Hour); got == "" {
				t.Errorf("%d %%, %d GPUs: another of its kind never starts", percent, width)
			}
		}
	}
}

// TestSchedulerWithdraw: tasks that were withdrawn or whose start was refused teach no length.
func TestSchedulerWithdraw(t *testing.T) {
	for name, leave := range map[string]func(*online.Scheduler, string) error{
		"withdrawn": (*online.Scheduler).Withdraw,
		"refused": func(s *online.Scheduler, id string) error {
			return errors.Join(s.Return(id), s.Withdraw(id))
		},
	} {
		s := scheduler(t, 1, nil)
		at := oneByOne(t, s, 2*time.Hour, 2*time.Hour, 2*time.Hour)
		for range 5 {
			submit(t, s, unknown("x", profile.Opt[time.Duration]{}))
			decided(t, s, at)
			at += time.Second
			ok(t, leave(s, "x"))
		}
		submit(t, s, unknown("x", profile.Opt[time.Duration]{}))
		decided(t, s, at)
		if mean, _ := s.Forecast(); mean < 110*time.Minute {
			t.Errorf("%s: the next is forecast to run for %v, want some 2 h", name, mean)
		}
	}
}

// TestSchedulerReturn: a run that died gives back its work and its place in the queue; what
// changed of the task counts at its next start.
func TestSchedulerReturn(t *testing.T) {
	s := scheduler(t, 1, &online.SchedulerOptions{Budget: profile.Some(0)})
	submit(t, s, job("a", 2, 10, 5*time.Hour), job("b", 2, 10, 5*time.Hour))
	decided(t, s, 0)
	decided(t, s, time.Hour)
	if _, last := s.Forecast(); last != 9*time.Hour {
		t.Fatalf("%v are left, want 9 h", last)
	}
	ok(t, s.Return("a"))
	larger := job("a", 2, 39, 5*time.Hour)
	larger.Left = profile.Opt[time.Duration]{}
	ok(t, s.Change(larger))
	if r, err := s.Why("a"); err != nil || r.Code != packer.TooLarge || r.Memory != 39*profile.GiB {
		t.Fatalf("it reserves more than there is: %+v, %v", r, err)
	}
	larger.Memory = 20 * profile.GiB
	ok(t, s.Change(larger))
	if got := decided(t, s, time.Hour); got != "a[0]" {
		t.Fatalf("started %s, want a again", got)
	}
	if _, last := s.Forecast(); last != 10*time.Hour {
		t.Errorf("%v are left, want 10 h", last)
	}
	wide := larger
	wide.GPUs = 2
	if err := s.Change(wide); err == nil {
		t.Error("a task that runs became a gang")
	}
	if err := s.Change(job("c", 0, 1, 0)); !errors.Is(err, online.ErrUnknown) {
		t.Errorf("change of an unknown task: %v", err)
	}
}

// TestSchedulerHold: a task that is held does not start, and keeps its place.
func TestSchedulerHold(t *testing.T) {
	s := scheduler(t, 1, nil)
	submit(t, s, job("a", 2, 1, time.Hour), job("b", 2, 1, time.Hour), job("c", 2, 1, time.Hour))
	ok(t, s.Hold("a"))
	if got := decided(t, s, 0); got != "b[0]" {
		t.Fatalf("started %s", got)
	}
	ok(t, s.Release("a"), s.Finish("b"))
	if got := decided(t, s, time.Hour); got != "a[0]" {
		t.Fatalf("started %s, want a before c", got)
	}
}

// TestSchedulerClasses: those of a higher class go first, whatever they weigh, and those of a
// lower one stop for them, however short they are.
func TestSchedulerClasses(t *testing.T) {
	s := scheduler(t, 1, nil)
	low := job("low", 2, 1, time.Minute)
	low.Weight, low.Restart = 1000, profile.Some(time.Second)
	high := job("high", 2, 1, 10*time.Hour)
	high.Class, high.Alone = 1, true
	submit(t, s, low, high)
	if got := decided(t, s, 0); got != "high[0]" {
		t.Fatalf("started %s", got)
	}
	ok(t, s.Withdraw("high"))
	if got := decided(t, s, time.Minute); got != "low[0]" {
		t.Fatalf("started %s", got)
	}
	submit(t, s, high)
	if got := what(t, s, time.Hour); got != "low stops, high starts" {
		t.Errorf("%s, want high in the place of low", got)
	}
}

// TestSchedulerRetold: who is told of runs one after the other, without a decision between, comes to what had been decided.
func TestSchedulerRetold(t *testing.T) {
	s := scheduler(t, 1, nil)
	ok(t, s.Advance(0), s.Adopt(job("a", 0, 1, 3*time.Hour), 0), s.Advance(time.Hour), s.Adopt(job("b", 0, 1, 30*time.Hour), 0), s.Advance(2*time.Hour))
	decided(t, s, 2*time.Hour)
	now := scheduler(t, 1, nil)
	ok(t, now.Adopt(job("a", 0, 1, 3*time.Hour), 0))
	decided(t, now, 0)
	decided(t, now, time.Hour)
	ok(t, now.Adopt(job("b", 0, 1, 30*time.Hour), 0))
	decided(t, now, time.Hour)
	decided(t, now, 2*time.Hour)
	got, want := s.Expect(1), now.Expect(1)
	if got["a"] != want["a"] || got["b"] != want["b"] || want["a"].End >= 5*time.Hour {
		t.Errorf("they end at %v, want %v", got, want)
	}
}

// TestSchedulerLowest: of those who may stop for a higher class the lowest do, however much is left of others.
func TestSchedulerLowest(t *testing.T) {
	s := scheduler(t, 3, nil)
	for i, class := range []int{2, 1, 2} {
		j := job([]string{"a", "b", "c"}[i], 2, 1, time.Duration(10-9*(i%2))*time.Hour)
		j.Class, j.Alone, j.Restart = class, true, profile.Some(time.Second)
		ok(t, s.Adopt(j, i))
	}
	high := job("high", 2, 1, time.Hour)
	high.Class, high.Alone = 3, true
	submit(t, s, high)
	if got := what(t, s, time.Minute); got != "b stops, high starts" {
		t.Errorf("%s, want high in the place of b", got)
	}
}

// TestSchedulerGPUs: GPUs come, go, change and hold foreign memory while it runs.
func TestSchedulerGPUs(t *testing.T) {
	s := sized(t, 0, 40)
	submit(t, s, job("a", 0, 30, time.Hour), job("b", 0, 30, time.Hour), job("c", 0, 60, time.Hour))
	if got := decided(t, s, 0); got != "a[0]" {
		t.Fatalf("started %s", got)
	}
	g, err := s.AddGPU(packer.GPU{ID: "new", Memory: 40 * profile.GiB}, 1)
	ok(t, err, s.Foreign(g, 20*profile.GiB))
	if got := decided(t, s, 1); got != "" {
		t.Fatalf("started %s beside foreign memory", got)
	}
	ok(t, s.Foreign(g, 10*profile.GiB))
	if got := decided(t, s, 2); got != "b[1]" {
		t.Fatalf("started %s", got)
	}
	ok(t, s.ChangeGPU(0, packer.GPU{ID: "grown", Memory: 90 * profile.GiB, Labels: []string{"new"}}, 0))
	if got := decided(t, s, 3); got != "c[0]" {
		t.Fatalf("started %s beside a", got)
	}
	ok(t, s.RemoveGPU(0))
	if got := decided(t, s, 4); got != "" {
		t.Fatalf("started %s on a GPU that is gone", got)
	}
	if r, err := s.Why("c"); err != nil || r.Code != packer.TooLarge {
		t.Errorf("c waits for a GPU that is gone: %+v, %v", r, err)
	}
	resident := packer.Task{ID: "resident", Labels: []string{"0"}, Memory: 15 * profile.GiB}
	if again, err := s.AddGPU(packer.GPU{ID: "back", Memory: 80 * profile.GiB, Residents: []packer.Task{resident}}, 0); err != nil || again != 0 {
		t.Fatalf("index %d, %v; want that of the one which went", again, err)
	}
	if got := decided(t, s, 5); got != "c[0]" && got != "a[0]" {
		t.Fatalf("started %s", got)
	}
	for _, err := range []error{s.RemoveGPU(7), s.Foreign(0, -1), s.ChangeGPU(0, packer.GPU{ID: "new", Memory: 1}, 0), s.ChangeGPU(3, packer.GPU{ID: "x"}, 0)} {
		if err == nil {
			t.Error("want an error")
		}
	}
	before, err := s.State()
	ok(t, err)
	for name, g := range map[string]packer.GPU{
		"a GPU twice":              {ID: "new", Memory: profile.GiB},
		"a resident that is known": {ID: "next", Memory: profile.GiB, Residents: []packer.Task{{ID: "a"}}},
		"a resident that is wide":  {ID: "next", Memory: profile.GiB, Residents: []packer.Task{{ID: "x", GPUs: 2}}},
	} {
		if _, err := s.AddGPU(g, 0); !errors.Is(err, online.ErrDuplicate) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := s.State(); err != nil || string(after) != string(before) {
			t.Errorf("%s: %s, %v\nbecame %s", name, before, err, after)
		}
	}
}

// TestSchedulerDrain: nothing starts on a GPU that is drained, and what runs there runs on.
func TestSchedulerDrain(t *testing.T) {
	s := scheduler(t, 2, nil)
	submit(t, s, job("a", 0, 30, time.Hour))
	decided(t, s, 0)
	ok(t, s.Drain(0, 1))
	submit(t, s, job("b", 0, 1, time.Hour))
	if got := decided(t, s, 1); got != "" {
		t.Fatalf("started %s", got)
	}
	if running, waiting := s.Tasks(); running != 1 || waiting != 1 {
		t.Errorf("%d run and %d wait", running, waiting)
	}
	ok(t, s.Restore(1))
	if got := decided(t, s, 2); got != "b[1]" {
		t.Errorf("started %s", got)
	}
}

// TestSchedulerForbid: a task does not go where it was refused, and others of its kind do.
func TestSchedulerForbid(t *testing.T) {
	s := scheduler(t, 2, nil)
	a, b := job("a", 2, 1, time.Hour), job("b", 2, 1, time.Hour)
	a.Kind, b.Kind = "k", "k"
	submit(t, s, a, b)
	ok(t, s.Forbid("a", 0))
	if got := decided(t, s, 0); got != "a[1] b[0]" {
		t.Fatalf("started %s", got)
	}
	ok(t, s.Return("a"), s.Forbid("a", 0, 1))
	if got := decided(t, s, 1); got != "" {
		t.Fatalf("started %s where it must not", got)
	}
	ok(t, s.Forbid("a"))
	if got := decided(t, s, 2); got != "a[1]" {
		t.Errorf("started %s", got)
	}
}

// TestSchedulerAdoptsWork: what a task that is adopted has behind it counts as if it had run
// here.
func TestSchedulerAdoptsWork(t *testing.T) {
	for _, done := range []time.Duration{0, 10 * time.Hour} {
		s := scheduler(t, 1, nil)
		j := unknown("a", profile.Opt[time.Duration]{})
		j.Done = profile.Some(done)
		ok(t, s.Adopt(j, 0))
		decided(t, s, 0)
		if mean, _ := s.Forecast(); (mean > 5*time.Hour) != (done > 0) {
			t.Errorf("after %v it is forecast to run for %v", done, mean)
		}
	}
}
