package online_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// TestSchedulerResume: a task whose stop is not carried out goes on as one that never was to stop, and loses as much if
// it dies.
func TestSchedulerResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 4))
	for range 50 {
		gpus := 1 + rng.IntN(2)
		low := job("low", 2, 1, time.Duration(60+rng.IntN(600))*time.Minute)
		low.GPUs, low.Alone, low.Restart = gpus, true, profile.Some(time.Duration(rng.IntN(10))*time.Minute)
		high := job("high", 2, 1, time.Hour)
		high.GPUs, high.Alone, high.Class = gpus, true, 1
		began := time.Duration(rng.IntN(60)) * time.Minute
		stopped := began + time.Duration(40+rng.IntN(60))*time.Minute
		s, twin := scheduler(t, gpus, nil), scheduler(t, gpus, nil)
		for _, s := range []*online.Scheduler{s, twin} {
			decided(t, s, 0)
			submit(t, s, low)
			decided(t, s, began)
		}
		submit(t, s, high)
		if got := what(t, s, stopped); got != "low stops, high starts" {
			t.Fatal(got)
		}
		on := []int{0, 1}[:gpus]
		ok(t, s.Withdraw("high"), s.Resume("low", on...), twin.Advance(stopped))
		if s.Resume("low", on...) == nil {
			t.Error("a task that runs was resumed")
		}
		same := func(when string, at time.Duration) {
			t.Helper()
			decided(t, s, at)
			decided(t, twin, at)
			if diff := cmp.Diff(twin.Expect(1), s.Expect(1)); diff != "" {
				t.Fatalf("%s (-never to stop +resumed):\n%s", when, diff)
			}
		}
		same("at once", stopped)
		same("later", stopped+time.Duration(rng.IntN(60))*time.Minute)
		ok(t, s.Return("low"), twin.Return("low"))
		same("after it died", stopped+2*time.Hour)
	}
}

// TestExpectScaled: what takes so many times as long is expected as if it had been told so, whatever runs and waits.
func TestExpectScaled(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 5))
	for range 60 {
		factor := []float64{0.5, 2, 3}[rng.IntN(3)]
		s, twin := scheduler(t, 3, nil), scheduler(t, 3, nil)
		for n := range 1 + rng.IntN(12) {
			left := time.Duration(1+rng.IntN(300)) * time.Minute
			j := job(string(rune('a'+n)), []float64{0, 0.3, 2}[rng.IntN(3)], 1, left)
			j.GPUs = 1 + rng.IntN(8)/7
			long := j
			long.Left = profile.Some(time.Duration(float64(left) * factor))
			if n < 3 && j.GPUs == 1 {
				ok(t, s.Adopt(j, n), twin.Adopt(long, n))
			} else {
				submit(t, s, j)
				submit(t, twin, long)
			}
		}
		if diff := cmp.Diff(twin.Expect(1), s.Expect(factor)); diff != "" {
			t.Fatalf("times %v (-told +expected):\n%s", factor, diff)
		}
		if diff := cmp.Diff(s.Expect(1), s.Expect(-factor)); diff != "" {
			t.Fatalf("times %v (-1 +less than 0):\n%s", factor, diff)
		}
	}
}

// TestReportEnd: who runs beside others, or on a slow GPU, is expected to end when it was told.
func TestReportEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 6))
	for range 60 {
		gpus := cards(2)
		gpus[1].Labels = []string{"slow"}
		s, err := online.NewScheduler(gpus, uneven{}, packer.Limits{MaxSet: 4}, nil)
		ok(t, err)
		on, now := rng.IntN(2), time.Duration(rng.IntN(60))*time.Minute
		ok(t, s.Adopt(job("a", 0.3, 1, time.Hour), on))
		if rng.IntN(2) == 0 {
			ok(t, s.Adopt(job("b", 0.3, 1, 1000*time.Hour), on))
		}
		decided(t, s, 0)
		ok(t, s.Advance(now))
		in := time.Duration(1+rng.IntN(100_000)) * time.Second
		ok(t, s.ReportEnd("a", in))
		if end := s.Expect(1)["a"].End; (end - now - in).Abs() > 10*time.Millisecond {
			t.Fatalf("it is to end in %v, and is expected in %v", in, end-now)
		}
	}
}

// TestSeenOfNoGPU: what is seen of a task that no GPU can take is reserved all the same, with its margin.
func TestSeenOfNoGPU(t *testing.T) {
	s, err := online.NewScheduler(nil, pressing{}, packer.Limits{}, &online.SchedulerOptions{Growth: profile.Some(0.0)})
	ok(t, err)
	submit(t, s, job("a", 0, 30, time.Hour))
	ok(t, s.Seen("a", 7*profile.GiB))
	if r, err := s.Why("a"); err != nil || r.Code != packer.NoGPU || r.Memory != 7*profile.GiB {
		t.Errorf("%+v, %v; want no GPU for 7 GiB", r, err)
	}
}

// TestWhyNeverFast: a task that must be as fast as it is alone lacks GPUs, not speed.
func TestWhyNeverFast(t *testing.T) {
	for _, least := range []float64{0.9, 1} {
		s := scheduler(t, 1, nil)
		j := job("a", 0, 1, time.Hour)
		j.GPUs, j.MinSpeed = 2, least
		submit(t, s, j)
		if r, err := s.Why("a"); err != nil || r.Code != packer.TooFewGPUs || r.GPUs != 1 {
			t.Errorf("at least %v: %+v, %v; want one GPU more", least, r, err)
		}
	}
}
