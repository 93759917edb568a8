package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/profile"
)

// TestStays: a run whose stop was refused runs on, and what was to start in its place waits again; it is
// asked to stop anew after a while that doubles. One that nobody wants any more is only asked later.
func TestStays(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{})
	s.submit("low", "ann", func(j *dispatch.Job) { j.Restart = profile.Some(time.Minute) })
	s.decide()
	s.submit("high", "ann", func(j *dispatch.Job) { j.Priority = 1 })
	stops := func(job string) (asked int) {
		t.Helper()
		actions, err := s.d.Decide(t.Context(), s.now)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range actions {
			if a.Verb != dispatch.Stop || a.Job != job {
				t.Fatalf("%+v; want a stop of %s", a, job)
			}
			asked++
		}
		return asked
	}
	is := func(want ...dispatch.Code) {
		t.Helper()
		runs := s.d.Runs()
		if on := s.d.On("gpu0"); len(runs) != len(want) || len(on) != len(runs) {
			t.Fatalf("%+v on gpu0, %+v in all; want %v", on, runs, want)
		}
		for i, r := range runs {
			if r.Code != want[i] || len(r.GPUs) != 1 || (r.Code == dispatch.Clears) != r.Since.IsZero() {
				t.Fatalf("%+v; want %v", r, want)
			}
		}
	}
	is(dispatch.Runs)
	for wait := dispatch.DefaultShun; wait < 8*dispatch.DefaultShun; wait *= 2 {
		if stops("low") != 1 {
			t.Fatal("low is not asked to stop for high")
		}
		is(dispatch.Stops, dispatch.Clears)
		s.now += time.Second
		s.tell(dispatch.Stays{Job: "low", Run: s.on["low"]})
		is(dispatch.Runs)
		if n, next := stops("low"), s.now+wait; n != 0 || s.why("high").Code != dispatch.Room {
			t.Fatalf("low is asked %d times at once, and high: %+v", n, s.why("high"))
		} else if at, ok := s.d.Next(); !ok || at != next {
			t.Fatalf("the next time is %v, want %v", at, next)
		}
		s.now += wait - 1
		if stops("low") != 0 {
			t.Fatal("low is asked too early")
		}
		s.now++
	}
	s.tell(dispatch.Withdrawn{Job: "low"})
	if stops("low") != 1 {
		t.Fatal("low is not wanted and may run")
	}
	s.tell(dispatch.Stays{Job: "low", Run: s.on["low"]})
	if stops("low") != 0 {
		t.Fatal("low is asked at once")
	}
	is(dispatch.Stops, dispatch.Clears)
	at, _ := s.d.Next()
	if s.now = at; stops("low") != 1 {
		t.Fatal("low is not asked again")
	}
	s.tell(dispatch.Ended{Job: "low", Run: s.on["low"], How: dispatch.Stopped})
	if got := s.decide(); len(got) != 1 || got[0] != "high" {
		t.Fatalf("%v starts, want high", got)
	}
}

// TestStaysEnds: a run that stays keeps its job's next run from nothing.
func TestStaysEnds(t *testing.T) {
	s := newSite(t, 1, dispatch.Options{})
	s.submit("low", "ann", func(j *dispatch.Job) { j.Restart = profile.Some(time.Minute) })
	s.decide()
	s.submit("high", "ann", func(j *dispatch.Job) { j.Priority = 1 })
	s.decide()
	s.tell(dispatch.Stays{Job: "low", Run: s.on["low"]}, dispatch.Held{Job: "high"})
	s.decide()
	s.tell(dispatch.Ended{Job: "low", Run: s.on["low"], How: dispatch.Lost})
	if got := s.decide(); len(got) != 1 || got[0] != "low" {
		t.Fatalf("%v starts, want low", got)
	}
	s.tell(dispatch.Released{Job: "high"})
	if s.decide(); s.why("high").Code != dispatch.Clears {
		t.Fatalf("high does not get its place: %+v", s.why("high"))
	}
}

// TestLeftOfRuns: what is left when a run ends, asked for or not, is what its job still runs for.
func TestLeftOfRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 3))
	for range 40 {
		s := newSite(t, 1, dispatch.Options{})
		s.submit("low", "ann", func(j *dispatch.Job) {
			j.Left, j.Restart = profile.Some(10*time.Hour), profile.Some(time.Minute)
		})
		s.decide()
		slow := s.d.Expect()["low"].End.Value.Hours() / 10
		s.now += time.Hour
		left, how := time.Duration(1+rng.IntN(1000))*time.Minute, dispatch.Lost
		if rng.IntN(2) == 0 {
			s.submit("high", "ann", func(j *dispatch.Job) { j.Priority = 1 })
			s.decide()
			s.tell(dispatch.Withdrawn{Job: "high"})
			how = dispatch.Stopped
		}
		s.tell(dispatch.Ended{Job: "low", Run: s.on["low"], How: how, Left: profile.Some(left)})
		if got := s.decide(); len(got) != 1 || got[0] != "low" {
			t.Fatalf("%v starts, want low", got)
		}
		want := time.Duration(slow * float64(left))
		if in := s.d.Expect()["low"].End.Value - s.now; (in - want).Abs() > time.Second {
			t.Fatalf("%v are left of one that was %v, and it is expected to end in %v, want %v", left, how, in, want)
		}
	}
}

// BenchmarkGPUAdded: what a GPU costs that comes to many.
func BenchmarkGPUAdded(b *testing.B) {
	model, _ := profile.LookupGPU("A100-SXM4-40GB")
	for _, n := range []int{5000, 40000} {
		b.Run(fmt.Sprintf("gpus=%d", n), func(b *testing.B) {
			for b.Loop() {
				s := newSite(b, 0, dispatch.Options{})
				for i := range n {
					s.tell(dispatch.GPUAdded{GPU: colloc.GPU{ID: fmt.Sprintf("gpu%d", i), Model: model}, Machine: i / 8})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/gpu")
		})
	}
}
