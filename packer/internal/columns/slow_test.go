package columns

import (
	"cmp"
	"math"
	rand "math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/catalogue"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/internal/search"
)

// drawSets draws a problem: every third with homes, every third with gangs, and half of
// the others with tasks that are alike.
func drawSets(rng *rand.Rand, n, tasks, gpus int) *packer.Problem {
	o := packtest.DrawOptions{Tasks: tasks, GPUs: gpus, Kinds: 1 + rng.IntN(2), Residents: 1, MaxSet: 2 + rng.IntN(2), Homes: n%3 == 1, Gangs: n%3 == 2}
	p := packtest.Draw(rng, o)
	for len(p.Tasks) < 2 || len(p.GPUs) < 2 {
		p = packtest.Draw(rng, o)
	}
	if !o.Homes && rng.IntN(2) == 0 {
		p.Tasks = p.Tasks[:min(len(p.Tasks), tasks/2)]
		p = packtest.Repeated(rng, p, 3)
		p.Tasks = p.Tasks[:min(len(p.Tasks), tasks)]
	}
	return p
}

// generate finds the prices of p, all of whose sets it lists, beginning with no plan.
func generate(t *testing.T, p *packer.Problem) (*packer.Compiled, *Generation) {
	t.Helper()
	d, err := packer.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	e, ty := instance.NewEvaluator(d.Instance), instance.NewTypes(d.Instance, false)
	cat, err := catalogue.New(t.Context(), e, ty)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(t.Context(), e, cat, instance.NewPlan(d.Instance), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	g.Bounds(t.Context())
	return d, g
}

// checkPlan fails unless the plan of g is one that Check accepts, worth what g says.
func checkPlan(t *testing.T, p *packer.Problem, d *packer.Compiled, g *Generation) {
	t.Helper()
	s, err := d.Answer(t.Context(), g.Plan(), g.Proof(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(s); err != nil {
		t.Fatal(err)
	}
	var all []int32
	for i := range g.Groups {
		all = append(all, g.Groups[i].Tasks...)
	}
	if all = slices.Sorted(slices.Values(append(all, g.Waiting...))); len(all) != len(p.Tasks) || len(slices.Compact(all)) != len(p.Tasks) {
		t.Fatalf("%v have a place or wait, of %d tasks", all, len(p.Tasks))
	}
	if got := instance.Quarters * packtest.Units(p, s.Throughput); got != g.base+g.value {
		t.Fatalf("the plan counts as %d quarters and is worth %d", g.base+g.value, got)
	}
}

// TestTight: the bound is that of the linear program, but for
// rounding up each price and leaving out sets that would earn a unit.
func TestTight(t *testing.T) {
	rng := rand.New(rand.NewPCG(151, 152))
	tight := 0
	for n := range race.Fewer(60) {
		_, g := generate(t, drawSets(rng, n, 26, 10))
		if g.done() {
			continue // before the linear program was solved
		}
		tight++
		dual, rounding := 0.0, 1.0
		for r, y := range g.lp.price {
			dual += y * g.lp.limit[r] * instance.Resolution * instance.Quarters
			rounding += (instance.Quarters + 2) * g.lp.limit[r]
		}
		if float64(g.bound) > dual+rounding || float64(g.bound) < dual-rounding {
			t.Fatalf("problem %d: the bound is %d, the linear program says %v", n, g.bound, dual)
		}
	}
	if !race.Enabled && tight < 15 {
		t.Errorf("%d bounds were compared", tight)
	}
}

// TestGainAgainstModel: what types add in a site is what tasks of them are worth there, at
// home with what they save, beyond the residents.
func TestGainAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(153, 154))
	for n := range race.Fewer(100) {
		p := drawSets(rng, n, 5, 4)
		for i := range p.Tasks {
			p.Tasks[i].Weight = math.Pow(10, 12*rng.Float64()-9)
		}
		d, g := generate(t, p)
		for at, s := range g.sites {
			gpu := &p.GPUs[d.Classes[s.class].Members[0]]
			for a := range int32(len(g.cat.Members)) {
				for b := a - 1; int(b) < len(g.cat.Members); b++ { // a alone, or with b
					types, tasks := []int32{a}, g.cat.Members[a][:1]
					switch {
					case b == a && len(g.cat.Members[a]) > 1:
						types, tasks = []int32{a, a}, g.cat.Members[a][:2]
					case b == a:
						continue
					case b > a:
						types, tasks = []int32{a, b}, []int32{tasks[0], g.cat.Members[b][0]}
					default:
					}
					want := slowGain(p, d, gpu, s.class, tasks)
					if want > 0 && s.home != none {
						want += d.Bonus(int(s.home), tasks)
					}
					if got := g.gain(at, types); got != want {
						t.Fatalf("problem %d, site %+v: types %v add %d, want %d", n, s, types, got, want)
					}
				}
			}
		}
	}
}

// slowGain returns what tasks add beside the residents of gpu, 0 if they may not.
func slowGain(p *packer.Problem, d *packer.Compiled, gpu *packer.GPU, class int, tasks []int32) int64 {
	var set []*packer.Task
	for r := range gpu.Residents {
		set = append(set, &gpu.Residents[r])
	}
	base, _ := packtest.SlowValue(p, gpu, set)
	for _, i := range tasks {
		set = append(set, &p.Tasks[d.Origin[i]])
		if w := set[len(set)-1].Width(); w != set[0].Width() || class < d.Free && w > len(d.Classes[class].Members) {
			return 0
		}
	}
	if v, ok := packtest.SlowValue(p, gpu, set); ok {
		return v - base
	}
	return 0
}

// TestRepairAgainstBruteForce: a repair finds an arrangement of the loose tasks on the GPUs
// picked that is better than the present one if there is one, and the best.
func TestRepairAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(155, 156))
	better := 0
	for k := range race.Fewer(150) {
		p := drawSets(rng, k, 6, 5)
		d, g := generate(t, p)
		if g.done() {
			continue
		}
		n := &neighbours{Generation: g, pool: g.newPool(t.Context(), g.bound-g.value), group: make([]int, len(g.In.Tasks))}
		n.locate()
		r := newRepair(g, n.pool)
		for range 5 {
			n.choose()
			now, best := int64(0), n.slowBest()
			for _, s := range n.Picked {
				now += instance.Quarters * (n.Groups[s].Value - n.In.Classes[n.Groups[s].Class].Base)
			}
			before, found := g.value, r.run(n)
			for b := range r.types {
				if !slices.IsSortedFunc(r.moves[b], func(x, y move) int { return cmp.Compare(x.loss, y.loss) }) {
					t.Fatalf("problem %d: what becomes of task %d comes in the order %+v", k, b, r.moves[b])
				}
			}
			if found != (best > now) {
				t.Fatalf("problem %d: tasks %v are worth %d, at best %d; a better way found: %v", k, n.Loose, now, best, found)
			}
			if !found {
				continue
			}
			better++
			if n.replace(r); g.value != before-now+best {
				t.Fatalf("problem %d: tasks %v are worth %d now, at best %d", k, n.Loose, g.value-before+now, best)
			}
			checkPlan(t, p, d, g)
		}
	}
	if !race.Enabled && better < 30 {
		t.Errorf("%d repairs found a better way", better)
	}
}

