package solve

import (
	"math"
	rand "math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

// TestPricesAreADual: the prices that a plan comes with add up to its bound, and on each
// GPU they pay for every set that there could be, also for what residents do anyway.
func TestPricesAreADual(t *testing.T) {
	rng := rand.New(rand.NewPCG(121, 122))
	proved, odd, rounds := 0, 0, max(30, race.Fewer(300))
	for n := range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 6, GPUs: 4, Kinds: 1 + n%3, Residents: 2, MaxSet: 2 + n/3%2})
		if n%4 == 0 {
			p = packtest.Paced(rng, p)
		}
		used := []packer.Method{ColumnGen{}}
		if p.Limits.MaxSet == 2 {
			used = append(used, Matching{})
		}
		for _, m := range used {
			s := packtest.Solve(t, m, p)
			if s.Certificate == nil {
				continue
			}
			proved++
			odd += len(s.Certificate.Odd)
			checkDual(t, p, s)
		}
	}
	if proved < rounds || !race.Enabled && odd == 0 { // few problems take odd sets
		t.Errorf("%d plans came with prices, %d odd sets", proved, odd)
	}
}

func checkDual(t *testing.T, p *packer.Problem, s *packer.Solution) {
	t.Helper()
	c, tol := s.Certificate, p.Unit()*float64(len(p.Tasks)+len(p.GPUs))
	total := 0.0
	for _, x := range slices.Concat(c.U, c.Lambda) {
		total += x
	}
	for _, o := range c.Odd {
		total += o.Z * float64((len(o.Tasks)+len(o.GPUs))/2)
	}
	if !(math.Abs(total-s.Bound) <= tol) {
		t.Fatalf("%s: prices add up to %v, the bound is %v", s.Method, total, s.Bound)
	}
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		for chosen := range 1 << len(p.Tasks) {
			var set []*packer.Task
			for k := range gpu.Residents {
				set = append(set, &gpu.Residents[k])
			}
			pay, members := c.Lambda[g], []int(nil)
			for i := range p.Tasks {
				if chosen>>i&1 == 1 {
					set, members, pay = append(set, &p.Tasks[i]), append(members, i), pay+c.U[i]
				}
			}
			if len(set) > p.Limits.MaxSet {
				continue
			}
			for _, o := range c.Odd {
				within := 0
				for _, i := range members {
					if slices.Contains(o.Tasks, i) {
						within++
					}
				}
				if slices.Contains(o.GPUs, g) {
					within++
				}
				pay += o.Z * float64(within/2)
			}
			if v, ok := packtest.SlowValue(p, gpu, set); ok && float64(v)*p.Unit() > pay+tol {
				t.Fatalf("%s: tasks %v on GPU %d with %d residents are worth %v, prices say %v", s.Method, members, g, len(gpu.Residents), float64(v)*p.Unit(), pay)
			}
		}
	}
}
