package packer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		p.Model = falling{Model: p.Model}
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
		p.Model = falling{Model: p.Model}
		in := newInstance(t, p)
		e, ty := newEvaluator(in), newTyping(in, false)
		q := &questions{most: math.MaxInt}
		all, err := newCatalogue(t.Context(), e, ty, listing{free: in.maxSet, taken: in.maxSet}, q)
		if err != nil {
			t.Fatal(err)
		}
		taken := 1 + rng.IntN(2)
		some, err := newCatalogue(t.Context(), e, ty, listing{free: taken + 1, taken: taken}, q)
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
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("class %d: profits (-all +bounded):\n%s", k, diff)
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
	p.Model = falling{Model: refusing{p.Model, want}}
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

// costly is a model in which costs add up: matrixModel's, and what each task pays
// once for any company.
type costly struct {
	*matrixModel
	once []float64
}

func (m costly) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	err := m.matrixModel.Speeds(set, gpu, mech, dst)
	if len(set) > 1 {
		for i, t := range set {
			dst[i] = max(0.2, 1/(1/dst[i]+m.once[jobOf(t)]))
		}
	}
	return err
}

// PairSpeeds hides that of matrixModel, which knows no once.
func (costly) PairSpeeds() {}

func (costly) Monotone(*GPU, profile.Mechanism) bool { return true }

func (m costly) Additive(t *Task, _ *GPU, _ profile.Mechanism) (once, least float64, ok bool) {
	return m.once[jobOf(t)], 0.2, true
}

// costlyProblem has n tasks, some of them heavier, slower to accept or larger.
func costlyProblem(tb testing.TB, rng *rand.Rand, n, maxSet int) *Problem {
	tb.Helper()
	m := costly{matrixModel: benchModel(tb, "random", n), once: make([]float64, n)}
	p := benchProblem(m.matrixModel, (n+maxSet-1)/maxSet)
	p.Model, p.Limits.MaxSet = m, maxSet
	for i := range n {
		m.once[i] = max(0, rng.Float64()/2-0.25)
		t := &p.Tasks[i]
		t.Memory, t.Weight, t.MinSpeed = profile.Bytes(rng.IntN(500))*profile.MiB, 1+float64(rng.IntN(3)), rng.Float64()/2
	}
	return p
}

// TestAdditiveBounds compares the sets that bounds by costs let through with all.
func TestAdditiveBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(75, 76))
	visits := 0
	for range 60 {
		p := costlyProblem(t, rng, 6+rng.IntN(8), 3+rng.IntN(4))
		in := newInstance(t, p)
		e, ty, q := newEvaluator(in), newTyping(in, false), &questions{most: math.MaxInt}
		all, err := newCatalogue(t.Context(), e, ty, listing{free: in.maxSet, taken: in.maxSet}, q)
		if err != nil {
			t.Fatal(err)
		}
		some, err := newCatalogue(t.Context(), e, ty, listing{free: 2, taken: 1}, q)
		if err != nil {
			t.Fatal(err)
		}
		if some.unlisted[0].costs == nil {
			t.Fatal("the promise is ignored")
		}
		u := make([]int64, len(ty.members))
		for i := range u {
			u[i] = rng.Int64N(quarters * resolution / 2)
		}
		floor := rng.Int64N(resolution)
		want, got := profits(all, 0, u, floor), profits(some, 0, u, floor)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("profits (-all +bounded):\n%s", diff)
		}
		visits += len(want)
	}
	if visits < 1000 {
		t.Errorf("%d sets visited", visits)
	}
}

// TestAdditiveProvesMore spends the same number of questions with and without the
// promise.
func TestAdditiveProvesMore(t *testing.T) {
	p := costlyProblem(t, rand.New(rand.NewPCG(77, 78)), 100, 4)
	m, _ := p.Model.(costly)
	bound := func(model Model) float64 {
		q := *p
		q.Model = model
		return solve(t, ColumnGen{Steps: 1, MaxSets: 10_000}, &q).Bound
	}
	adds, falls := bound(m), bound(falling{Model: m})
	t.Logf("bound %v where costs add up, %v of a monotone model", adds, falls)
	if adds > 0.99*falls {
		t.Errorf("bound %v where costs add up, %v of a monotone model", adds, falls)
	}
}

// BenchmarkUnlisted has too many sets of three, or of four, to list, or nearly.
func BenchmarkUnlisted(b *testing.B) {
	for _, size := range []struct{ n, k int }{{400, 3}, {1000, 3}, {200, 4}} {
		for _, w := range weights {
			b.Run(fmt.Sprintf("k=%d/n=%d/weights=%s", size.k, size.n, w), func(b *testing.B) {
				p := setsProblem(b, w, size.n, size.k)
				p.Model = costly{matrixModel: benchModel(b, w, size.n), once: make([]float64, size.n)}
				benchPack(b, ColumnGen{}, p)
			})
		}
	}
}
