package solo

import (
	"testing"
	"time"

	"example.com/colloc/profile"
)

// told is a step that a run tells, so many seconds after its start.
type told struct {
	after    float64
	step     int64
	restarts int
}

func start() time.Time { return time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC) }

func at(seconds float64) time.Time {
	return start().Add(time.Duration(seconds * float64(time.Second)))
}

func conclude(t *testing.T, w *Watch, seconds float64) (*profile.Profile, Timing) {
	t.Helper()
	p, timing, err := w.Conclude(at(seconds), profile.Spec{Model: profile.Model{Name: "m"}, Training: profile.Training{BatchSize: 1}}, profile.GPUModel{})
	if err != nil {
		t.Fatal(err)
	}
	return p, timing
}

// TestTiming: a step takes what lies between the first and the last one by their number, and
// the time before is start-up but for the steps that nobody saw; the profile has the time of a
// step without the pauses at new epochs.
func TestTiming(t *testing.T) {
	for _, tt := range []struct {
		name          string
		steps         []told
		step, startup float64 // in seconds; a negative one is not known
		restarts      int
		profiled      float64 // the same, in the profile
	}{
		{"tells nothing", nil, -1, -1, 0, -1},
		{"one step", []told{{5, 1, 0}}, -1, -1, 0, -1},
		{"two a second from the fifth on", []told{{10, 5, 0}, {11, 7, 0}, {20, 25, 0}}, 0.5, 7.5, 0, 0.5},
		{"the same again, and one before", []told{{10, 5, 0}, {15, 5, 0}, {16, 4, 0}, {20, 25, 0}}, 0.5, 7.5, 0, 0.5},
		{"a pause at the end", []told{{10, 5, 0}, {20, 25, 0}, {50, 25, 0}}, 0.5, 7.5, 0, 0.5},
		{"so many at once that none were before", []told{{1, 100, 0}, {2, 101, 0}}, 1, 0, 0, 1},
		{"a minute between epochs", []told{{2, 1, 3}, {11, 10, 3}, {72, 11, 4}, {81, 20, 4}}, 79.0 / 19, 0, 1, 1},
		{"each step an epoch", []told{{2, 1, 0}, {4, 2, 1}, {6, 3, 2}}, 2, 0, 2, -1},
		{"faster than the clock", []told{{2, 1, 0}, {2 + 1e-9, 1_000_000, 0}}, 0, 2, 0, 1e-9},
	} {
		w := Begin("7", start())
		for _, s := range tt.steps {
			w.Step(at(s.after), profile.Some(s.step), s.restarts)
			w.Step(at(s.after+0.1), profile.Opt[int64]{}, s.restarts) // looked, and told nothing
		}
		p, timing := conclude(t, w, 100)
		near := func(got profile.Opt[time.Duration], want float64) bool {
			d, known := got.Get()
			return known == (want >= 0) && (!known || d.Round(time.Microsecond) == time.Duration(want*float64(time.Second)).Round(time.Microsecond))
		}
		if !near(timing.Step, tt.step) || !near(timing.Startup, tt.startup) || timing.Restarts != tt.restarts || timing.Run != "7" || timing.Watched != 100*time.Second {
			t.Errorf("%s: %+v, want steps of %v s after %v s, %d restarts", tt.name, timing, tt.step, tt.startup, tt.restarts)
		}
		if got := p.Vector.Or(profile.MedianStepTime, -1); got != tt.profiled {
			t.Errorf("%s: the profile has steps of %v s, want %v", tt.name, got, tt.profiled)
		}
	}
}

// TestSamples: what the GPU did counts from the first step on, or all of it where there was
// none, and not at all where others were beside the run; memory is the run's own in any case.
func TestSamples(t *testing.T) {
	for _, tt := range []struct {
		name         string
		step, joined bool
		busy         float64 // 0 is not known
	}{
		{"from the first step on", true, false, 0.75},
		{"no step", false, false, 0.5},
		{"joined", true, true, 0},
	} {
		w := Begin("7", start())
		w.Sample(profile.Sample{At: at(1), GPUBusy: profile.Some(0.25), MemUsed: profile.Some(30 * profile.GiB)})
		if tt.step {
			w.Step(at(2), profile.Some[int64](1), 0)
		}
		w.Sample(profile.Sample{At: at(2), GPUBusy: profile.Some(0.75), MemUsed: profile.Some(30 * profile.GiB)})
		if tt.step {
			w.Step(at(3), profile.Some[int64](2), 0)
		}
		if tt.joined {
			w.Join()
		}
		w.Peak(profile.Some(2 * profile.GiB))
		p, _ := conclude(t, w, 10)
		_, stepped := p.Vector.Get(profile.MedianStepTime)
		if got := p.Vector.Or(profile.MeanGPUBusy, 0); got != tt.busy || stepped != (tt.step && !tt.joined) || w.joined != tt.joined {
			t.Errorf("%s: busy %v, a step known %v; want busy %v", tt.name, got, stepped, tt.busy)
		}
		if peak := p.Vector.Or(profile.PeakMemory, 0); peak != float64(2*profile.GiB) {
			t.Errorf("%s: a peak of %v", tt.name, profile.Bytes(peak))
		}
	}
}

// TestDone: enough is seen so long after the first step, or after twice that where there is
// none.
func TestDone(t *testing.T) {
	for _, tt := range []struct {
		first, now float64 // 0 is no step
		want       bool
	}{{0, 19.9, false}, {0, 20, true}, {15, 24.9, false}, {15, 25, true}} {
		w := Begin("7", start())
		if tt.first > 0 {
			w.Step(at(tt.first), profile.Some[int64](3), 0)
			w.Step(at(tt.now), profile.Some[int64](5), 0)
		}
		if got := w.Done(at(tt.now), 10*time.Second); got != tt.want {
			t.Errorf("first step at %v s: done at %v s is %v", tt.first, tt.now, got)
		}
		if n := w.Steps(); n != map[bool]int64{true: 2}[tt.first > 0] {
			t.Errorf("first step at %v s: %d steps since", tt.first, n)
		}
	}
}
