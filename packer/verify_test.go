package packer_test

import (
	"math"
	rand "math/rand/v2"
	list "slices"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// quarters are how many parts a unit has in prices.
const quarters = 4

// TestVerifyIsTheFormula compares the bound with the formula of Verify's comment, set by
// set: with residents, homes, gangs, odd sets, models that make the monotone promise, and
// a Lambda that is no higher than the prices there are.
func TestVerifyIsTheFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(171, 172))
	for n := range 300 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 4, Kinds: 2, Residents: 2, MaxSet: 2 + n%3, Homes: n%4 == 1, Gangs: n%4 == 2})
		if n%5 == 0 {
			p = packtest.Repeated(rng, p, 2)
			p.Tasks = p.Tasks[:min(len(p.Tasks), 7)]
		}
		scale := p.Unit() / quarters
		c := &packer.Certificate{}
		total := int64(0)
		price := func(most float64) float64 {
			u := rng.Int64N(1 + int64(most/scale))
			total += u
			return float64(u) * scale
		}
		for range p.Tasks {
			c.U = append(c.U, price(2))
		}
		for n%3 == 0 && len(c.Odd) < 2 {
			odd := oddSet(rng, p)
			before := total
			odd.Z = price(0.5)
			total = before + (total-before)*int64((len(odd.Tasks)+len(odd.GPUs))/2)
			c.Odd = append(c.Odd, odd)
		}
		for g := range p.GPUs {
			most := slowPrice(p, c, g)
			total += most
			c.Lambda = append(c.Lambda, float64(max(0, most-[]int64{0, 1, 1 << 18}[rng.IntN(3)]))*scale)
		}
		bound, err := c.Verify(t.Context(), p)
		if got := int64(math.Round(bound / scale)); err != nil || got != total {
			t.Fatalf("problem %d: %d quarters of a unit, %v; want %d", n, got, err, total)
		}
	}
}

// oddSet draws a set of tasks and of GPUs with one resident.
func oddSet(rng *rand.Rand, p *packer.Problem) packer.OddSet {
	var odd packer.OddSet
	for i := range p.Tasks {
		if rng.IntN(2) == 0 {
			odd.Tasks = append(odd.Tasks, i)
		}
	}
	for g := range p.GPUs {
		if len(p.GPUs[g].Residents) == 1 && rng.IntN(2) == 0 {
			odd.GPUs = append(odd.GPUs, g)
		}
	}
	return odd
}

// slowPrice returns what a set on GPU g earns at most, in quarters of a unit.
func slowPrice(p *packer.Problem, c *packer.Certificate, g int) int64 {
	gpu, scale := &p.GPUs[g], p.Unit()/quarters
	alike := 0
	for o := range p.GPUs {
		if len(p.GPUs[o].Residents) == 0 && p.GPUs[o].Alike(gpu) {
			alike++
		}
	}
	most := int64(0)
	for chosen := range 1 << len(p.Tasks) {
		var set []*packer.Task
		for k := range gpu.Residents {
			set = append(set, &gpu.Residents[k])
		}
		profit, tasks := int64(0), []int(nil)
		for i := range p.Tasks {
			if t := &p.Tasks[i]; chosen>>i&1 == 1 {
				set, tasks = append(set, t), append(tasks, i)
				profit -= int64(math.Round(c.U[i] / scale))
				if t.Home == gpu.ID && t.MoveCost > 0 {
					profit += quarters * max(1, int64(math.Round(t.EffectiveWeight()*t.MoveCost/p.Unit())))
				}
			}
		}
		if list.ContainsFunc(set, func(t *packer.Task) bool { return t.Width() != set[0].Width() }) {
			continue
		}
		value, ok := packtest.SlowValue(p, gpu, set)
		if !ok {
			continue
		}
		profit += quarters * value
		for _, o := range c.Odd {
			within := 0
			for _, i := range tasks {
				if list.Contains(o.Tasks, i) {
					within++
				}
			}
			if list.Contains(o.GPUs, g) {
				within++
			}
			profit -= int64(math.Round(o.Z/scale)) * int64(within/2)
		}
		if len(tasks) > 0 && len(gpu.Residents) == 0 {
			width := int64(set[0].Width())
			if width > int64(alike) {
				continue
			}
			profit = int64(math.Ceil(float64(profit) / float64(width)))
		}
		most = max(most, profit)
	}
	return most
}

// asked notes the sets of three that a model is asked about.
type asked struct {
	packer.Model
	sets *[][]*packer.Task
}

func (a asked) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	if len(set) == 3 {
		*a.sets = append(*a.sets, list.Clone(set))
	}
	return a.Model.Speeds(set, gpu, mech, dst)
}

func (asked) Monotone(*packer.GPU, profile.Mechanism) bool { return true }

// TestVerifyAsksForWhatPays: of a model that makes the monotone promise, with prices that are
// right, it asks only about those sets of three in which two as they are, and the third as
// it is beside the worse of them, would earn more than the price of the GPU.
func TestVerifyAsksForWhatPays(t *testing.T) {
	rng := rand.New(rand.NewPCG(475, 476))
	var sets [][]*packer.Task
	total := 0
	for n := range 200 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 9, GPUs: 1, Kinds: 1, MaxSet: 3})
		if len(p.GPUs) == 0 || len(p.Tasks) == 0 {
			continue
		}
		scale, price := p.Unit()/quarters, map[string]int64{}
		c := &packer.Certificate{}
		for i := range p.Tasks {
			u := rng.Int64N(1 + int64(1.2/scale))
			price[p.Tasks[i].ID], c.U = u, append(c.U, float64(u)*scale)
		}
		p.Limits.MinGain = 0
		lambda := slowPrice(p, c, 0)
		c.Lambda = []float64{float64(lambda) * scale}
		beside := func(a, b *packer.Task) (float64, float64) {
			speeds := make([]float64, 2)
			if err := p.Model.Speeds([]*packer.Task{a, b}, &p.GPUs[0], profile.TimeSlice, speeds); err != nil {
				t.Fatal(err)
			}
			if min(speeds[0], speeds[1]) <= 0 || speeds[0] < a.MinSpeed || speeds[1] < b.MinSpeed {
				return 0, 0
			}
			return a.EffectiveWeight() * speeds[0] / p.Unit(), b.EffectiveWeight() * speeds[1] / p.Unit()
		}
		model := p.Model
		sets, p.Model = sets[:0], asked{model, &sets}
		if _, err := c.Verify(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		p.Model = model
		for _, set := range sets {
			pays := false
			for k, third := range set {
				a, b := set[(k+1)%3], set[(k+2)%3]
				x, y := beside(a, b)
				ofA, _ := beside(third, a)
				ofB, _ := beside(third, b)
				profit := quarters*(x+y+min(ofA, ofB)) - float64(price[a.ID]+price[b.ID]+price[third.ID])
				pays = pays || min(x, ofA, ofB) > 0 && profit > float64(lambda)-4*quarters // rounding
			}
			if !pays {
				t.Fatalf("problem %d: asked about %q, %q and %q, which cannot pay", n, set[0].ID, set[1].ID, set[2].ID)
			}
		}
		total += len(sets)
	}
	if total == 0 {
		t.Error("no set of three could pay")
	}
}
