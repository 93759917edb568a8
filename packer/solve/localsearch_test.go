package solve

import (
	"context"
	"encoding/json"
	rand "math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

func TestLocalSearchAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	exact := 0
	rounds := race.Fewer(200)
	for round := range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 3, Kinds: 2, Residents: 3, MaxSet: 1 + rng.IntN(4), Homes: round%4 == 0})
		s := packtest.Solve(t, LocalSearch{Steps: 300}, p)
		got, best := packtest.Units(p, s.Throughput), packtest.SlowBest(p)
		if got > best {
			t.Fatalf("got %d, the best plan has %d", got, best)
		}
		if got == best {
			exact++
		}
		if g := packtest.Solve(t, Greedy{}, p); g.Throughput > s.Throughput {
			t.Fatalf("greedy %v beats local search %v", g.Throughput, s.Throughput)
		}
	}
	t.Logf("optimal in %d of %d", exact, rounds)
	if exact < rounds*95/100 {
		t.Errorf("optimal in %d of %d only", exact, rounds)
	}
}

// TestLocalSearchNearMatching compares with the exact answer where there is one.
func TestLocalSearchNearMatching(t *testing.T) {
	for seed := range uint64(max(2, race.Fewer(5))) {
		p := packtest.BenchProblem(packtest.BenchModel(t, "random", 60), 20+5*int(seed))
		s, exact := packtest.Solve(t, LocalSearch{Seed: seed}, p), packtest.Solve(t, Matching{}, p)
		if s.Throughput > exact.Throughput || s.Throughput < 0.995*exact.Throughput {
			t.Errorf("%d GPUs: local search %.4f, best %.4f", len(p.GPUs), s.Throughput, exact.Throughput)
		}
	}
}

// TestLocalSearchGap: what the search is for. The bounds are those of ColumnGen;
// the search must ask the model for few sets.
func TestLocalSearchGap(t *testing.T) {
	tests := []struct {
		name  string
		n, k  int
		bound float64
		gap   float64
		asked int
	}{
		{name: "threes", n: 100, k: 3, bound: 86.7301, gap: 0.012, asked: 20_000},
		{name: "fours", n: 100, k: 4, bound: 75.3085, gap: 0.018, asked: 30_000},
	}
	if race.Enabled {
		tests = tests[:1]
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := setsProblem(t, "random", tt.n, tt.k)
			m := &countingModel{BatchModel: packtest.BenchModel(t, "random", tt.n)}
			p.Model = m
			s := packtest.Solve(t, LocalSearch{}, p)
			if gap := 1 - s.Throughput/tt.bound; gap > tt.gap {
				t.Errorf("gap %.4f, want at most %.4f", gap, tt.gap)
			}
			if m.Questions > tt.asked {
				t.Errorf("%d questions, want at most %d", m.Questions, tt.asked)
			}
		})
	}
}

func TestLocalSearchRepeats(t *testing.T) {
	p := packtest.BenchProblem(packtest.BenchModel(t, "random", 40), 12)
	p.Limits.MaxSet = 3
	write := func(m packer.Method) string {
		data, err := json.Marshal(packtest.Solve(t, m, p))
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

func TestPropertyLocalSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.Limits.MaxSet = rapid.IntRange(1, 5).Draw(t, "largest set")
		l := LocalSearch{Steps: rapid.IntRange(1, 200).Draw(t, "steps"), Seed: rapid.Uint64().Draw(t, "random choices")}
		if s, g := pack(t, l, p), pack(t, Greedy{}, p); s.Throughput < g.Throughput {
			t.Fatalf("local search %v, greedy %v", s.Throughput, g.Throughput)
		}
	})
}
