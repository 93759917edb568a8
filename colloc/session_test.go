package colloc_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// TestSessionTakesTheFasterGPU: of two empty GPUs, whatever their order, and then
// the other; measured throughputs turn it round.
func TestSessionTakesTheFasterGPU(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	net := trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)
	volta, kepler := empty(t, "a", "V100"), empty(t, "b", "K80")
	first := func(gpus ...colloc.GPU) string {
		t.Helper()
		s, err := p.Session(gpus, nil)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := p.Packed(colloc.Task{ID: "t", Profile: net})
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Arrive(packed)
		if err != nil || !d.Placed || d.Speed != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		return gpus[d.GPU].ID
	}
	for _, gpus := range [][]colloc.GPU{{volta, kepler}, {kepler, volta}} {
		if got := first(gpus...); got != "a" {
			t.Errorf("placed on %s", got)
		}
	}
	for _, o := range []struct {
		gpu  colloc.GPU
		rate float64
	}{{volta, 10}, {kepler, 20}} {
		if err := p.Observe(colloc.Observation{GPU: o.gpu.Model, Members: []colloc.Measurement{{Profile: net, Throughput: profile.Some(o.rate)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := first(volta, kepler); got != "b" {
		t.Errorf("with measured throughputs placed on %s", got)
	}
}

// TestSessionSharesAsFitSays: a session predicts what Fit does, also for tasks that
// nobody observed and on one kind of GPU.
func TestSessionSharesAsFitSays(t *testing.T) {
	p := shared(t)
	a, b := colloc.Task{ID: "a", Profile: describe(t)}, seen(t, "b", 0.3, 0.1, 2*profile.GiB)
	for _, gpus := range [][]colloc.GPU{{card(t, "g")}, {card(t, "g"), {ID: "small", Model: gpuModel(t, "K80"), Memory: profile.GiB}}} {
		s, err := p.Session(gpus, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range []colloc.Task{a, b} {
			packed, err := p.Packed(task)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Arrive(packed); err != nil {
				t.Fatal(err)
			}
		}
		v, err := p.Fit(b, card(t, "g", a))
		if err != nil {
			t.Fatal(err)
		}
		if _, speed, ok := s.Where("b"); !ok || math.Abs(speed-v.Speed.Value) > 1e-9 {
			t.Errorf("speed %v in the session, %v by Fit", speed, v.Speed.Value)
		}
	}
	if _, err := p.Session([]colloc.GPU{{}}, nil); len(colloc.Faults(err)) == 0 {
		t.Errorf("a GPU without anything: %v", err)
	}
	b.Elsewhere = []*profile.Profile{b.Profile}
	if _, err := p.Packed(b); len(colloc.Faults(err)) != 1 {
		t.Errorf("a profile from elsewhere: %v", err)
	}
}

// TestBest: the GPU that scores most, ties by memory and ID, in any order; -1 where
// none fits.
func TestBest(t *testing.T) {
	p := shared(t)
	task := colloc.Task{ID: "t", Profile: trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)}
	smaller := card(t, "e")
	smaller.Memory = 23 * profile.GiB
	gpus := []colloc.GPU{empty(t, "a", "K80"), card(t, "d"), card(t, "c"), smaller}
	for range len(gpus) {
		gpus = append(gpus[1:], gpus[0])
		i, v, err := p.Best(task, gpus)
		if err != nil || i < 0 || gpus[i].ID != "e" || !v.Fits {
			t.Errorf("%v: %d, %+v, %v", gpus, i, v, err)
		}
	}
	gpus = slices.DeleteFunc(gpus, func(g colloc.GPU) bool { return g.ID == "e" })
	if i, _, err := p.Best(task, gpus); err != nil || gpus[i].ID != "c" {
		t.Errorf("%d, %v; want the first ID", i, err)
	}
	task.Reserved = profile.Bytes(1 << 50)
	if i, v, err := p.Best(task, gpus); err != nil || i != -1 || v.Code != packer.MemoryLimit {
		t.Errorf("too large: %d, %+v, %v", i, v, err)
	}
	if i, v, err := p.Best(task, nil); err != nil || i != -1 || fmt.Sprint(v) != "no verdict" {
		t.Errorf("no GPUs: %d, %+v, %v", i, v, err)
	}
}

// TestSessionKeepsItsModel: what is observed while a session goes on counts for the
// next one, also for tasks that come later.
func TestSessionKeepsItsModel(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	net := trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)
	gpus := []colloc.GPU{empty(t, "a", "V100"), empty(t, "b", "K80")}
	for i, want := range []int{0, 1} {
		s, err := p.Session(gpus, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, rate := range []float64{10, 20} {
			err := p.Observe(colloc.Observation{GPU: gpus[k].Model, Members: []colloc.Measurement{{Profile: net, Throughput: profile.Some(rate)}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		packed, err := p.Packed(colloc.Task{ID: "t", Profile: net})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := s.Arrive(packed); err != nil || d.GPU != want {
			t.Errorf("session %d: placed on %d, %v; want %d", i, d.GPU, err, want)
		}
	}
}
