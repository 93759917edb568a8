package packer

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"
)

func TestLocalSearchAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	exact := 0
	const rounds = 200
	for range rounds {
		p := draw(rng, drawOptions{tasks: 6, gpus: 3, kinds: 2, residents: 3, maxSet: 1 + rng.IntN(4)})
		s := solve(t, LocalSearch{Steps: 300}, p)
		got, best := units(p, s.Throughput), slowBest(p)
		if got > best {
			t.Fatalf("got %d, the best plan has %d", got, best)
		}
		if got == best {
			exact++
		}
		if g := solve(t, Greedy{}, p); g.Throughput > s.Throughput {
			t.Fatalf("greedy %v beats local search %v", g.Throughput, s.Throughput)
		}
	}
	t.Logf("optimal in %d of %d", exact, rounds)
	if exact < rounds*9/10 {
		t.Errorf("optimal in %d of %d only", exact, rounds)
	}
}

// TestLocalSearchNearMatching compares with the exact answer where there is one.
func TestLocalSearchNearMatching(t *testing.T) {
	for seed := range uint64(5) {
		p := benchProblem(benchModel(t, "random", 60), 20+5*int(seed))
		s, exact := solve(t, LocalSearch{Seed: seed}, p), solve(t, Matching{}, p)
		if s.Throughput > exact.Throughput || s.Throughput < 0.98*exact.Throughput {
			t.Errorf("%d GPUs: local search %.4f, best %.4f", len(p.GPUs), s.Throughput, exact.Throughput)
		}
	}
}

func TestLocalSearchRepeats(t *testing.T) {
	p := benchProblem(benchModel(t, "random", 40), 12)
	p.Limits.MaxSet = 3
	write := func(m Method) string {
		data, err := json.Marshal(solve(t, m, p))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if a, b := write(LocalSearch{Seed: 3}), write(LocalSearch{Seed: 3}); a != b {
		t.Errorf("the same seed gives two plans:\n%s\n%s", a, b)
	}
	if _, err := (LocalSearch{Steps: -1}).Pack(context.Background(), p); err == nil {
		t.Error("negative steps are accepted")
	}
}
