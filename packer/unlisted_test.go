package packer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/colloc/profile"
)

// TestUnlistedAgainstBruteForce lists pairs, or sets of three, and prices the larger
// sets by bounds, with and without enough questions.
func TestUnlistedAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	const rounds = 300
	exact, proved, unlisted := 0, 0, 0
	for range rounds {
		p := draw(rng, drawOptions{tasks: 7, gpus: 3, kinds: 2, residents: 2, maxSet: 3 + rng.IntN(3), homes: rng.IntN(3) == 0})
		if rng.IntN(3) == 0 {
			p = repeated(rng, p, 2)
			p.Tasks = p.Tasks[:min(len(p.Tasks), 8)]
		}
		p.Model = falling{p.Model}
		s := solve(t, ColumnGen{MaxSets: 40 + rng.IntN(120)}, p)
		if !strings.Contains(s.Method, "as needed") {
			continue
		}
		unlisted++
		got, best := units(p, s.Throughput), slowBest(p)
		if got > best {
			t.Fatalf("got %d, the best plan has %d", got, best)
		}
		if units(p, s.Bound) < best {
			t.Fatalf("bound %v, the best plan has %v", s.Bound, float64(best)*unitOf(p))
		}
		if got == best {
			exact++
		}
		if s.Gap() < 2*blurred {
			proved++
		}
	}
	t.Logf("%d rounds with unlisted sets: optimal in %d, proved in %d", unlisted, exact, proved)
	if unlisted < rounds/6 || exact < unlisted*95/100 || proved < unlisted*6/10 {
		t.Errorf("%d rounds with unlisted sets: optimal in %d, proved in %d", unlisted, exact, proved)
	}
}

// TestBoundedPass compares with a list of all sets, at prices that mean nothing.
func TestBoundedPass(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	visits := 0
	for range 200 {
		p := draw(rng, drawOptions{tasks: 8, gpus: 3, kinds: 2, residents: 2, maxSet: 3 + rng.IntN(3)})
		if rng.IntN(2) == 0 {
			p = repeated(rng, p, 3)
		}
		p.Model = falling{p.Model}
		in, err := newInstance(p)
		if err != nil {
			t.Fatal(err)
		}
		e, ty := newEvaluator(in), newTyping(in, false)
		q := &questions{most: math.MaxInt}
		all, err := e.newCatalogue(t.Context(), ty, listing{free: in.maxSet, taken: in.maxSet}, q)
		if err != nil {
			t.Fatal(err)
		}
		taken := 1 + rng.IntN(2)
		some, err := e.newCatalogue(t.Context(), ty, listing{free: taken + 1, taken: taken}, q)
		if err != nil {
			t.Fatal(err)
		}
		u := make([]int64, len(ty.members))
		for i := range u {
			u[i] = rng.Int64N(quarters * resolution)
		}
		for k := range in.classes {
			floor := rng.Int64N(resolution)
			want, got := profits(all, k, u, floor), profits(some, k, u, floor)
			if len(got) != len(want) {
				t.Fatalf("class %d: %d sets earn more than %d, want %d", k, len(got), floor, len(want))
			}
			for set, profit := range want {
				if got[set] != profit {
					t.Fatalf("class %d: set %v earns %d, want %d", k, set, got[set], profit)
				}
			}
			visits += len(want)
		}
	}
	if visits < 300 {
		t.Errorf("%d sets visited", visits)
	}
}

// profits returns the profits of all sets above floor.
func profits(cat *catalogue, k int, u []int64, floor int64) map[string]int64 {
	out := map[string]int64{}
	pass := &pricePass{cat: cat, class: k, u: u, floor: floor, every: true}
	pass.visit = func(types []int32, profit int64) bool {
		name := make([]byte, len(types))
		for n, t := range types {
			name[n] = byte(t)
		}
		out[string(name)] = profit
		return true
	}
	pass.run(context.Background())
	return out
}

// TestUnlistedModelFails breaks a model at one large set.
func TestUnlistedModelFails(t *testing.T) {
	p := benchProblem(benchModel(t, "random", 40), 10)
	p.Limits.MaxSet = 4
	want := errors.New("no answer")
	p.Model = falling{refusing{p.Model, want}}
	_, err := ColumnGen{MaxSets: 2000}.Pack(t.Context(), p)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), `"t00`) {
		t.Errorf("error is %v", err)
	}
}

// refusing refuses sets of four.
type refusing struct {
	Model
	err error
}

func (m refusing) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	if len(set) == 4 {
		return m.err
	}
	return m.Model.Speeds(set, gpu, mech, dst)
}

// BenchmarkUnlisted has too many sets of three, or of four, to list.
func BenchmarkUnlisted(b *testing.B) {
	for _, size := range []struct{ n, k int }{{400, 3}, {1000, 3}, {200, 4}} {
		for _, w := range weights {
			b.Run(fmt.Sprintf("k=%d/n=%d/weights=%s", size.k, size.n, w), func(b *testing.B) {
				p := setsProblem(b, w, size.n, size.k)
				p.Model = falling{p.Model}
				benchPack(b, ColumnGen{MaxSets: 5_000_000}, p)
			})
		}
	}
}
