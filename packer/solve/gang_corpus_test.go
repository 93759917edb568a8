package solve

import (
	"math/bits"
	rand "math/rand/v2"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

// subsetBest is the twin of every method for gangs, quick enough for a large
// corpus: it values every set of tasks on every class once, by slowValue, and
// tries all ways to choose disjoint ones that fit. Homes do not count.
func subsetBest(p *packer.Problem) int64 {
	b := &subsets{p: p}
	base := int64(0)
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		if n := len(gpu.Residents); n > 0 {
			var members []*packer.Task
			for i := range gpu.Residents {
				members = append(members, &gpu.Residents[i])
			}
			v, _ := packtest.SlowValue(p, gpu, members)
			base += v
			b.classes, b.room = append(b.classes, subsetClass{gpu, max(1, gpu.Residents[0].GPUs), v}), append(b.room, 1)
			continue
		}
		k := 0
		for k < len(b.classes) && (b.classes[k].width > 0 || !b.classes[k].gpu.Alike(gpu)) {
			k++
		}
		if k == len(b.classes) {
			b.classes, b.room = append(b.classes, subsetClass{gpu: gpu}), append(b.room, 0)
		}
		b.room[k]++
	}
	b.values = make([][]int64, len(b.classes))
	for k := range b.values {
		b.values[k] = make([]int64, 1<<len(p.Tasks))
		for mask := range b.values[k] {
			b.values[k][mask] = b.value(k, mask)
		}
	}
	return base + b.best(1<<len(p.Tasks)-1)
}

// subsetClass is a GPU that stands for all like it; width is that of its residents,
// 0 without any.
type subsetClass struct {
	gpu   *packer.GPU
	width int
	base  int64
}

type subsets struct {
	p       *packer.Problem
	classes []subsetClass
	room    []int
	values  [][]int64 // by class and set of tasks; 0 if not allowed
}

// value returns what the tasks in mask add to class k; 0 if they may not.
func (b *subsets) value(k, mask int) int64 {
	c := &b.classes[k]
	var members []*packer.Task
	for i := range c.gpu.Residents {
		members = append(members, &c.gpu.Residents[i])
	}
	if n := bits.OnesCount(uint(mask)); n == 0 || n > 1 && n+len(members) > b.p.Limits.LargestSet() {
		return 0
	}
	width := c.width
	for i := range b.p.Tasks {
		if mask>>i&1 == 1 {
			t := &b.p.Tasks[i]
			if width == 0 {
				width = max(1, t.GPUs)
			}
			if width != max(1, t.GPUs) {
				return 0
			}
			members = append(members, t)
		}
	}
	if v, ok := packtest.SlowValue(b.p, c.gpu, members); ok {
		return v - c.base
	}
	return 0
}

// best returns the most that the tasks in mask add in the room left.
func (b *subsets) best(mask int) int64 {
	if mask == 0 {
		return 0
	}
	low := mask & -mask
	width := max(1, b.p.Tasks[bits.TrailingZeros(uint(mask))].GPUs)
	most := b.best(mask ^ low) // it waits
	for k := range b.classes {
		w := width
		if b.classes[k].width > 0 {
			w = 1
		}
		if b.room[k] < w {
			continue
		}
		b.room[k] -= w
		for others := mask ^ low; ; others = (others - 1) & (mask ^ low) {
			if v := b.values[k][others|low]; v > 0 {
				most = max(most, v+b.best(mask^low^others))
			}
			if others == 0 {
				break
			}
		}
		b.room[k] += w
	}
	return most
}

// drawGangs draws a problem of up to seven tasks that take one to four GPUs each.
func drawGangs(rng *rand.Rand, maxSet int) *packer.Problem {
	o := packtest.DrawOptions{Tasks: 7, GPUs: 9, Kinds: 1 + rng.IntN(3), Residents: rng.IntN(4), MaxSet: maxSet}
	p := packtest.Draw(rng, o)
	for len(p.Tasks) < 3 || len(p.GPUs) < 2 {
		p = packtest.Draw(rng, o)
	}
	for i := range p.Tasks {
		p.Tasks[i].GPUs = 1 + rng.IntN(4)
		if rng.IntN(3) == 0 { // as much as its GPUs are worth
			p.Tasks[i].Weight = float64(p.Tasks[i].GPUs)
		}
	}
	for g := range p.GPUs {
		width := rng.IntN(3)
		for i := range p.GPUs[g].Residents {
			p.GPUs[g].Residents[i].GPUs = width
		}
	}
	return p
}

func TestGangCorpus(t *testing.T) {
	rounds := race.Fewer(400)
	if testing.Short() {
		rounds = min(rounds, 100)
	}
	for _, test := range []struct {
		method  packer.Method
		optimal float64 // share at least
		loss    float64 // at most
		gap     float64 // mean at most; 1 for no proofs
	}{
		{Auto{}, 0.999, 0.01, 0.03},
		{ColumnGen{}, 0.999, 0.01, 0.03},
		{LocalSearch{}, 0.97, 0.3, 1},
	} {
		rng := rand.New(rand.NewPCG(71, 72))
		exact, worst, gap, proved := 0, 0.0, 0.0, 0
		for round := range rounds {
			p := drawGangs(rng, 2+round%3)
			best := subsetBest(p)
			s := packtest.Solve(t, test.method, p)
			got := packtest.Units(p, s.Throughput)
			if got > best || s.Bound < float64(best)*p.Unit() {
				t.Fatalf("%T: %d of %d units, bound %v", test.method, got, best, s.Bound)
			}
			if got == best {
				exact++
			} else {
				worst = max(worst, 1-float64(got)/float64(best))
			}
			if s.Certificate == nil {
				continue
			}
			proved++
			gap += s.Gap()
		}
		t.Logf("%T: optimal in %d of %d, worst loss %.3f; proved %d, mean gap %.4f", test.method, exact, rounds, worst, proved, gap/float64(max(1, proved)))
		if float64(exact) < test.optimal*float64(rounds) || worst > test.loss || gap > test.gap*float64(rounds) || test.gap < 1 && proved < rounds {
			t.Errorf("%T: want %v of them, %v and a mean gap of %v", test.method, test.optimal, test.loss, test.gap)
		}
	}
}

// TestSubsetBest compares the twin with the slower one.
func TestSubsetBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	for range 100 {
		p := drawGangs(rng, 3)
		p.Tasks = p.Tasks[:min(4, len(p.Tasks))]
		if got, want := subsetBest(p), packtest.SlowGangs(p); got != want {
			t.Fatalf("%d units, want %d: %+v", got, want, p)
		}
	}
}
