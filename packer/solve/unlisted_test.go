package solve

import (
	"errors"
	"fmt"
	rand "math/rand/v2"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/columns"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestUnlistedAgainstBruteForce lists pairs, or sets of three, and prices the larger
// sets by bounds, with and without enough questions.
func TestUnlistedAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	rounds := race.Fewer(300)
	exact, proved, unlisted := 0, 0, 0
	for range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 7, GPUs: 3, Kinds: 2, Residents: 2, MaxSet: 3 + rng.IntN(3), Homes: rng.IntN(3) == 0})
		if rng.IntN(3) == 0 {
			p = packtest.Repeated(rng, p, 2)
			p.Tasks = p.Tasks[:min(len(p.Tasks), 8)]
		}
		p.Model = packtest.Falling{Model: p.Model}
		s := packtest.Solve(t, ColumnGen{MaxSets: 40 + rng.IntN(120)}, p)
		if !strings.Contains(s.Method, "as needed") {
			continue
		}
		unlisted++
		got, best := packtest.Units(p, s.Throughput), packtest.SlowBest(p)
		if got > best {
			t.Fatalf("got %d, the best plan has %d", got, best)
		}
		if packtest.Units(p, s.Bound) < best {
			t.Fatalf("bound %v, the best plan has %v", s.Bound, float64(best)*p.Unit())
		}
		if got == best {
			exact++
		}
		if s.Gap() < 2*columns.Blurred {
			proved++
		}
	}
	t.Logf("%d rounds with unlisted sets: optimal in %d, proved in %d", unlisted, exact, proved)
	if unlisted < rounds/6 || exact < unlisted*95/100 || proved < unlisted*6/10 {
		t.Errorf("%d rounds with unlisted sets: optimal in %d, proved in %d", unlisted, exact, proved)
	}
}

// TestUnlistedModelFails breaks a model at one large set.
func TestUnlistedModelFails(t *testing.T) {
	p := packtest.BenchProblem(packtest.BenchModel(t, "random", 40), 10)
	p.Limits.MaxSet = 4
	want := errors.New("no answer")
	p.Model = packtest.Falling{Model: refusing{p.Model, want}}
	_, err := ColumnGen{MaxSets: 2000}.Pack(t.Context(), p)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), `"t00`) {
		t.Errorf("error is %v", err)
	}
}

// refusing refuses sets of four.
type refusing struct {
	packer.Model
	err error
}

func (m refusing) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	if len(set) == 4 {
		return m.err
	}
	return m.Model.Speeds(set, gpu, mech, dst)
}

// TestAdditiveProvesMore spends the same number of questions with and without the
// promise.
func TestAdditiveProvesMore(t *testing.T) {
	n := 100
	if race.Enabled {
		n = 60
	}
	p := packtest.CostlyProblem(t, rand.New(rand.NewPCG(77, 78)), n, 4)
	m, _ := p.Model.(packtest.Costly)
	bound := func(model packer.Model) float64 {
		q := *p
		q.Model = model
		return packtest.Solve(t, ColumnGen{Steps: 1, MaxSets: 10_000}, &q).Bound
	}
	adds, falls := bound(m), bound(packtest.Falling{Model: m})
	t.Logf("bound %v where costs add up, %v of a monotone model", adds, falls)
	if adds > 0.99*falls {
		t.Errorf("bound %v where costs add up, %v of a monotone model", adds, falls)
	}
}

// BenchmarkUnlisted has too many sets of three, or of four, to list, or nearly.
func BenchmarkUnlisted(b *testing.B) {
	for _, size := range []struct{ n, k int }{{400, 3}, {1000, 3}, {200, 4}} {
		for _, w := range packtest.Weights() {
			b.Run(fmt.Sprintf("k=%d/n=%d/weights=%s", size.k, size.n, w), func(b *testing.B) {
				p := setsProblem(b, w, size.n, size.k)
				p.Model = packtest.Costly{MatrixModel: packtest.BenchModel(b, w, size.n), Once: make([]float64, size.n)}
				benchPack(b, ColumnGen{}, p)
			})
		}
	}
}
