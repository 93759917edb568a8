package catalogue

import (
	"context"
	"errors"
	"math"
	rand "math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestBoundedPass compares with a list of all sets, at prices that mean nothing.
func TestBoundedPass(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	visits := 0
	for range 200 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 8, GPUs: 3, Kinds: 2, Residents: 2, MaxSet: 3 + rng.IntN(3)})
		if rng.IntN(2) == 0 {
			p = packtest.Repeated(rng, p, 3)
		}
		for i := range p.Tasks {
			p.Tasks[i].MinSpeed = math.Floor(4*p.Tasks[i].MinSpeed) / 4 // some run just as fast as they must
			if rng.IntN(6) == 0 {
				p.Tasks[i].Weight = 1e-9 // and some count for one unit
			}
		}
		p.Model = packtest.Falling{Model: p.Model}
		in := packtest.NewInstance(t, p)
		e, ty := instance.NewEvaluator(in), instance.NewTypes(in, false)
		q := &Questions{Most: math.MaxInt}
		all, err := New(t.Context(), e, ty, Listing{Free: in.MaxSet, Taken: in.MaxSet}, q)
		if err != nil {
			t.Fatal(err)
		}
		taken := 1 + rng.IntN(3)
		some, err := New(t.Context(), e, ty, Listing{Free: taken + 1, Taken: taken}, q)
		if err != nil {
			t.Fatal(err)
		}
		u := make([]int64, len(ty.Members))
		for i := range u {
			u[i] = rng.Int64N(instance.Quarters * instance.Resolution)
			if in.Tasks[ty.Members[i][0]].Weight < 1e-6 {
				u[i] = rng.Int64N(instance.Quarters)
			}
		}
		for k := range in.Classes {
			floor := rng.Int64N(instance.Resolution) * int64(rng.IntN(2))
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
func profits(cat *Catalogue, k int, u []int64, floor int64) map[string]int64 {
	out := map[string]int64{}
	pass := &Pass{Cat: cat, Class: k, U: u, Floor: floor, Every: true}
	pass.Visit = func(types []int32, profit int64) bool {
		out[name(types)] = profit
		return true
	}
	pass.Run(context.Background())
	return out
}

// name is a set of types as the key of a map, a byte for each.
func name(types []int32) string {
	out := make([]byte, len(types))
	for n, t := range types {
		out[n] = byte(t)
	}
	return string(out)
}

// TestAdditiveBounds compares the sets that bounds by costs let through with all.
func TestAdditiveBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(75, 76))
	visits, rounds := 0, max(12, race.Fewer(60))
	for n := range rounds {
		p := packtest.CostlyProblem(t, rng, 6+rng.IntN(8), 3+rng.IntN(4))
		if n%3 == 0 { // all are as slow as can be
			p = packtest.CostlyProblem(t, rng, 9, 6)
			m, ok := p.Model.(packtest.Costly)
			if !ok {
				t.Fatalf("%T", p.Model)
			}
			for i := range p.Tasks {
				m.Once[i], p.Tasks[i].MinSpeed, p.Tasks[i].Weight, p.Tasks[i].Memory = 3, 0, 1, 0
			}
		}
		in := packtest.NewInstance(t, p)
		e, ty, q := instance.NewEvaluator(in), instance.NewTypes(in, false), &Questions{Most: math.MaxInt}
		all, err := New(t.Context(), e, ty, Listing{Free: in.MaxSet, Taken: in.MaxSet}, q)
		if err != nil {
			t.Fatal(err)
		}
		some, err := New(t.Context(), e, ty, Listing{Free: 2 + n%2*(in.MaxSet-2)/2, Taken: 1}, q)
		if err != nil {
			t.Fatal(err)
		}
		if some.unlisted[0].costs == nil {
			t.Fatal("the promise is ignored")
		}
		u := make([]int64, len(ty.Members))
		for i := range u {
			u[i] = rng.Int64N(instance.Quarters * instance.Resolution / 2 / int64(1+n%3))
		}
		floor := rng.Int64N(instance.Resolution)
		want, got := profits(all, 0, u, floor), profits(some, 0, u, floor)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("profits (-all +bounded):\n%s", diff)
		}
		visits += len(want)
	}
	if visits < 15*rounds {
		t.Errorf("%d sets visited", visits)
	}
}

