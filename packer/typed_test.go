package packer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

// repeated makes copies of the tasks of p, up to most of each, that the model
// cannot tell apart.
func repeated(rng *rand.Rand, p *Problem, most int) *Problem {
	q := *p
	q.Tasks = nil
	like := map[string]string{}
	for i := range p.Tasks {
		t := p.Tasks[i]
		t.Kind, t.Home = t.ID, ""
		for n := range 1 + rng.IntN(most) {
			t.ID = fmt.Sprintf("%s.%d", p.Tasks[i].ID, n)
			like[t.ID] = p.Tasks[i].ID
			q.Tasks = append(q.Tasks, t)
		}
	}
	rng.Shuffle(len(q.Tasks), func(i, j int) { q.Tasks[i], q.Tasks[j] = q.Tasks[j], q.Tasks[i] })
	q.Model = copyModel{Model: p.Model, like: like}
	return &q
}

// copyModel asks another model about the tasks of which these are copies.
type copyModel struct {
	Model
	like map[string]string
}

func (m copyModel) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	originals := make([]*Task, len(set))
	for i, t := range set {
		o := *t
		if id, ok := m.like[t.ID]; ok {
			o.ID = id
		}
		originals[i] = &o
	}
	return m.Model.Speeds(originals, gpu, mech, dst)
}

func TestTypedAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	exact := 0
	const rounds = 100
	for range rounds {
		p := draw(rng, drawOptions{tasks: 3, gpus: 3, kinds: 2, residents: 2, maxSet: 1 + rng.IntN(4)})
		p = repeated(rng, p, 3)
		if len(p.Tasks) > 7 {
			p.Tasks = p.Tasks[:7]
		}
		s := solve(t, ColumnGen{}, p)
		got, best := units(p, s.Throughput), slowBest(p)
		if got > best || units(p, s.Bound) < best {
			t.Fatalf("got %d, bound %v, the best plan has %d", got, s.Bound, best)
		}
		if got == best {
			exact++
		}
	}
	if exact < rounds*99/100 {
		t.Errorf("optimal in %d of %d", exact, rounds)
	}
}

// TestTypedGreedyIsGreedy compares the plans, not only their values.
func TestTypedGreedyIsGreedy(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	for range 80 {
		p := draw(rng, drawOptions{tasks: 5, gpus: 8, kinds: 3, residents: 3, maxSet: 1 + rng.IntN(4)})
		p = repeated(rng, p, 8)
		in := newInstance(t, p)
		e := newEvaluator(in)
		want, err := greedy(t.Context(), in, e)
		if err != nil {
			t.Fatal(err)
		}
		cat, err := newCatalogue(t.Context(), e, newTyping(in, false), listing{free: in.maxSet, taken: in.maxSet}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := typedGreedy(t.Context(), cat)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.gpu, got.gpu); diff != "" {
			t.Fatalf("%d tasks, %d GPUs (-greedy +typed):\n%s", len(p.Tasks), len(p.GPUs), diff)
		}
	}
}

func TestTyping(t *testing.T) {
	a, b := &profile.Profile{}, &profile.Profile{}
	p := &Problem{Model: even{1, 0.8}, GPUs: []GPU{{ID: "g", Memory: profile.GiB}}, Tasks: []Task{
		{ID: "0"},
		{ID: "1"}, // neither Kind nor Profile
		{ID: "2", Profile: a},
		{ID: "3", Profile: b},
		{ID: "4", Profile: a},
		{ID: "5", Profile: a, Weight: 2},
		{ID: "6", Kind: "x"},
		{ID: "7", Kind: "x", Weight: 1},
		{ID: "8", Kind: "x", Memory: 1}, // not what its Kind promises
		{ID: "9", Kind: "x", Home: "g", MoveCost: 1},
	}}
	in := newInstance(t, p)
	if got, want := newTyping(in, false).of, []int32{0, 1, 2, 3, 2, 4, 5, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("types %v, want %v", got, want)
	}
}

// typedProblem has n tasks drawn from the jobs of a measured or made up table,
// with their memory.
func typedProblem(tb testing.TB, weights string, n, gpus, maxSet int) *Problem {
	tb.Helper()
	const types = 56
	m := benchModel(tb, weights, types)
	p := &Problem{Model: m, Limits: Limits{MaxSet: maxSet}}
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	profiles := make([]*profile.Profile, types)
	memory := make([]profile.Bytes, types)
	for i := range profiles {
		profiles[i] = &profile.Profile{}
		profiles[i].Spec.Training.BatchSize = i
		memory[i] = profile.Bytes(1+rng.IntN(9)) * profile.GiB
	}
	for i := range n {
		k := rng.IntN(types)
		p.Tasks = append(p.Tasks, Task{ID: fmt.Sprintf("t%06d", i), Profile: profiles[k], Memory: memory[k]})
	}
	for i := range gpus {
		p.GPUs = append(p.GPUs, GPU{ID: fmt.Sprintf("g%05d", i), Memory: 24 * profile.GiB})
	}
	return p
}

// TestTypedProvesTheSame hides the types from Verify: the bound must not change.
func TestTypedProvesTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 66))
	for range 80 {
		p := draw(rng, drawOptions{tasks: 4, gpus: 4, kinds: 2, residents: 2, maxSet: 1 + rng.IntN(4)})
		p = repeated(rng, p, 3)
		cert := &Certificate{U: make([]float64, len(p.Tasks))}
		for i := range cert.U {
			cert.U[i] = float64(rng.IntN(3)) * rng.Float64()
		}
		q := *p
		q.Tasks = slices.Clone(p.Tasks)
		for i := range q.Tasks {
			q.Tasks[i].Kind = ""
		}
		want, err := cert.Verify(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range []Model{p.Model, falling{Model: p.Model}} {
			p.Model = model
			if got, err := cert.Verify(t.Context(), p); err != nil || got != want {
				t.Fatalf("%d tasks: got %v, %v, want %v", len(p.Tasks), got, err, want)
			}
		}
	}
}

func TestTypedLarge(t *testing.T) {
	p := typedProblem(t, "random", 2000, 500, 3)
	if s := solve(t, ColumnGen{}, p); s.Gap() > 0.002 {
		t.Errorf("gap %v", s.Gap())
	}
}
