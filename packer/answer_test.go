package packer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	list "slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// TestAnswerTwin: an answer tells the prices of a proof, which has them by its own numbers, as the caller counts tasks and
// GPUs, in order.
func TestAnswerTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(475, 476))
	for n := range race.Fewer(300) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 5, GPUs: 4, Kinds: 2, MaxSet: 2, Homes: n%2 == 0})
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		pl := &instance.Plan{Gpu: make([]int32, len(d.Origin))}
		for i := range pl.Gpu {
			pl.Gpu[i] = -1
		}
		pr := &instance.Proof{Tasks: make([]int64, len(d.Origin)), GPUs: make([]int64, len(p.GPUs)), Bound: rng.Int64N(1000)}
		scale := d.Unit / instance.Quarters
		want := packer.Certificate{U: make([]float64, len(p.Tasks)), Lambda: make([]float64, len(p.GPUs))}
		for i := range pr.Tasks {
			pr.Tasks[i] = rng.Int64N(1000)
			want.U[d.Origin[i]] = float64(pr.Tasks[i]) * scale
		}
		for g := range pr.GPUs {
			pr.GPUs[g] = rng.Int64N(1000)
			want.Lambda[g] = float64(pr.GPUs[g]) * scale
		}
		for range rng.IntN(3) {
			odd := instance.OddSet{Price: rng.Int64N(1000)}
			set := packer.OddSet{Z: float64(odd.Price) * scale}
			for _, i := range rng.Perm(len(d.Origin))[:rng.IntN(len(d.Origin)+1)] {
				odd.Tasks, set.Tasks = append(odd.Tasks, int32(i)), append(set.Tasks, d.Origin[i])
			}
			for _, g := range rng.Perm(len(p.GPUs))[:rng.IntN(len(p.GPUs)+1)] {
				odd.GPUs, set.GPUs = append(odd.GPUs, g), append(set.GPUs, g)
			}
			list.Sort(set.Tasks)
			list.Sort(set.GPUs)
			pr.Odd, want.Odd = append(pr.Odd, odd), append(want.Odd, set)
		}
		s, err := d.Answer(t.Context(), pl, pr, "none")
		if err != nil {
			t.Fatal(err)
		}
		if got := *s.Certificate; fmt.Sprint(got) != fmt.Sprint(want) || s.Bound != float64(pr.Bound)*scale {
			t.Fatalf("problem %d: %+v, bound %v\nwant %+v, %v", n, got, s.Bound, want, float64(pr.Bound)*scale)
		}
	}
}

// TestInstances: a GPU is cut up for those who run on it, one instance each, and is then shared in no other way.
func TestInstances(t *testing.T) {
	card, _ := profile.LookupGPU("A100")
	for n := range 3 {
		for residents := range 3 {
			for _, mechs := range [][]profile.Mechanism{nil, {profile.MIG}, {profile.MPS}, {profile.MIG, profile.MPS}} {
				g := packer.GPU{ID: "g", Memory: card.Memory, Type: &card, Mechanisms: mechs}
				for i := range n {
					g.Instances = append(g.Instances, mig.Placement{Profile: 0, Start: i})
				}
				for i := range residents {
					g.Residents = append(g.Residents, packer.Task{ID: fmt.Sprint("r", i), Memory: profile.GiB})
				}
				p := &packer.Problem{Model: packtest.Even{1, 1, 1, 1}, GPUs: []packer.GPU{g}}
				want := n == 0 || n == residents && len(mechs) == 1 && mechs[0] == profile.MIG
				if err := p.Validate(); (err == nil) != want {
					t.Errorf("%d instances, %d residents, shared by %v: %v", n, residents, mechs, err)
				}
			}
		}
	}
}

// TestGap: a gap is the part of the bound that is not reached, 0 where all is and 1 where there is no bound.
func TestGap(t *testing.T) {
	for _, bound := range []float64{0, 1, 2, math.Inf(1)} {
		for _, does := range []float64{0, 0.5, 1, 2} {
			want := 0.0
			if does < bound {
				want = 1 - does/bound
			}
			if got := (&packer.Solution{Throughput: does, Bound: bound}).Gap(); !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("%v of %v: a gap of %v, want %v", does, bound, got, want)
			}
		}
	}
}
