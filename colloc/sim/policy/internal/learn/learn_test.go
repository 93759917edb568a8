package learn

import (
	"math"
	"slices"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/stage"
	"example.com/colloc/profile"
)

// scene calls a function with the state of two cards of two products and four tasks that
// wait: one of type a, one of type b, and two of no type. Predicted are 0.8 for two, 0.5
// for three.
func scene(t *testing.T, do func(s *sim.State, tasks []*sim.TaskView)) {
	t.Helper()
	var tasks []sim.Task
	for _, id := range []string{"a", "b", "", ""} {
		tasks = append(tasks, sim.Task{Type: id})
	}
	node := sim.Node{GPUs: []sim.GPU{{Model: profile.GPUModel{Name: "card"}}, {Model: profile.GPUModel{Name: "other"}}}}
	stage.Play(t, &sim.Cluster{Nodes: []sim.Node{node}}, tasks, sim.Options{Predicted: sim.Constant{1, 0.8, 0.5}}, func(s *sim.State) {
		do(s, slices.Collect(s.Waiting()))
	})
}

// tell observes a set on the first card.
func tell(t *testing.T, k *Known, s *sim.State, speeds []float64, set ...*sim.TaskView) {
	t.Helper()
	if err := k.Observe(s, &sim.CoRun{GPU: s.GPUs()[0], Mechanism: profile.TimeSlice, Set: set, Speeds: speeds}); err != nil {
		t.Fatal(err)
	}
}

// expect compares what is known of a set.
func expect(t *testing.T, k *Known, s *sim.State, gpu int, set []*sim.TaskView, want ...float64) {
	t.Helper()
	got := make([]float64, len(set))
	if err := k.Speeds(s, s.GPUs()[gpu], profile.TimeSlice, set, got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-9 {
			t.Errorf("GPU %d, set of %d: speeds %v, want %v", gpu, len(set), got, want)
			return
		}
	}
}

// TestKnown: a pair that was measured goes mostly by that, other sets by how much the product's
// slowdowns were predicted too small, other products as before; and all from the next Learn on.
func TestKnown(t *testing.T) {
	scene(t, func(s *sim.State, x []*sim.TaskView) {
		k := New()
		pair, untyped, three := x[:2], x[2:], x[:3]
		tell(t, k, s, []float64{0.5, 0.4}, pair...)
		expect(t, k, s, 0, pair, 0.8, 0.8)
		if !k.Learn() {
			t.Error("the first observation is not learned")
		}
		// Slowdowns less one are 1 and 1.5, predicted 0.25 each: too small by 3.5 / 1.5.
		scaled := 1 / (1 + 0.25*3.5/1.5)
		expect(t, k, s, 0, untyped, scaled, scaled)
		expect(t, k, s, 0, three, 0.3, 0.3, 0.3) // 1 becomes 7/3
		expect(t, k, s, 0, pair, (scaled/16+0.5)/(17./16), (scaled/16+0.4)/(17./16))
		expect(t, k, s, 0, pair[:1], 1)
		expect(t, k, s, 1, pair, 0.8, 0.8)
		tell(t, k, s, []float64{0.6, 0.5}, pair...)
		k.LearnNow() // 0.5 and 0.6 of one, 0.4 and 0.5 of the other; 1, 2/3, 1.5 and 1 against four times 0.25
		scaled = 1 / (1 + 0.25*(1+1+2./3+1.5+1)/2)
		expect(t, k, s, 0, pair, (scaled/16+1.1)/(33./16), (scaled/16+0.9)/(33./16))
	})
}

// TestNotLearned: one alone, and a set in which somebody died, tell nothing; of who stood still
// no slowdown is known; and faster than alone is no slowdown.
func TestNotLearned(t *testing.T) {
	scene(t, func(s *sim.State, x []*sim.TaskView) {
		k := New()
		tell(t, k, s, []float64{0.1}, x[0])
		if err := k.Observe(s, &sim.CoRun{GPU: s.GPUs()[0], Set: x[:2], Speeds: []float64{0.1, 0.1}, OutOfMemory: x[1]}); err != nil {
			t.Fatal(err)
		}
		if k.Learn() {
			t.Error("nothing was observed, and learned")
		}
		tell(t, k, s, []float64{0, 1.5}, x[2:]...)
		k.LearnNow() // of two predictions of 0.25 the second alone was measured: 1 / 1.25
		expect(t, k, s, 0, x[2:], 1/1.2, 1/1.2)
		expect(t, k, s, 0, x[:2], 1/1.2, 1/1.2) // tasks of no type are no pair
	})
}

// TestLearnInSteps: it is worth while to learn when there is twice as much as the last time.
func TestLearnInSteps(t *testing.T) {
	scene(t, func(s *sim.State, x []*sim.TaskView) {
		k := New()
		var learned []int
		for i := range 8 {
			tell(t, k, s, []float64{0.5, 0.5}, x[:2]...)
			if k.Learn() {
				learned = append(learned, i+1)
			}
		}
		if !slices.Equal(learned, []int{1, 2, 4, 8}) || k.Learn() {
			t.Errorf("learned at %v of eight observations, want 1, 2, 4 and 8", learned)
		}
	})
}