// TestFewTasksAreRepairedAtOnce: where there are gangs and few tasks, the first repair looks
// at all of them, and finds the best plan.
func TestFewTasksAreRepairedAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(163, 164))
	tried := 0
	for k := range race.Fewer(60) {
		p := drawSets(rng, 3*k+2, 6, 5)
		d, g := generate(t, p)
		if !d.Gangs || g.done() {
			continue
		}
		tried++
		g.repair(t.Context(), 1)
		checkPlan(t, p, d, g)
		if best := instance.Quarters * packtest.SlowGangs(p); g.base+g.value != best {
			t.Errorf("problem %d: after a repair the plan has %d, the best has %d", k, g.base+g.value, best)
		}
	}
	if !race.Enabled && tried < 20 {
		t.Errorf("%d problems were repaired", tried)
	}
}

// slowBest tries every way to put the loose tasks on the GPUs picked.
func (n *neighbours) slowBest() int64 {
	type set struct {
		site, width int
		types       []int32
	}
	seats, sets := make([]int, len(n.sites)), []set(nil)
	for _, s := range n.Picked {
		seats[n.at[n.Groups[s].Gpu]]++
	}
	best := int64(0)
	var try func(k int)
	try = func(k int) {
		if k == len(n.Loose) {
			total := int64(0)
			for _, s := range sets {
				gain := n.gain(s.site, slices.Sorted(slices.Values(s.types)))
				if gain == 0 {
					return
				}
				total += instance.Quarters * gain
			}
			best = max(best, total)
			return
		}
		try(k + 1)
		kind := n.cat.Of[n.Loose[k]]
		for s := range sets {
			if old := sets[s].types; n.width(sets[s].site, []int32{kind}) == sets[s].width {
				sets[s].types = append(slices.Clone(old), kind)
				try(k + 1)
				sets[s].types = old
			}
		}
		for at := range seats {
			if width := n.width(at, []int32{kind}); seats[at] >= width {
				seats[at] -= width
				sets = append(sets, set{at, width, []int32{kind}})
				try(k + 1)
				sets = sets[:len(sets)-1]
				seats[at] += width
			}
		}
	}
	try(0)
	return best
}

