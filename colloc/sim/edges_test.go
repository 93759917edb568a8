package sim_test

import (
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// TestIdleBeyondAWord: of more cards than a machine word has bits, those that hold no
// task are idle, each once.
func TestIdleBeyondAWord(t *testing.T) {
	for _, busy := range []int{63, 64, 70} {
		idleBeside(t, busy)
	}
}

func idleBeside(t *testing.T, busy int) {
	t.Helper()
	looked := false
	run(t, cards(130), []sim.Task{task("a", 0, 10, 1), task("b", 1, 1, 1)}, script(func(s *sim.State) error {
		switch next := s.Next(); {
		case next == nil:
		case next.ID == "a":
			s.Start(next, busy)
		default:
			looked = true
			at := 0
			for g := range s.Idle() {
				if at == busy {
					at++
				}
				if g.Index != at {
					t.Errorf("card %d is idle, want %d next", g.Index, at)
				}
				at++
			}
			if at != 130 {
				t.Errorf("the last idle card is before %d, want 130", at)
			}
			s.Start(next, 0)
		}
		return nil
	}), sim.Options{})
	if !looked {
		t.Error("b was not seen")
	}
}

// TestWaitsForTheWorld: a policy that wakes again and again is not given up while a card
// is to return; where nothing is to come, it is.
func TestWaitsForTheWorld(t *testing.T) {
	for _, returns := range []time.Duration{seconds(5000), 0} {
		c := cards(1)
		c.Losses = []sim.Loss{{GPU: 0, At: 0, For: returns}}
		r := run(t, c, []sim.Task{task("a", 1, 10, 1)}, script(func(s *sim.State) error {
			s.WakeAt(s.Now() + time.Second)
			return pile(s)
		}), sim.Options{})
		if ended := len(r.Ends) == 1 && r.Ends[0].End == seconds(5010); ended != (returns > 0) {
			t.Errorf("returns after %v: ends %+v", returns, r.Ends)
		}
	}
}

// TestWakesBehindTheWorld: a policy is asked when it wanted to be, though a card fails before.
func TestWakesBehindTheWorld(t *testing.T) {
	c := cards(2)
	c.Losses = []sim.Loss{{GPU: 1, At: seconds(10)}}
	asked := false
	run(t, c, []sim.Task{task("a", 0, 100, 1)}, script(func(s *sim.State) error {
		if s.Now() == 0 {
			s.WakeAt(seconds(20))
		}
		asked = asked || s.Now() == seconds(20)
		return pile(s)
	}), sim.Options{})
	if !asked {
		t.Error("not asked at 20 s")
	}
}

// TestWideOptions: errors as wide and points as many as they may be are no fault.
func TestWideOptions(t *testing.T) {
	run(t, cards(1), []sim.Task{task("a", 0, 10, 1)}, script(pile), sim.Options{LengthError: 4, ObserveError: 4, Points: 1 << 20})
}

// TestSeen: the peak of a task is seen once it ran for long enough, and until then when
// that will be.
func TestSeen(t *testing.T) {
	for after, seen := range map[time.Duration]time.Duration{seconds(20): seconds(30), 0: seconds(70)} {
		looked := 0
		run(t, cards(1), []sim.Task{task("a", 10, 100, 3)}, script(func(s *sim.State) error {
			err := pile(s)
			for v := range s.Running() {
				peak, at, ok := s.Seen(v)
				want := profile.Bytes(0)
				if s.Now() >= seen {
					want = 3 * profile.GiB
				}
				if looked++; peak != want || ok != (want > 0) || at != seen {
					t.Errorf("at %v: %v, %v, %v", s.Now(), peak, at, ok)
				}
				s.WakeAt(at)
			}
			return err
		}), sim.Options{ObserveAfter: after})
		if looked != 2 {
			t.Errorf("looked %d times, want twice", looked)
		}
	}
}

// TestStopped: a gang has attained the time of all its GPUs and done its work until it is
// stopped, and no more while it waits.
func TestStopped(t *testing.T) {
	gang := task("gang", 0, 100, 1)
	gang.GPUs = 2
	looked := 0
	run(t, cards(2), []sim.Task{gang}, script(func(s *sim.State) error {
		if s.Now() == 0 {
			s.WakeAt(seconds(10))
			return pile(s)
		}
		look := func() {
			looked++
			if v := s.Task(0); s.Attained(v) != seconds(20) || s.Progress(v) != 0.1 {
				t.Errorf("at %v: it attained %v and did %v of its work, want 20 s and 0.1", s.Now(), s.Attained(v), s.Progress(v))
			}
		}
		look()
		if s.Now() == seconds(10) {
			s.Stop(s.Task(0))
			look()
			s.WakeAt(seconds(15))
		}
		return nil
	}), sim.Options{Until: seconds(20)})
	if looked != 3 {
		t.Errorf("looked %d times, want 3", looked)
	}
}

// TestPredictions: what is predicted of a task is not negative, and an error of its
// length is a factor about 1.
func TestPredictions(t *testing.T) {
	o := sim.Options{
		LengthError: 0.1, Seed: 3, Reserve: func(*sim.Task) profile.Bytes { return -1 },
		Likely: func(*sim.Task) profile.Bytes { return -1 }, Length: func(*sim.Task) time.Duration { return time.Hour },
	}
	run(t, cards(1), []sim.Task{task("a", 0, 10, 1)}, script(func(s *sim.State) error {
		for v := range s.Waiting() {
			if v.Reserve != 0 || v.Likely != 0 || v.Length == time.Hour || v.Length < time.Hour/2 || v.Length > 2*time.Hour {
				t.Errorf("reserve %v, likely %v, length %v", v.Reserve, v.Likely, v.Length)
			}
		}
		return pile(s)
	}), o)
}

func TestEventKindString(t *testing.T) {
	for kind, want := range map[sim.EventKind]string{-1: "unknown", 0: "none", sim.GPUReturn: "gpu-return", sim.GPUReturn + 1: "unknown"} {
		if kind.String() != want {
			t.Errorf("%d is %q, want %q", int(kind), kind, want)
		}
	}
}

// TestCompute: a MIG instance is a part of the most slices of its card, one of the only
// kind all of it.
func TestCompute(t *testing.T) {
	one := profile.MIGProfile{Name: "1g", Compute: 1}
	for want, model := range map[float64]profile.GPUModel{1: {}, 0.25: {MIG: []profile.MIGProfile{one, {Name: "4g", Compute: 4}}}} {
		if got := (&sim.GPU{Model: model, Slice: &one}).Compute(); got != want {
			t.Errorf("one slice of %d kinds is %v, want %v", len(model.MIG), got, want)
		}
	}
}

// TestTurned: a policy is told of a GPU once when it goes down and once when it is up again,
// though it is lost twice at a time.
func TestTurned(t *testing.T) {
	c := cards(2)
	c.Losses = []sim.Loss{{GPU: 0, At: seconds(10), For: seconds(20)}, {GPU: 0, At: seconds(15), For: seconds(5)}}
	told := map[time.Duration]int{}
	run(t, c, []sim.Task{task("a", 0, 100, 1)}, script(func(s *sim.State) error {
		for _, g := range s.Turned() {
			if told[s.Now()]++; g.Index != 0 || g.Up != (s.Now() == seconds(30)) {
				t.Errorf("at %v: GPU %d is up: %t", s.Now(), g.Index, g.Up)
			}
		}
		return pile(s)
	}), sim.Options{})
	if len(told) != 2 || told[seconds(10)] != 1 || told[seconds(30)] != 1 {
		t.Errorf("told %v, want of one at 10 and at 30 s", told)
	}
}

// TestSeries: the points of a run are equally far from one another, and no more than asked for.
func TestSeries(t *testing.T) {
	r := run(t, cards(1), []sim.Task{task("a", 0, 100, 1)}, script(pile), sim.Options{Points: 4})
	var at []time.Duration
	for _, p := range r.Series {
		at = append(at, p.At)
	}
	if want := []time.Duration{0, seconds(32), seconds(64), seconds(96)}; !slices.Equal(at, want) {
		t.Errorf("points at %v, want %v", at, want)
	}
}

// noted is a truth that notes how tasks that are alone share, and stops those.
type noted map[profile.Mechanism]bool

func (n noted) Speeds(_ *sim.GPU, mech profile.Mechanism, _ []*sim.Task, dst []float64) error {
	n[mech] = true
	clear(dst)
	return nil
}

// TestAlone: a model is asked of a task alone as of one that shares with nobody, however it
// was started; and it may say that a task stands still.
func TestAlone(t *testing.T) {
	asked := noted{}
	r := run(t, cards(1), []sim.Task{task("a", 0, 100, 1)}, script(func(s *sim.State) error {
		if s.Next() != nil {
			s.Place(sim.Launch{GPUs: []int{0}, Mechanism: profile.MPS})
		}
		return nil
	}), sim.Options{Truth: asked, Until: seconds(1000)})
	if len(asked) != 1 || !asked[profile.Exclusive] || r.Unfinished != 1 {
		t.Errorf("asked of %v, %d did not finish", asked, r.Unfinished)
	}
}
