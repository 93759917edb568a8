package solve

import (
	rand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

// slowGangHomes is the twin of every method for gangs beside homes: it tries every
// GPU for every task, and every choice of GPUs for every gang.
func slowGangHomes(p *packer.Problem) int64 {
	sets, taken := make([][]*packer.Task, len(p.GPUs)), make([]bool, len(p.GPUs))
	widths := make([]int, len(p.GPUs))
	for g := range p.GPUs {
		for i := range p.GPUs[g].Residents {
			sets[g] = append(sets[g], &p.GPUs[g].Residents[i])
			widths[g] = max(1, p.GPUs[g].Residents[i].GPUs)
		}
	}
	best := int64(-1)
	var try func(i int)
	// open lets task i have GPU lead and left more from g on.
	var open func(i, lead, g, left int)
	open = func(i, lead, g, left int) {
		if left == 0 {
			try(i + 1)
			return
		}
		for ; g < len(p.GPUs); g++ {
			if !taken[g] && len(sets[g]) == 0 && p.GPUs[lead].Alike(&p.GPUs[g]) {
				taken[g] = true
				open(i, lead, g+1, left-1)
				taken[g] = false
			}
		}
	}
	try = func(i int) {
		if i == len(p.Tasks) {
			best = max(best, slowTotal(p, sets))
			return
		}
		t := &p.Tasks[i]
		try(i + 1)
		for g := range sets {
			switch old, width := sets[g], max(1, t.GPUs); {
			case taken[g]:
			case len(old) == 0:
				sets[g], widths[g] = []*packer.Task{t}, width
				open(i, g, g+1, width-1)
				sets[g] = nil
			case widths[g] == width:
				sets[g] = append(slices.Clone(old), t)
				try(i + 1)
				sets[g] = old
			}
		}
	}
	try(0)
	return best
}

// slowTotal returns the value of a plan in units, -1 if it is not allowed.
func slowTotal(p *packer.Problem, sets [][]*packer.Task) int64 {
	unit, total := p.Unit(), int64(0)
	for g, set := range sets {
		v, ok := packtest.SlowValue(p, &p.GPUs[g], set)
		if !ok {
			return -1
		}
		total += v
		for _, t := range set {
			if t.Home == p.GPUs[g].ID && t.MoveCost > 0 {
				total += max(1, int64(t.EffectiveWeight()*t.MoveCost/unit+0.5))
			}
		}
	}
	return total
}

// TestGangsBesideHomes: every plan is feasible and has a bound that holds, and
// nearly all are the best.
func TestGangsBesideHomes(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	rounds := race.Fewer(150)
	exact, both, worst, gap := 0, 0, 0.0, 0.0
	for round := range rounds {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 4, GPUs: 5, Kinds: 2, Residents: 1, MaxSet: 2 + round%2, Homes: true})
		for i := range p.Tasks {
			if rng.IntN(2) == 0 {
				p.Tasks[i].GPUs, p.Tasks[i].Home = 2, ""
			}
		}
		best := slowGangHomes(p)
		s := packtest.Solve(t, Auto{}, p)
		got := packtest.Units(p, s.Throughput)
		if got > best || s.Bound < float64(best)*p.Unit() || s.Certificate == nil {
			t.Fatalf("%d of %d units, bound %v: %s", got, best, s.Bound, s.Method)
		}
		gang := slices.ContainsFunc(p.Tasks, func(t packer.Task) bool { return t.GPUs > 1 })
		if home := slices.ContainsFunc(p.Tasks, func(t packer.Task) bool { return t.Home != "" && t.MoveCost > 0 }); gang && home {
			both++
			if !strings.Contains(s.Method, "; bound by column generation") || !strings.Contains(s.Method, ", without homes") {
				t.Fatalf("the bound is of another problem, and %q does not say so", s.Method)
			}
		}
		if got == best {
			exact++
		} else {
			worst = max(worst, 1-float64(got)/float64(best))
		}
		gap += s.Gap() / float64(rounds)
	}
	t.Logf("optimal in %d of %d, worst loss %.3f, mean gap %.3f; %d have gangs and homes", exact, rounds, worst, gap, both)
	if both == 0 && !race.Enabled || exact < rounds*99/100 || worst > 0.05 || gap > 0.01 {
		t.Errorf("optimal in %d of %d, worst loss %.3f", exact, rounds, worst)
	}
}