// TestChoosePicksWholeGPUs: what a repair may rearrange is the tasks of the GPUs picked and
// some that wait, each once and no more than there is room for.
func TestChoosePicksWholeGPUs(t *testing.T) {
	rng := rand.New(rand.NewPCG(157, 158))
	waiting := [2]int{}
	for k := range 30 {
		p := drawSets(rng, k, 50, 8)
		_, g := generate(t, p)
		if g.done() {
			continue
		}
		n := &neighbours{Generation: g, pool: g.newPool(t.Context(), g.bound-g.value), group: make([]int, len(g.In.Tasks))}
		n.locate()
		for range 20 {
			n.choose()
			var want []int32
			for _, s := range n.Picked {
				want = append(want, n.Groups[s].Tasks...)
			}
			for s := range n.Groups {
				if search.Vacant(&n.Groups[s]) && !slices.Contains(n.Picked, s) {
					t.Fatalf("problem %d: a repair may not use GPU %d, which is vacant", k, n.Groups[s].Gpu)
				}
			}
			for _, w := range n.Spots {
				want = append(want, n.Waiting[w])
			}
			slices.Sort(want)
			if !slices.Equal(want, n.Loose) || len(slices.Compact(want)) != len(n.Loose) || len(n.Loose) > n.room || !slices.IsSorted(n.Spots) {
				t.Fatalf("problem %d: %v loose of %v, with room for %d", k, n.Loose, want, n.room)
			}
			if n.In.Gangs && len(n.In.Tasks) > maxLoose {
				waiting[1] += len(n.Spots)
			} else if !n.In.Gangs {
				waiting[0] += len(n.Spots)
			}
		}
	}
	if waiting[0] == 0 || waiting[1] == 0 {
		t.Errorf("%v tasks that wait are loose, without and with gangs", waiting)
	}
}

// TestRoundLeavesNothing: of the sets known, none fits any more in what a rounded plan
// leaves, and the plan is worth nearly what the linear program promises.
func TestRoundLeavesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(159, 160))
	value, bound := int64(0), int64(0)
	for k := range race.Fewer(80) {
		p := drawSets(rng, k, 16, 8)
		d, g := generate(t, p)
		if g.done() {
			continue
		}
		first := g.value
		if g.Round(); g.value < first {
			t.Fatalf("problem %d: rounding lowers %d to %d", k, first, g.value)
		}
		checkPlan(t, p, d, g)
		for s := range g.Groups {
			to := &g.Groups[s]
			to.Tasks, to.More, to.Part, to.Value = nil, nil, false, g.In.Classes[to.Class].Base
		}
		g.Waiting = g.Waiting[:0]
		for i := range int32(len(g.In.Tasks)) {
			g.Waiting = append(g.Waiting, i)
		}
		g.tally()
		g.Round()
		checkPlan(t, p, d, g)
		left, seats := make([]int, len(g.cat.Members)), make([]int, len(g.sites))
		for _, i := range g.Waiting {
			left[g.cat.Of[i]]++
		}
		for s := range g.Groups {
			if to := &g.Groups[s]; len(to.Tasks) == 0 && !to.Part {
				seats[g.at[to.Gpu]]++
			}
		}
		for _, set := range g.Sets {
			fits := seats[set.site] >= g.width(set.site, set.types)
			for _, kind := range set.types {
				if left[kind]--; left[kind] < 0 {
					fits = false
				}
			}
			for _, kind := range set.types {
				left[kind]++
			}
			if fits {
				t.Fatalf("problem %d: %+v still fits", k, set)
			}
		}
		value, bound = value+g.value, bound+g.bound
	}
	if loss := 1 - float64(value)/float64(bound); loss > 0.03 {
		t.Errorf("rounded plans lack %.4f of the bounds", loss)
	}
}

// TestAnnealingRepairsAgain: where the gap stays large the repairs begin again elsewhere.
func TestAnnealingRepairsAgain(t *testing.T) {
	const steps = 5
	rng := rand.New(rand.NewPCG(161, 162))
	again := 0
	for k := range 100 {
		_, g := generate(t, drawSets(rng, 3*k, 12, 5))
		before, gap := g.value, func() float64 { return float64(g.bound-g.value) / float64(g.base+g.bound) }
		near := gap() <= farOff
		made, err := g.ImprovePlan(t.Context(), steps)
		if err != nil || made > 2*steps || g.value < before || near && made > steps || gap() > farOff && made <= steps {
			t.Fatalf("problem %d: %d repairs, %v, from %d to %d", k, made, err, before, g.value)
		}
		if made > steps {
			again++
		}
	}
	if again == 0 {
		t.Error("no repairs after annealing")
	}
}
