package speed_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// speedsOf asks a model about a set on a card.
func speedsOf(t *testing.T, m sim.Model, gpu string, set ...*sim.Task) []float64 {
	t.Helper()
	dst := make([]float64, len(set))
	g := &sim.GPU{Model: profile.GPUModel{Name: gpu}}
	if err := m.Speeds(g, profile.TimeSlice, set, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

func near(t *testing.T, name string, got, want []float64, tol float64) {
	t.Helper()
	for i := range want {
		if len(got) != len(want) || !(math.Abs(got[i]-want[i]) <= tol) {
			t.Errorf("%s: got %v, want %v", name, got, want)
			return
		}
	}
}

func TestConstant(t *testing.T) {
	a := &sim.Task{}
	near(t, "zero", speedsOf(t, sim.Constant(nil), "x", a, a, a), []float64{1. / 3, 1. / 3, 1. / 3}, 1e-15)
	near(t, "pair", speedsOf(t, sim.Constant{1, 0.8}, "x", a, a), []float64{0.8, 0.8}, 0)
	near(t, "beyond", speedsOf(t, sim.Constant{1, 0.8}, "x", a, a, a, a), []float64{0.4, 0.4, 0.4, 0.4}, 1e-15)
}

func TestContention(t *testing.T) {
	l, m := &sim.Task{Class: "light"}, &sim.Task{Class: "medium"}
	near(t, "alone", speedsOf(t, speed.Contention{}, "x", m), []float64{1}, 0)
	near(t, "medium pair", speedsOf(t, speed.Contention{}, "x", m, m), []float64{1 / 1.35, 1 / 1.35}, 1e-12)
	near(t, "pessimistic", speedsOf(t, speed.Contention{Scale: 2}, "x", l, m), []float64{1 / (1 + 2*math.Sqrt(.035)), 1 / (1 + 2*math.Sqrt(.035))}, 1e-12)
}

func TestGuess(t *testing.T) {
	h := &sim.Task{Class: "heavy"}
	g := speed.Guess{Model: speed.Contention{Scale: 2}, Slowdown: 0.5}
	near(t, "alone", speedsOf(t, g, "x", h), []float64{1}, 0)
	near(t, "three", speedsOf(t, g, "x", h, h, h), []float64{0.5, 0.5, 0.5}, 1e-15)
}

func TestPairs(t *testing.T) {
	p, err := speed.NewPairs([]speed.PairSpeed{
		{GPU: "v100", A: "a", B: "b", SpeedA: 0.8, SpeedB: 0.5, SoloA: 10, SoloB: 20},
		{GPU: "v100", A: "a", B: "a", SpeedA: 0.6, SpeedB: 0.6, SoloA: 10, SoloB: 10},
		{GPU: "k80", A: "a", B: "b", SoloA: 5, SoloB: 2},
		{GPU: "t4", A: "b", B: "a", SpeedB: 0.5, SoloB: 5},
	}, "v100")
	if err != nil {
		t.Fatal(err)
	}
	a, b := &sim.Task{Type: "a"}, &sim.Task{Type: "b"}
	near(t, "measured", speedsOf(t, p, "V100-PCIe-16GB", a, b), []float64{0.8, 0.5}, 0)
	near(t, "other order", speedsOf(t, p, "V100", b, a), []float64{0.5, 0.8}, 0)
	// b beside b: mean of (b beside any) = 0.5 and of (any beside b) = 0.8
	near(t, "not measured", speedsOf(t, p, "v100", b, b), []float64{0.65, 0.65}, 1e-12)
	near(t, "three", speedsOf(t, p, "v100", a, a, b), []float64{1 / (1 + .25 + 2./3), 1 / (1 + .25 + 2./3), 1 / 3.}, 1e-12)
	near(t, "alone on the slower card", speedsOf(t, p, "k80", a), []float64{0.5}, 0)
	near(t, "did not fit", speedsOf(t, p, "k80", a, b), []float64{0.5 * speed.Floor, 0.1 * speed.Floor}, 1e-12)
	if err := p.Speeds(&sim.GPU{}, profile.TimeSlice, []*sim.Task{a}, make([]float64, 1)); err == nil {
		t.Error("no error for an unknown GPU")
	}
	near(t, "one that stood still did not fit", speedsOf(t, p, "t4", a, b), []float64{0.5 * speed.Floor, speed.Floor}, 1e-12)
	near(t, "unknown alone", speedsOf(t, p, "t4", b), []float64{1}, 0)
	for _, x := range []float64{math.NaN(), -0.1, 1.1 * sim.MaxSpeed, math.Inf(1)} {
		for _, m := range []speed.PairSpeed{{SpeedA: x}, {SoloB: x}} {
			if _, err := speed.NewPairs([]speed.PairSpeed{m}, ""); !errors.Is(err, sim.ErrSpeed) {
				t.Errorf("%+v: error %v", m, err)
			}
		}
	}
	if got := p.Types("t4"); !slices.Equal(got, []string{"a", "b"}) || p.Types("none") != nil {
		t.Errorf("types %q, and %q of a GPU that nobody measured; want a and b, and none", got, p.Types("none"))
	}
}

// TestStages: two tasks that need different resources interleave fully.
func TestStages(t *testing.T) {
	ms := time.Millisecond
	load := &sim.Task{ID: "l", Stages: sim.StageTimes{Load: 90 * ms, Compute: 10 * ms, Iteration: 100 * ms}}
	comp := &sim.Task{ID: "c", Stages: sim.StageTimes{Load: 10 * ms, Compute: 90 * ms, Iteration: 100 * ms}}
	near(t, "alone", speedsOf(t, speed.Stages{}, "x", load), []float64{1 / 1.015}, 1e-12)
	// swapping as wholes: max(90, 90) + max(10, 10) = 100 ms a cycle for both
	near(t, "pair", speedsOf(t, speed.Stages{Overhead: [4]float64{1, 1, 1, 1}}, "x", load, comp), []float64{1, 1}, 1e-12)
	// all four load for 90 ms, two at a time: loading takes two steps of four
	near(t, "four alike", speedsOf(t, speed.Stages{Overhead: [4]float64{1, 1, 1, 1}}, "x", load, load, load, load), []float64{100. / 180, 100. / 180, 100. / 180, 100. / 180}, 1e-3)
	if got := (speed.Stages{}).Cycle(nil); got != 0 {
		t.Errorf("cycle of nothing is %v", got)
	}
	// four and one in turn: cycles of 180 and 100 ms
	near(t, "five", speedsOf(t, speed.Stages{Overhead: [4]float64{1, 1, 1, 1}}, "x", load, load, load, load, load), []float64{100. / 280, 100. / 280, 100. / 280, 100. / 280, 100. / 280}, 1e-3)
}

// TestCycle: tasks that need the same take turns, but two load at once; those that need
// different things do not disturb each other, in whatever order they are given.
func TestCycle(t *testing.T) {
	load := func(n time.Duration) sim.StageTimes { return sim.StageTimes{Load: n, Iteration: n} }
	compute := func(n time.Duration) sim.StageTimes { return sim.StageTimes{Compute: n, Iteration: n} }
	exchange := func(n time.Duration) sim.StageTimes { return sim.StageTimes{Exchange: n, Iteration: n} }
	m := speed.Stages{Overhead: [4]float64{1, 1, 1, 1}}
	for _, tt := range []struct {
		name string
		set  []sim.StageTimes
		want float64
	}{
		{"two compute", []sim.StageTimes{compute(10), compute(20)}, 30},
		{"two exchange", []sim.StageTimes{exchange(10), exchange(20)}, 30},
		{"two load", []sim.StageTimes{load(10), load(20)}, 20},
		{"one computes, one exchanges", []sim.StageTimes{compute(10), exchange(20)}, 20},
		{"all three", []sim.StageTimes{compute(10), exchange(20), load(30)}, 30},
		{"three compute", []sim.StageTimes{compute(10), compute(20), compute(30)}, 60},
		{"three load", []sim.StageTimes{load(10), load(10), load(10)}, 20},
		{"four compute", []sim.StageTimes{compute(10), compute(10), compute(10), compute(10)}, 40},
		{"four load", []sim.StageTimes{load(10), load(10), load(10), load(10)}, 20},
		{"two of four compute", []sim.StageTimes{compute(40), exchange(20), load(10), compute(5)}, 45},
		{"five", []sim.StageTimes{load(1), load(1), load(1), load(1), load(1)}, 0},
	} {
		for range tt.set { // each comes first once
			if got := m.Cycle(tt.set); !(math.Abs(got-tt.want) <= 1e-9) {
				t.Errorf("%s: %v takes %v, want %v", tt.name, tt.set, got, tt.want)
			}
			tt.set = append(tt.set[1:], tt.set[0])
		}
		slices.Reverse(tt.set)
		if got := m.Cycle(tt.set); !(math.Abs(got-tt.want) <= 1e-9) {
			t.Errorf("%s: %v takes %v, want %v", tt.name, tt.set, got, tt.want)
		}
	}
}

// TestCycleOfAnyOrder: the cycle is the shortest of all orders, so that it is the same for each
// in which tasks are given.
func TestCycleOfAnyOrder(t *testing.T) {
	draw := rand.New(rand.NewPCG(29, 3))
	for i := range 60 {
		var set []sim.StageTimes
		for range 2 + i%3 {
			n := func() time.Duration { return time.Duration(1 + draw.IntN(100)) }
			set = append(set, sim.StageTimes{Load: n(), Compute: n(), Exchange: n()})
		}
		want := speed.Stages{}.Cycle(set)
		for range 40 {
			draw.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
			if got := (speed.Stages{}).Cycle(set); got != want {
				t.Fatalf("%v takes %v, and %v in another order", set, got, want)
			}
		}
	}
}

// TestNoisy: the error is that asked for, belongs to the question, and not to a
// task alone.
func TestNoisy(t *testing.T) {
	n := speed.Noisy{Model: sim.Constant{1, 1}, SD: 0.1, Seed: 1}
	sum, sum2, count := 0.0, 0.0, 0.0
	for i := range 50 {
		for j := range 50 {
			a, b := &sim.Task{Type: string(rune('a' + i))}, &sim.Task{Type: string(rune('A' + j))}
			first, second := speedsOf(t, n, "x", a, b), speedsOf(t, n, "x", b, a)
			if first[0] != second[1] || first[1] != second[0] {
				t.Fatalf("%v and, the other way round, %v", first, second)
			}
			if alone := speedsOf(t, n, "x", a); alone[0] != 1 {
				t.Fatalf("alone %v", alone)
			}
			x := math.Log(first[0])
			sum, sum2, count = sum+x, sum2+x*x, count+1
		}
	}
	mean, sd := sum/count, math.Sqrt(sum2/count)
	if math.Abs(mean) > 0.01 || math.Abs(sd-0.1) > 0.01 {
		t.Errorf("mean %v and standard deviation %v of the logarithm, want 0 and 0.1", mean, sd)
	}
}

// TestFitted asks the predictors through the model.
func TestFitted(t *testing.T) {
	model, ok := profile.LookupGPU("A100-40GB")
	if !ok {
		t.Fatal("no A100-40GB in the catalogue")
	}
	f := speed.Fitted{Interference: &interference.Predictor{}}
	set := []*sim.Task{{}, {}}
	dst := make([]float64, 2)
	gpu := &sim.GPU{Model: model}
	if err := f.Speeds(gpu, profile.TimeSlice, set, dst); err != nil {
		t.Fatal(err)
	}
	if dst[0] <= 0 || dst[0] > 1 || dst[0] != dst[1] {
		t.Errorf("speeds %v of two unknown tasks", dst)
	}
	gpu.Slice = &model.MIG[0]
	if err := f.Speeds(gpu, profile.Exclusive, set[:1], dst[:1]); err != nil {
		t.Fatal(err)
	}
	if dst[0] <= 0 || dst[0] > gpu.Compute()+1e-9 {
		t.Errorf("speed %v on %s, which has %v of the compute slices", dst[0], gpu.Slice.Name, gpu.Compute())
	}
	if err := f.Speeds(gpu, profile.MIG, set, dst); !errors.Is(err, interference.ErrMechanism) {
		t.Errorf("error %v", err)
	}
}

// TestPaced multiplies what another model says by the pace on the card.
func TestPaced(t *testing.T) {
	v100, known := profile.LookupGPU("V100")
	k80, also := profile.LookupGPU("K80")
	if !known || !also {
		t.Fatal("no V100 or K80 in the catalogue")
	}
	set, dst := []*sim.Task{{}, {}}, make([]float64, 2)
	paces := &pace.Predictor{}
	for _, m := range []speed.Paced{
		{Model: sim.Constant{1, 0.5}, Reference: v100},
		{Model: sim.Constant{1, 0.5}, Reference: v100, Pace: paces},
		{Model: sim.Constant{1, 0.5}},
	} {
		for _, gpu := range []profile.GPUModel{v100, k80} {
			if err := m.Speeds(&sim.GPU{Model: gpu}, profile.TimeSlice, set, dst); err != nil {
				t.Fatal(err)
			}
			want := 0.5 * paces.Pace(nil, &gpu).Value
			if m.Reference.Name != "" {
				want = 0.5 * paces.Ratio(nil, &gpu, &v100).Value
			}
			if dst[0] != want || dst[1] != want {
				t.Errorf("speeds %v on the %s, want %v", dst, gpu.Name, want)
			}
		}
	}
	if m := (speed.Paced{Model: speed.Contention{}}); m.Speeds(&sim.GPU{Model: k80}, profile.TimeSlice, set, dst) == nil {
		t.Error("tasks without a class are no error")
	}
}