// TestManyGainBesideAResident: where only four tasks together gain enough beside a
// resident, they are found though no three of them may join it.
func TestManyGainBesideAResident(t *testing.T) {
	p := &packer.Problem{
		Model: packtest.Falling{Model: packtest.Even{1, 0.6, 0.45, 0.4, 0.38}}, Limits: packer.Limits{MaxSet: 5, MinGain: 0.7},
		GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB, Residents: []packer.Task{{ID: "r"}}}},
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		p.Tasks = append(p.Tasks, packer.Task{ID: id})
	}
	in := packtest.NewInstance(t, p)
	for taken := 1; taken <= 4; taken++ {
		cat, _ := listed(t, in, Listing{Free: 2, Taken: taken}, math.MaxInt)
		if got := profits(cat, 0, make([]int64, len(p.Tasks)), 0); len(got) != 5 {
			t.Errorf("of sets up to %d listed: %v, want five sets of four", taken, got)
		}
	}
}

// promising is a model that promises costs which make no sense.
type promising struct {
	packtest.Costly
	once, least float64
}

// Additive implements packer.AdditiveModel.
func (m promising) Additive(*packer.Task, *packer.GPU, profile.Mechanism) (once, least float64, ok bool) {
	return m.once, m.least, true
}

// TestCostsThatMakeNoSense: what a model promises counts where it is a number within
// limits.
func TestCostsThatMakeNoSense(t *testing.T) {
	rng := rand.New(rand.NewPCG(77, 78))
	for _, test := range []struct {
		once, least float64
		ok          bool
	}{
		{0, 0, true},
		{0.5, instance.MaxSpeed, true},
		{-1e-9, 0, false},
		{math.NaN(), 0, false},
		{math.MaxFloat32, 0, false},
		{0, -1e-9, false},
		{0, 1.001 * instance.MaxSpeed, false},
		{0, math.NaN(), false},
		{0, math.Inf(1), false},
	} {
		p := packtest.CostlyProblem(t, rng, 5, 3)
		costly, ok := p.Model.(packtest.Costly)
		if !ok {
			t.Fatalf("%T", p.Model)
		}
		p.Model = promising{costly, test.once, test.least}
		cat, _ := listed(t, packtest.NewInstance(t, p), Listing{Free: 2, Taken: 1}, 0)
		if got := cat.unlisted[0].costs != nil; got != test.ok {
			t.Errorf("once %v, least %v: taken %v, want %v", test.once, test.least, got, test.ok)
		}
	}
}

// large is a model that fails for sets of more than two.
type large struct{ packtest.Costly }

// Speeds implements packer.Model.
func (m large) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	if len(set) > 2 {
		return packtest.ErrBroken
	}
	return m.Costly.Speeds(set, gpu, mech, dst)
}

// TestUnlistedFails: a model that fails for an unlisted set is asked no more, and what it
// said is kept.
func TestUnlistedFails(t *testing.T) {
	p := packtest.CostlyProblem(t, rand.New(rand.NewPCG(79, 80)), 8, 4)
	costly, ok := p.Model.(packtest.Costly)
	if !ok {
		t.Fatalf("%T", p.Model)
	}
	p.Model = large{costly}
	cat, q := listed(t, packtest.NewInstance(t, p), Listing{Free: 2, Taken: 1}, math.MaxInt)
	if q.Err != nil || q.Asked != 0 {
		t.Fatalf("%v after %d questions", q.Err, q.Asked)
	}
	profits(cat, 0, make([]int64, len(cat.Members)), 0)
	if !errors.Is(q.Err, packtest.ErrBroken) || q.Asked != 1 {
		t.Errorf("%v after %d questions, want what the model says after 1", q.Err, q.Asked)
	}
}
