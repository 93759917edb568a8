package catalogue

import (
	rand "math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/internal/start"
	"example.com/colloc/profile"
)

// TestTypedGreedyIsGreedy compares the plans, not only their values.
func TestTypedGreedyIsGreedy(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	for n := range 120 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 5, GPUs: 8, Kinds: 3, Residents: 3, MaxSet: 1 + rng.IntN(4), Homes: n%6 == 1, Gangs: n%6 == 2})
		if n%6 != 1 {
			p = packtest.Repeated(rng, p, 8)
		}
		in := packtest.NewInstance(t, p)
		e := instance.NewEvaluator(in)
		want, err := start.Greedy(t.Context(), in, e)
		if err != nil {
			t.Fatal(err)
		}
		cat, err := New(t.Context(), e, instance.NewTypes(in, false))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Greedy(t.Context(), cat)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Gpu, got.Gpu); diff != "" {
			t.Fatalf("%d tasks, %d GPUs (-greedy +typed):\n%s", len(p.Tasks), len(p.GPUs), diff)
		}
	}
}

func TestTyping(t *testing.T) {
	a, b := &profile.Profile{}, &profile.Profile{}
	p := &packer.Problem{Model: packtest.Even{1, 0.8}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}}, Tasks: []packer.Task{
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
	in := packtest.NewInstance(t, p)
	if got, want := instance.NewTypes(in, false).Of, []int32{0, 1, 2, 3, 2, 4, 5, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("types %v, want %v", got, want)
	}
}
