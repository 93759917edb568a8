package catalogue

import (
	"context"
	"math"
	rand "math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
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
		p.Model = packtest.Falling{Model: p.Model}
		in := packtest.NewInstance(t, p)
		e, ty := instance.NewEvaluator(in), instance.NewTypes(in, false)
		q := &Questions{Most: math.MaxInt}
		all, err := New(t.Context(), e, ty, Listing{Free: in.MaxSet, Taken: in.MaxSet}, q)
		if err != nil {
			t.Fatal(err)
		}
		taken := 1 + rng.IntN(2)
		some, err := New(t.Context(), e, ty, Listing{Free: taken + 1, Taken: taken}, q)
		if err != nil {
			t.Fatal(err)
		}
		u := make([]int64, len(ty.Members))
		for i := range u {
			u[i] = rng.Int64N(instance.Quarters * instance.Resolution)
		}
		for k := range in.Classes {
			floor := rng.Int64N(instance.Resolution)
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
	visits := 0
	for range 60 {
		p := packtest.CostlyProblem(t, rng, 6+rng.IntN(8), 3+rng.IntN(4))
		in := packtest.NewInstance(t, p)
		e, ty, q := instance.NewEvaluator(in), instance.NewTypes(in, false), &Questions{Most: math.MaxInt}
		all, err := New(t.Context(), e, ty, Listing{Free: in.MaxSet, Taken: in.MaxSet}, q)
		if err != nil {
			t.Fatal(err)
		}
		some, err := New(t.Context(), e, ty, Listing{Free: 2, Taken: 1}, q)
		if err != nil {
			t.Fatal(err)
		}
		if some.unlisted[0].costs == nil {
			t.Fatal("the promise is ignored")
		}
		u := make([]int64, len(ty.Members))
		for i := range u {
			u[i] = rng.Int64N(instance.Quarters * instance.Resolution / 2)
		}
		floor := rng.Int64N(instance.Resolution)
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
