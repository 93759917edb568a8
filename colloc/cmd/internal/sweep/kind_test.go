package sweep

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/internal/solo"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func TestTimeAlone(t *testing.T) {
	timing := map[string]solo.Timing{"k": {
		Run: "a", Startup: profile.Some(time.Second), Step: profile.Some(100 * time.Millisecond), Whole: profile.Some(12 * time.Second),
	}}
	for _, tt := range []struct {
		task, kind string
		want       time.Duration
		from       basis
	}{
		{"a", "k", 12 * time.Second, measuredAlone},
		{"b", "k", 11 * time.Second, measuredRate},
		{"c", "k", 10 * time.Second, estimated}, // nobody knows the time between its epochs
		{"d", "other", 10 * time.Second, estimated},
	} {
		r := record(tt.task, runner.Succeeded, func(r *runner.Record) {
			r.Ended = noon.Add(20 * time.Second)
			r.Step, r.Speed = profile.Some(int64(100)), profile.Some(0.5)
			if tt.task == "c" {
				r.Restarts = 1
			}
		})
		known := timing[tt.kind]
		if got, from := timeAlone(&r, &known); got != tt.want || from != tt.from {
			t.Errorf("%s: %v on basis %d, want %v on %d", tt.task, got, from, tt.want, tt.from)
		}
	}
}

// One after another, a task has all its GPUs at once.
func TestQueueUp(t *testing.T) {
	for _, tt := range []struct {
		gpus  int
		tasks []int // how many GPUs each takes, for 4 s
		want  time.Duration
	}{
		{2, []int{1, 1, 1, 1}, 8 * time.Second},
		{2, []int{2, 2, 2, 2}, 16 * time.Second},
		{3, []int{2, 2, 2}, 12 * time.Second},
		{3, []int{2, 1, 3, 0}, 12 * time.Second},
		{1, []int{2}, 4 * time.Second}, // one GPU has gone since
	} {
		free := make([]time.Duration, tt.gpus)
		for _, gpus := range tt.tasks {
			queueUp(free, gpus, 4*time.Second)
		}
		if got := slices.Max(free); got != tt.want {
			t.Errorf("%v on %d GPUs take %v, want %v", tt.tasks, tt.gpus, got, tt.want)
		}
	}
}

// What is known of one task is taken to be of the one kind that there is.
func TestNewKinds(t *testing.T) {
	p := &profile.Profile{}
	one := []grammar.Job{{Kind: "a"}, {Kind: "a"}}
	two := append(one, grammar.Job{Kind: "b"})
	for _, tt := range []struct {
		name  string
		jobs  []grammar.Job
		known []string
		a, b  bool // known then
	}{
		{"by its name", two, []string{"b"}, false, true},
		{"one and one", one, []string{"train.py"}, true, false},
		{"one of two", two, []string{"train.py"}, false, false},
		{"two of one", one, []string{"train.py", "other.py"}, false, false},
	} {
		known := make(map[string]solo.Kind)
		for _, name := range tt.known {
			known[name] = solo.Kind{Profile: p}
		}
		kinds := newKinds(tt.jobs, known)
		if a, b := kinds["a"].Profile == p, kinds["b"].Profile == p; a != tt.a || b != tt.b {
			t.Errorf("%s: a %t, b %t", tt.name, a, b)
		}
	}
}

