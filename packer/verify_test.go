package packer_test

import (
	"math"
	rand "math/rand/v2"
	list "slices"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

// quarters are how many parts a unit has in prices.
const quarters = 4

// TestVerifyIsTheFormula compares the bound with the formula of Verify's comment, set by
// set: with residents, homes, gangs, odd sets, copies of tasks, and a Lambda that is no
// higher than the prices there are.
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
