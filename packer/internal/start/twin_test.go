package start

import (
	"context"
	rand "math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
)

// careful fails where somebody asks for a set with more members than there may be. It is
// quick if quick is set.
type careful struct {
	*instance.Evaluator
	t     *testing.T
	quick bool
}

func (c careful) SetValue(k int, tasks []int32, ref int64) (int64, error) {
	if n := len(c.In.Classes[k].Residents) + len(tasks); n > c.In.MaxSet {
		c.t.Errorf("a set of %d is asked for, of which %d may be", n, c.In.MaxSet)
	}
	return c.Evaluator.SetValue(k, tasks, ref)
}

func (c careful) Quick() bool { return c.quick }

// replay puts tasks where a plan has them.
type replay struct {
	t   *testing.T
	d   *packer.Compiled
	e   *instance.Evaluator
	set [][]int32 // by GPU; of a gang the one that stands for it
	off []bool    // the other GPUs of gangs
}

// gain is what task i adds to GPU g, none that is negative: 0 if it may not go there.
func (r *replay) gain(i int32, g int) int64 {
	k := r.d.ByGPU[g]
	c := &r.d.Classes[k]
	if r.off[g] {
		return 0
	}
	if empty := len(r.set[g])+len(c.Residents) == 0; empty && r.d.Tasks[i].GPUs > 1 {
		left := 0
		for _, o := range c.Members {
			if !r.off[o] && len(r.set[o]) == 0 {
				left++
			}
		}
		if left < r.d.Tasks[i].GPUs {
			return 0
		}
	}
	value := func(tasks []int32) int64 {
		if len(tasks) == 0 {
			return c.Base
		}
		v, err := r.e.Verdict(c, tasks)
		if err != nil {
			r.t.Fatal(err)
		}
		return v.Units
	}
	with := value(append(slices.Clone(r.set[g]), i))
	if with == 0 {
		return 0
	}
	return max(0, with-value(r.set[g])+r.d.StayOn(g, i))
}

// TestGreedyTakesTheBestPlace: each task in turn, by its weight, goes where it adds most;
// of equal places to an empty GPU, the one with the least memory.
func TestGreedyTakesTheBestPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	for n := range max(30, race.Fewer(200)) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 10, GPUs: 6, Kinds: 3, Residents: 3, MaxSet: 1 + rng.IntN(4), Homes: n%3 == 1, Gangs: n%3 == 2})
		if n%2 == 0 { // not in the order of their IDs
			slices.Reverse(p.GPUs)
		}
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		e := instance.NewEvaluator(d.Instance)
		pl, err := Greedy(t.Context(), d.Instance, careful{e, t, false})
		if err != nil {
			t.Fatal(err)
		}
		r := &replay{t, d, e, make([][]int32, len(p.GPUs)), make([]bool, len(p.GPUs))}
		for _, i := range GreedyOrder(d.Instance) {
			r.place(n, int32(i), pl)
		}
		s, err := d.Answer(t.Context(), pl, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(s); err != nil {
			t.Fatalf("problem %d: %v", n, err)
		}
	}
}

// place compares the place of task i with all others.
func (r *replay) place(n int, i int32, pl *instance.Plan) {
	r.t.Helper()
	at, got := int(pl.Gpu[i]), int64(0)
	if at != none {
		got = r.gain(i, at)
	}
	empty := func(g int) bool { return len(r.set[g])+len(r.d.Classes[r.d.ByGPU[g]].Residents) == 0 }
	for g := range r.set {
		gain := r.gain(i, g)
		if gain > got {
			r.t.Fatalf("problem %d: task %d adds %d on GPU %d, and %d on GPU %d", n, i, got, at, gain, g)
		}
		if gain == 0 || gain < got || !empty(g) {
			continue
		}
		if usable := r.d.Classes[r.d.ByGPU[g]].Usable; !empty(at) || usable < r.d.Classes[r.d.ByGPU[at]].Usable {
			r.t.Fatalf("problem %d: task %d is on GPU %d, and adds as much on the smaller empty GPU %d", n, i, at, g)
		}
	}
	if at == none {
		return
	}
	if empty(at) {
		for _, g := range pl.More[int32(at)] {
			r.off[g] = true
		}
	}
	r.set[at] = append(r.set[at], i)
}

// TestGreedyStops: cancelled, it asks the model nothing more; from a table it takes what
// is quickly found.
func TestGreedyStops(t *testing.T) {
	in := packtest.NewInstance(t, packtest.BenchProblem(packtest.BenchModel(t, "random", 20), 10))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for quick, want := range map[bool]bool{false: false, true: true} {
		pl, err := Greedy(ctx, in, careful{instance.NewEvaluator(in), t, quick})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(pl.Gpu, func(g int32) bool { return g != none }); got != want {
			t.Errorf("quick %v: tasks have places: %v, want %v", quick, got, want)
		}
	}
}

// TestExclusiveIsTheBest: of the plans without sharing, where nobody is at home and no gang
// takes several, none is worth more; tasks that count for one unit are no exception.
func TestExclusiveIsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 94))
	for n := range max(20, race.Fewer(200)) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 4, Kinds: 3, MaxSet: 1})
		for i := range p.Tasks {
			if rng.IntN(4) == 0 {
				p.Tasks[i].Weight = 1e-9
			}
		}
		if n%2 == 0 {
			p = packtest.Paced(rng, p)
		}
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := Exclusive(t.Context(), d.Instance, instance.NewEvaluator(d.Instance))
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Answer(t.Context(), pl, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(s); err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, set := range s.Sets {
			sum += int64(set.Value/p.Unit() + 0.5)
		}
		if best := packtest.SlowBest(p); sum != best {
			t.Fatalf("problem %d: %d units, the best plan has %d", n, sum, best)
		}
	}
}

// TestStayHomeAsksForWhatFits: with as many residents as there may be members nobody joins,
// and the model is not asked.
func TestStayHomeAsksForWhatFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 96))
	for range 200 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 8, GPUs: 3, Kinds: 2, Residents: 3, MaxSet: 1 + rng.IntN(3), Homes: true})
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := StayHome(d.Instance, careful{instance.NewEvaluator(d.Instance), t, false})
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range pl.Gpu {
			if g != none && g != d.Home[i] {
				t.Fatalf("task %d is on GPU %d, at home on %d", i, g, d.Home[i])
			}
		}
		s, err := d.Answer(t.Context(), pl, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(s); err != nil {
			t.Fatal(err)
		}
	}
}