// TestSaveKinds reads what is measured while it is written: it is always whole.
func TestSaveKinds(t *testing.T) {
	gpu, _ := profile.LookupGPU("A100-40GB")
	p, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 1}}, profile.Trace{}, gpu)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]solo.Kind{"train": {Profile: &p}}
	path := filepath.Join(t.TempDir(), profileName)
	if err := saveKinds(path, kinds); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		var err error
		for range 100 {
			err = errors.Join(err, saveKinds(path, kinds))
		}
		written <- err
	}()
	for {
		select {
		case err := <-written:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			if _, err := loadKinds(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestConclude(t *testing.T) {
	at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	sample := func(seconds, busy float64) *nvmlx.Sample {
		return &nvmlx.Sample{Device: "gpu0", Sample: profile.Sample{At: at(seconds), GPUBusy: profile.Some(busy), MemUsed: profile.Some(9 * profile.GiB)}}
	}
	gpu, _ := profile.LookupGPU("A100-40GB")
	k, rules := new(solo.Kind), &solo.Rules{Enough: 10 * time.Second, Usual: usual, Blind: true}
	follow := func(seconds float64, n int64) bool {
		r := record("a", runner.Running, func(r *runner.Record) { r.Step, r.Peak = profile.Some(n), profile.Some(profile.Bytes(n)*profile.GiB) })
		learned, err := k.Follow(at(seconds), "train", &r, rules, gpu)
		if err != nil {
			t.Fatal(err)
		}
		return learned
	}
	first := record("a", runner.Running, nil)
	other := record("b", runner.Running, nil)
	if !k.Begin(noon, &first, false) || k.Begin(noon, &other, false) || k.Watched() != &first {
		t.Error("the second is watched, too")
	}
	k.Sample(sample(1, 0)) // it loads its data
	follow(5, 2)
	k.Sample(sample(6, 0.5))
	k.Sample(sample(7, 0.7))
	follow(7, 6)
	follow(8, 6)
	if follow(14, 6) || !follow(15, 6) {
		t.Error("with steps a task is watched from the first on")
	}
	want := solo.Timing{Run: "a", Watched: 15 * time.Second, Startup: profile.Some(4 * time.Second), Step: profile.Some(500 * time.Millisecond)}
	if k.Timing != want || k.Watched() != nil {
		t.Errorf("%+v, want %+v", k.Timing, want)
	}
	busy, peak := k.Profile.Vector.Or(profile.MeanGPUBusy, -1), k.Profile.Vector.Or(profile.PeakMemory, -1)
	if math.Abs(busy-0.6) > 1e-9 || k.Measured().Vector.Or(profile.PeakMemory, -1) != float64(6*profile.GiB) || peak < 6.1*float64(profile.GiB) || peak > 6.4*float64(profile.GiB) {
		t.Errorf("busy %v, peak %v: want 0.6, without start-up, and 6 GiB, of the task alone, with a bound for the next", busy, peak)
	}
	saw := func(peak profile.Bytes, state runner.State) bool {
		r := record("b", state, func(r *runner.Record) { r.Peak = profile.Some(peak) })
		return k.Saw(&r, rules)
	}
	old := k.Profile
	if saw(6*profile.GiB+profile.MiB, runner.Running) || !saw(7*profile.GiB, runner.Running) || old.Vector.Or(profile.PeakMemory, 0) != peak {
		t.Error("a peak within the margin counts, a larger one does not, or changes a profile that is in use")
	}
	path := filepath.Join(t.TempDir(), profileName)
	if err := saveKinds(path, map[string]solo.Kind{"train": *k, "unknown": {}}); err != nil {
		t.Fatal(err)
	}
	loaded, err := loadKinds(path)
	if err != nil || len(loaded) != 1 || loaded["train"].Timing != k.Timing || measured(loaded["train"]).Vector.Or(profile.PeakMemory, 0) != float64(7*profile.GiB) {
		t.Errorf("loaded %+v, %v", loaded["train"], err)
	}
	for range 2 { // those that are over differ by half
		saw(7*profile.GiB, runner.Succeeded)
		saw(14*profile.GiB, runner.Succeeded)
	}
	if next := profile.BytesOf(k.Profile.Vector.Or(profile.PeakMemory, 0)); next < 18*profile.GiB || next > 28*profile.GiB {
		t.Errorf("after runs of 7 and 14 GiB the next reserves %v", next)
	}
}

// TestConcludeEpochs watches a task that validates for 2 s between its epochs: its
// steps are told without that, and its time with it.
func TestConcludeEpochs(t *testing.T) {
	gpu, _ := profile.LookupGPU("A100-40GB")
	k, rules := new(solo.Kind), &solo.Rules{Enough: 4 * time.Second, Blind: true}
	first := record("a", runner.Running, nil)
	k.Begin(noon, &first, false)
	for _, tick := range []struct {
		step     int64
		restarts int
	}{{step: 0, restarts: 0}, {step: 10, restarts: 0}, {step: 11, restarts: 1}, {step: 20, restarts: 1}} {
		seconds := float64(tick.step)/10 + 2*float64(tick.restarts)
		r := record("a", runner.Running, func(r *runner.Record) { r.Step, r.Restarts = profile.Some(tick.step+1), tick.restarts })
		if learned, err := k.Follow(noon.Add(time.Duration(seconds*float64(time.Second))), "train", &r, rules, gpu); err != nil || learned != (tick.step == 20) {
			t.Fatalf("at step %d: learned %t, %v", tick.step, learned, err)
		}
	}
	if within := k.Profile.Vector.Or(profile.MedianStepTime, 0); math.Abs(within-0.1) > 1e-9 || k.Timing.Step.Or(0) != 200*time.Millisecond {
		t.Errorf("a step takes %v s, and %v with what is between epochs; want 0.1 s and 200 ms", within, k.Timing.Step)
	}
}

// noon is when the tests play.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func measured(k solo.Kind) *profile.Profile { return k.Measured() }

func record(id string, state runner.State, change func(r *runner.Record)) runner.Record {
	r := runner.Record{Task: runner.Task{ID: id}, State: state, GPU: "gpu0", Started: noon, Reserved: 4 * profile.GiB}
	if change != nil {
		change(&r)
	}
	return r
}
