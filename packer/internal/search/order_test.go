package search

import (
	"context"
	rand "math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// weightless is a drawn problem in which all weights but one, on a GPU of its own, are
// far below a unit.
func weightless(rng *rand.Rand, homes bool) *packer.Problem {
	p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 8, GPUs: 3, Kinds: 2, Residents: 3, MaxSet: 3, Homes: homes})
	light := func() float64 { return 1e-9 * float64(1+rng.IntN(8)) }
	for i := range p.Tasks {
		p.Tasks[i].Weight, p.Tasks[i].Memory = light(), profile.Bytes(rng.IntN(5))*profile.GiB
	}
	for g := range p.GPUs {
		for i := range p.GPUs[g].Residents {
			p.GPUs[g].Residents[i].Weight = light()
		}
	}
	p.Tasks = append(p.Tasks, packer.Task{ID: "heavy", Weight: 1, Memory: 90 * profile.GiB})
	p.GPUs = append(p.GPUs, packer.GPU{ID: "large", Memory: 100 * profile.GiB})
	return p
}

// worthOf is what a plan is worth in units, and before rounding.
func worthOf(t *testing.T, p *packer.Problem, d *packer.Compiled, pl *instance.Plan) (units, exact float64) {
	t.Helper()
	s, err := d.Answer(t.Context(), pl, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(s); err != nil {
		t.Fatal(err)
	}
	for _, set := range s.Sets {
		gpu := &p.GPUs[set.GPU]
		for k, speed := range set.Speeds {
			if k < len(gpu.Residents) {
				exact += gpu.Residents[k].EffectiveWeight() * speed
				continue
			}
			task := &p.Tasks[set.Tasks[k-len(gpu.Residents)]]
			exact += task.EffectiveWeight() * speed
			if task.Home == gpu.ID {
				exact += float64(d.Stay[slices.Index(d.Origin, set.Tasks[k-len(gpu.Residents)])]) * d.Unit
			}
		}
	}
	return s.Throughput, exact
}

// TestHeavierFirstOnlyGains: it leaves the value in units as it is, and of two plans that
// are worth the same returns the one that is worth more before rounding.
func TestHeavierFirstOnlyGains(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	changed := 0
	for n := range 300 {
		p := weightless(rng, n%2 == 0)
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		pl := anyPlan(t, rng, d)
		before := &instance.Plan{Gpu: slices.Clone(pl.Gpu), More: pl.More}
		if err := HeavierFirst(t.Context(), d.Instance, pl); err != nil {
			t.Fatal(err)
		}
		units, exact := worthOf(t, p, d, before)
		u, x := worthOf(t, p, d, pl)
		same := slices.Equal(before.Gpu, pl.Gpu)
		if !same {
			changed++
		}
		if u != units || !same && !(x > exact) {
			t.Fatalf("problem %d: %v, before rounding %v, becomes %v, %v", n, units, exact, u, x)
		}
		for i := range p.Tasks {
			for j := range p.Tasks {
				if pl.Gpu[i] != none || pl.Gpu[j] == none || d.Tasks[i].Weight <= d.Tasks[j].Weight {
					continue
				}
				other := &instance.Plan{Gpu: slices.Clone(pl.Gpu), More: pl.More}
				other.Gpu[i], other.Gpu[j] = pl.Gpu[j], none
				if !allowed(t, d, other, int(pl.Gpu[j])) {
					continue
				}
				if u, y := worthOf(t, p, d, other); u == units && y > x+1e-18 {
					t.Fatalf("problem %d: %v before rounding, and %v with task %d in place of %d", n, x, y, i, j)
				}
			}
		}
	}
	if changed < 30 {
		t.Errorf("%d plans changed", changed)
	}
}

// anyPlan puts task after task on any GPU that takes it.
func anyPlan(t *testing.T, rng *rand.Rand, d *packer.Compiled) *instance.Plan {
	t.Helper()
	pl := instance.NewPlan(d.Instance)
	for _, i := range rng.Perm(len(d.Tasks)) {
		for _, g := range rng.Perm(len(d.ByGPU)) {
			if pl.Gpu[i] = int32(g); allowed(t, d, pl, g) {
				break
			}
			pl.Gpu[i] = none
		}
	}
	return pl
}

// allowed reports whether what a plan has on GPU g is.
func allowed(t *testing.T, d *packer.Compiled, pl *instance.Plan, g int) bool {
	t.Helper()
	var set []int32
	for i, at := range pl.Gpu {
		if int(at) == g {
			set = append(set, int32(i))
		}
	}
	v, err := instance.NewEvaluator(d.Instance).Verdict(&d.Classes[d.ByGPU[g]], set)
	if err != nil {
		t.Fatal(err)
	}
	return v.Code == 0
}

// TestHeavierFirstStops: cancelled, it leaves the plan as it is; the caller asks the
// context.
func TestHeavierFirstStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for n := range 20 {
		d, err := packer.Compile(weightless(rng, false))
		if err != nil {
			t.Fatal(err)
		}
		pl := anyPlan(t, rng, d)
		before := slices.Clone(pl.Gpu)
		if err := HeavierFirst(ctx, d.Instance, pl); err != nil || !slices.Equal(pl.Gpu, before) {
			t.Fatalf("problem %d: %v, %v becomes %v", n, err, before, pl.Gpu)
		}
	}
}
