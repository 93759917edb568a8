package online

import (
	"fmt"
	rand "math/rand/v2"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestNeeds: what is set aside for a task, by what is known of it.
func TestNeeds(t *testing.T) {
	const gib, after = profile.GiB, time.Minute
	for _, test := range []struct {
		name string
		w    Watched
		want profile.Bytes
	}{
		{"nothing seen", Watched{Reserved: 8 * gib}, 8 * gib},
		{"seen for too short", Watched{Reserved: 8 * gib, Peak: profile.Some(4 * gib), For: after - 1}, 8 * gib},
		{"seen for long enough", Watched{Reserved: 8 * gib, Peak: profile.Some(4 * gib), For: after}, 5 * gib},
		{"as much as is reserved", Watched{Reserved: 8 * gib, Peak: profile.Some(8 * gib)}, 8 * gib},
		{"more than is reserved", Watched{Reserved: 4 * gib, Peak: profile.Some(8 * gib)}, 10 * gib},
		{"asked for", Watched{Reserved: 4 * gib, Bound: gib, Peak: profile.Some(8 * gib), For: after}, gib},
	} {
		if got := test.w.Needs(after, 0.25); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestGuessCountsWhatIsRepeated: what a stopped task does again is work that is left, for
// its place in the queue, too.
func TestGuessCountsWhatIsRepeated(t *testing.T) {
	s, err := NewScheduler(nil, packtest.Even{1}, packer.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &entry{}
	left, rank := s.guess(e)
	e.again = steps(time.Hour)
	if l, r := s.guess(e); l != left+e.again || r != rank+e.again {
		t.Errorf("left %d and rank %d become %d and %d, want %d more", left, rank, l, r, e.again)
	}
}

// TestSessionGangOfManyGPUs: a gang has each GPU that is empty, none that is not, and gives
// all of them back.
func TestSessionGangOfManyGPUs(t *testing.T) {
	const n = 200
	var gpus []packer.GPU
	for g := range n {
		gpus = append(gpus, packer.GPU{ID: fmt.Sprintf("g%03d", g), Memory: profile.GiB})
	}
	rng := rand.New(rand.NewPCG(51, 52))
	for range 20 {
		s, err := NewSession(gpus, packtest.Even{1}, packer.Limits{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		taken := map[int]bool{}
		for range 40 {
			g := rng.IntN(n)
			if _, err := s.Fail(g); err != nil {
				t.Fatal(err)
			}
			taken[g] = true
		}
		d, err := s.Arrive(packer.Task{ID: "gang", GPUs: n - len(taken)})
		if err != nil || !d.Placed || len(d.Gang) != n-len(taken)-1 {
			t.Fatalf("%+v, %v; want %d GPUs", d, err, n-len(taken))
		}
		for _, g := range append(d.Gang, d.GPU) {
			if taken[g] {
				t.Fatalf("GPU %d is taken twice, or out of service", g)
			}
			taken[g] = true
		}
		if d, err := s.Arrive(packer.Task{ID: "next", GPUs: n - 40}); err != nil || d.Placed {
			t.Fatalf("%+v, %v; want it to wait", d, err)
		}
		if ds, err := s.Finish("gang"); err != nil || len(ds) != 1 || len(ds[0].Gang) != n-40-1 {
			t.Fatalf("%+v, %v; want the next gang", ds, err)
		}
	}
}

// TestSessionOutOfRange: a GPU that does not exist runs nothing.
func TestSessionOutOfRange(t *testing.T) {
	s, err := NewSession([]packer.GPU{{ID: "g", Memory: profile.GiB}}, packtest.Even{1}, packer.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, gpu := range []int{-1, 1} {
		if got := s.Mechanism(gpu); got != profile.Exclusive {
			t.Errorf("GPU %d: %v", gpu, got)
		}
		for task := range s.Running(gpu) {
			t.Errorf("GPU %d runs %s", gpu, task.ID)
		}
		if _, err := s.Restore(gpu); err == nil {
			t.Errorf("GPU %d is restored", gpu)
		}
	}
}

// TestRebalanceGains: moves gain more than they cost, whatever way of sharing the new sets
// need.
func TestRebalanceGains(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	moved, rounds := 0, max(8, race.Fewer(100))
	for n := range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 8, GPUs: 5, Kinds: 2, MaxSet: 2 + n%2})
		for g := range p.GPUs {
			p.GPUs[g].Mechanisms = []profile.Mechanism{profile.TimeSlice, profile.MPS}
		}
		s, err := NewSession(p.GPUs, p.Model, p.Limits, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Tasks {
			p.Tasks[i].MoveCost, p.Tasks[i].Memory, p.Tasks[i].MinSpeed = float64(rng.IntN(3))/50, profile.GiB, 0
			if _, err := s.Arrive(p.Tasks[i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, task := range s.queue() {
			if _, err := s.Finish(task.task.ID); err != nil {
				t.Fatal(err)
			}
		}
		before := s.Throughput()
		moves, err := s.Rebalance(t.Context(), 8)
		if err != nil {
			t.Fatal(err)
		}
		cost := 0.0
		for _, m := range moves {
			for i := range p.Tasks {
				if t := &p.Tasks[i]; t.ID == m.Task && m.From != Nowhere {
					cost += t.EffectiveWeight() * t.MoveCost
				}
			}
		}
		if gain := s.Throughput() - before; len(moves) > 0 && !(gain > cost-1e-9) || len(moves) == 0 && gain != 0 {
			t.Fatalf("problem %d: %d moves cost %v and gain %v", n, len(moves), cost, gain)
		}
		if len(moves) > 0 {
			moved++
		}
	}
	if moved < rounds/5 {
		t.Errorf("tasks move in %d of %d", moved, rounds)
	}
}
