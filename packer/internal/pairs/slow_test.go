package pairs

import (
	"context"
	"math"
	rand "math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/internal/start"
)

// method is Pack as a packer.Method.
type method struct{ tol float64 }

// Pack implements packer.Method.
func (m method) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	d, err := packer.Compile(p)
	if err != nil {
		return nil, err
	}
	pl, pr, text, err := Pack(ctx, d.Instance, m.tol)
	if err != nil {
		return nil, err
	}
	return d.Answer(ctx, pl, pr, text)
}

// drawPairs draws a problem for sets of two: every third with homes, every third with
// gangs, among the residents, too.
func drawPairs(rng *rand.Rand, n, tasks, gpus, kinds int) *packer.Problem {
	o := packtest.DrawOptions{Tasks: tasks, GPUs: gpus, Kinds: kinds, Residents: 2, MaxSet: 2, Homes: n%3 == 1, Gangs: n%3 == 2}
	p := packtest.Draw(rng, o)
	for i := range p.Tasks {
		if o.Gangs { // worth their GPUs, and mostly fit in pairs
			p.Tasks[i].Memory, p.Tasks[i].Alone, p.Tasks[i].Weight = p.Tasks[i].Memory/3, false, float64(p.Tasks[i].Width())
		}
	}
	for g := range p.GPUs {
		width := 1 + rng.IntN(3)
		for i := range p.GPUs[g].Residents {
			if o.Gangs {
				p.GPUs[g].Residents[i].GPUs = width
			}
		}
	}
	return p
}

// TestPackAgainstBruteForce: on one kind of GPU the plan is the best one and proved so;
// on several, and with homes or gangs, nearly always, and the bound holds.
func TestPackAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(131, 132))
	rounds, exact, proved, gap, within := race.Fewer(600), 0, 0, 0.0, 0
	for n := range rounds {
		p := drawPairs(rng, n, 6, 4, 1+rng.IntN(3))
		best := packtest.SlowGangs(p)
		easy := packtest.NewInstance(t, p).Free < 2
		for i := range p.Tasks {
			if p.Tasks[i].Home != "" {
				best, easy = packtest.SlowBest(p), false
			}
			easy = easy && p.Tasks[i].Width() == 1
		}
		s := packtest.Solve(t, method{}, p)
		got, bound := packtest.Units(p, s.Throughput), packtest.Units(p, s.Bound)
		if got > best || bound < best || easy && (got < best || s.Bound != s.Throughput) {
			t.Fatalf("problem %d: %d of %d units, bound %v: %s", n, got, best, s.Bound, s.Method)
		}
		if got == best {
			exact++
		}
		if s.Gap() < 1e-5 {
			proved++
		}
		gap += s.Gap()
		const tol = 0.2
		switch s := packtest.Solve(t, method{tol}, p); {
		case easy && s.Gap() > tol:
			t.Fatalf("problem %d: gap %v: %s", n, s.Gap(), s.Method)
		case s.Method == "matching, within tolerance":
			within++
		}
	}
	t.Logf("of %d: %d optimal, %d proved, mean gap %.4f; %d ended early", rounds, exact, proved, gap/float64(rounds), within)
	if exact < rounds*97/100 || proved < rounds*80/100 || gap > 0.02*float64(rounds) || !race.Enabled && within < 5 {
		t.Errorf("of %d: %d optimal, %d proved, mean gap %.4f; %d ended early", rounds, exact, proved, gap/float64(rounds), within)
	}
}

// checkLayout fails unless l is a plan that Check accepts and worth what it says; with
// what pr proves, if it is not nil.
func checkLayout(t *testing.T, p *packer.Problem, d *packer.Compiled, l *layout, pr *instance.Proof) {
	t.Helper()
	value := l.value()
	s, err := d.Answer(t.Context(), l.plan(), pr, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(s); err != nil {
		t.Fatal(err)
	}
	if got := packtest.Units(p, s.Throughput); got != value {
		t.Fatalf("the layout counts as %d units, its plan as %d", value, got)
	}
	if pr == nil {
		return
	}
	sum := int64(0)
	for _, x := range slices.Concat(pr.Tasks, pr.GPUs) {
		sum += x
	}
	for _, o := range pr.Odd {
		sum += o.Price * int64((len(o.Tasks)+len(o.GPUs))/2)
	}
	if bound, err := s.Certificate.Verify(t.Context(), p); err != nil || bound > s.Bound || sum != pr.Bound {
		t.Fatalf("prices prove %v and add up to %d, not %d: %v", bound, sum, pr.Bound, err)
	}
}

// TestMatchingsAtPrices: at any prices of GPUs the sets chosen are worth what the duals
// prove, these prove it to Verify, too, and what is repaired fits.
func TestMatchingsAtPrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(133, 134))
	for n := range race.Fewer(600) {
		p := drawPairs(rng, n, 9, 12, 1+rng.IntN(3))
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		tab, err := newTable(t.Context(), instance.NewEvaluator(d.Instance))
		if err != nil {
			t.Fatal(err)
		}
		m := newMatcher(t.Context(), tab)
		for range 6 {
			prices := make([]int64, m.in.Free)
			for k := range prices {
				prices[k] = 2 * (rng.Int64N(m.top/2+2) >> rng.IntN(4))
				if rng.IntN(4) == 0 {
					prices[k] = 0
				}
			}
			r := m.at(t.Context(), prices)
			if r == nil {
				t.Fatal(m.err)
			}
			if got, want := m.worthOf(r), m.bound(r); got != want {
				t.Fatalf("problem %d, prices %v: worth %d quarters, the duals prove %d", n, prices, got, want)
			}
			used := make([]int, m.in.Free)
			for i, k := range r.class {
				if j := r.Mate[i]; k >= 0 && int(k) < m.in.Free && (j == none || int(j) > i) {
					used[k] += m.in.Tasks[i].GPUs
				}
			}
			if !slices.Equal(used, r.counts) {
				t.Fatalf("problem %d: counts %v GPUs, sets take %v", n, r.counts, used)
			}
			l := m.repaired(r)
			checkLayout(t, p, d, l, m.proof(r))
			idle, fits := int64(0), !m.in.Homes
			for k, c := range r.counts {
				left := len(m.in.Classes[k].Members) - c
				idle, fits = idle+int64(left)*prices[k], fits && left >= 0
			}
			if got, want := instance.Quarters*l.value()+idle, m.worthOf(r); fits && got < want {
				t.Fatalf("problem %d: sets worth %d quarters fit, of which the plan has %d", n, want, got)
			}
		}
	}
}

// TestTableAgainstModel: the table tells of every set of two what the model and the limits
// say, the hopeful one beside that what can be saved at home, and no value is above top.
func TestTableAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(135, 136))
	for n := range race.Fewer(300) {
		p := drawPairs(rng, n, 6, 5, 2)
		p.Limits.MaxSet = 1 + rng.IntN(2)
		in := packtest.NewInstance(t, p)
		tab, err := newTable(t.Context(), instance.NewEvaluator(in))
		if err != nil {
			t.Fatal(err)
		}
		h, top := tab.hopeful(t.Context()), int64(0)
		for k := range in.Classes {
			for i := int32(none); int(i) < tab.n; i++ {
				for j := int32(none); int(j) < tab.n; j++ {
					want := slowPair(p, in, k, i, j)
					if got := tab.worth(k, i, j); got != want {
						t.Fatalf("problem %d, class %d, tasks %d and %d: %d units, want %d: %+v", n, k, i, j, got, want, p)
					}
					if want > 0 && (i != none || j != none) {
						want += in.Hope(k, i, j)
						if i == j {
							want -= in.StayIn(k, i)
						}
					}
					if got := h.worth(k, i, j); got != want {
						t.Fatalf("class %d, tasks %d and %d: %d units in hope, want %d", k, i, j, got, want)
					}
					if k < in.Free {
						top = max(top, instance.Quarters*want)
					}
				}
			}
		}
		if h.top != top {
			t.Fatalf("the largest value is %d quarters, want %d", h.top, top)
		}
	}
}

// slowPair values residents of class k and tasks i and j, 0 if they may not share.
func slowPair(p *packer.Problem, in *instance.Instance, k int, i, j int32) int64 {
	gpu := &p.GPUs[in.Classes[k].Members[0]]
	var set []*packer.Task
	for r := range gpu.Residents {
		set = append(set, &gpu.Residents[r])
	}
	for n, x := range [2]int32{i, j} {
		if x == none || n == 1 && i == j {
			continue
		}
		set = append(set, &p.Tasks[in.Origin[x]])
		if w := set[len(set)-1].Width(); w != set[0].Width() || k < in.Free && w > len(in.Classes[k].Members) {
			return 0
		}
	}
	if v, ok := packtest.SlowValue(p, gpu, set); ok {
		return v
	}
	return 0
}

// TestLayoutOfAPlan: a plan as a layout is worth what it was and turns back into itself;
// polished it is worth no less, and no exchange of tasks between two GPUs, or with one
// that waits, gains.
func TestLayoutOfAPlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(137, 138))
	better := 0
	for n := range race.Fewer(200) {
		p := drawPairs(rng, n, 14, 8, 1+n%2)
		d, err := packer.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		tab, err := newTable(t.Context(), instance.NewEvaluator(d.Instance))
		if err != nil {
			t.Fatal(err)
		}
		pl, err := start.Greedy(t.Context(), d.Instance, tab)
		if err != nil {
			t.Fatal(err)
		}
		l := newLayout(tab, pl)
		if again := l.plan(); !slices.Equal(again.Gpu, pl.Gpu) {
			t.Fatalf("problem %d: GPUs %v become %v", n, pl.Gpu, again.Gpu)
		}
		checkLayout(t, p, d, l, nil)
		before := l.value()
		l.polish(t.Context())
		checkLayout(t, p, d, l, nil)
		if l.value() > before {
			better++
		}
		if !d.Gangs {
			checkPolished(t, p, d, l.plan())
		}
	}
	if !race.Enabled && better < 20 {
		t.Errorf("polishing makes %d plans better", better)
	}
}

// checkPolished tries all ways to share out the tasks of two GPUs, or of one and a task
// that waits.
func checkPolished(t *testing.T, p *packer.Problem, d *packer.Compiled, pl *instance.Plan) {
	t.Helper()
	type slot struct {
		gpu   int
		tasks []int32
	}
	slots := []slot{{none, nil}}
	for g := range p.GPUs {
		slots = append(slots, slot{gpu: g})
	}
	for i, g := range pl.Gpu {
		if g == none {
			slots = append(slots, slot{none, []int32{int32(i)}})
			continue
		}
		slots[g+1].tasks = append(slots[g+1].tasks, int32(i))
	}
	worth := func(gpu int, tasks []int32) int64 {
		if gpu == none || len(tasks)+len(p.GPUs[gpu].Residents) == 0 {
			return 0
		}
		k, a, b := d.ByGPU[gpu], int32(none), int32(none)
		switch len(tasks) {
		case 2:
			a, b = tasks[0], tasks[1]
		case 1:
			a = tasks[0]
		default:
		}
		v := slowPair(p, d.Instance, k, a, b)
		if v == 0 {
			return math.MinInt32
		}
		return v + d.Bonus(gpu, tasks)
	}
	for n, s := range slots {
		for _, o := range slots[:n] {
			both := slices.Concat(s.tasks, o.tasks)
			now := worth(s.gpu, s.tasks) + worth(o.gpu, o.tasks)
			for mask := range 1 << len(both) {
				var in, out []int32
				for k, i := range both {
					if mask>>k&1 == 1 {
						in = append(in, i)
					} else {
						out = append(out, i)
					}
				}
				if len(in) > 2 || len(out) > 2 || s.gpu == none && o.gpu == none {
					continue
				}
				if v := worth(s.gpu, in) + worth(o.gpu, out); v > now {
					t.Fatalf("GPUs %d and %d with %v and %v are worth %d, with %v and %v they would be worth %d", s.gpu, o.gpu, s.tasks, o.tasks, now, in, out, v)
				}
			}
		}
	}
}

// TestOneKindProvesItself: on one kind of GPU a plan of any size is worth what it proves.
func TestOneKindProvesItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(141, 142))
	for n := range race.Fewer(200) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 40, GPUs: 12, Kinds: 1, Residents: 6, MaxSet: 2})
		if n%2 == 0 { // with ties, so that no price makes just as many sets as there are GPUs
			p.Model = packtest.HashModel{Seed: rng.Uint64(), Steps: 4, Low: 0.6}
		}
		if s := packtest.Solve(t, method{}, p); s.Bound != s.Throughput || s.Method != "matching, exact" {
			t.Fatalf("problem %d: %v of %v: %s", n, s.Throughput, s.Bound, s.Method)
		}
	}
}

// TestStartIsNoWorse: where tasks have homes, a plan begins with no less than what leaving
// all of them there is worth, or Greedy's plan with exchanges, and ends with no less.
func TestStartIsNoWorse(t *testing.T) {
	rng := rand.New(rand.NewPCG(143, 144))
	for n := range race.Fewer(200) {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 14, GPUs: 6, Kinds: 1 + n%2, Residents: 2, MaxSet: 2, Homes: true})
		in := packtest.NewInstance(t, p)
		tab, err := newTable(t.Context(), instance.NewEvaluator(in))
		if err != nil {
			t.Fatal(err)
		}
		home, err := start.StayHome(in, tab)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := start.Greedy(t.Context(), in, tab)
		if err != nil {
			t.Fatal(err)
		}
		greedy := newLayout(tab, pl)
		greedy.polish(t.Context())
		stay := max(newLayout(tab, home).value(), greedy.value())
		first, err := newMatcher(t.Context(), tab).start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if pl, _, _, err = Pack(t.Context(), in, 0); err != nil {
			t.Fatal(err)
		}
		if last := newLayout(tab, pl).value(); first.value() < stay || last < first.value() {
			t.Fatalf("problem %d: all at home or greedy %d, at first %d, at last %d", n, stay, first.value(), last)
		}
	}
}

// TestCommonPrice: where there are more tasks than GPUs, about as many sets as there are
// GPUs pay the price that the search for several begins with.
func TestCommonPrice(t *testing.T) {
	off, gpus := 0, 0
	for n := range 20 {
		rng := rand.New(rand.NewPCG(147, uint64(n)))
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 60, GPUs: 20, Kinds: 3, MaxSet: 2})
		in := packtest.NewInstance(t, p)
		if len(p.Tasks) < 2*len(p.GPUs) {
			continue
		}
		tab, err := newTable(t.Context(), instance.NewEvaluator(in))
		if err != nil {
			t.Fatal(err)
		}
		m := newMatcher(t.Context(), tab)
		gpus += len(p.GPUs)
		for _, c := range m.at(t.Context(), m.commonPrice(t.Context())).counts {
			off += c
		}
	}
	if off -= gpus; off < -gpus/4 || off > gpus/4 {
		t.Errorf("%d GPUs, and %d sets more pay the price", gpus, off)
	}
}

// TestTooMany: a table has as many cells as fit a GiB, and sets of one need none.
func TestTooMany(t *testing.T) {
	for _, test := range []struct {
		tasks, kinds int
		refused      bool
	}{{0, 1, false}, {1 << 14, 1, false}, {1<<14 + 1, 1, true}, {1 << 14, 2, true}, {1 << 13, 4, false}, {1<<13 + 1, 4, true}, {1 << 20, 0, false}} {
		if err := TooMany(test.tasks, test.kinds); (err != nil) != test.refused {
			t.Errorf("%d tasks, %d kinds: %v, want refused %v", test.tasks, test.kinds, err, test.refused)
		}
	}
	p := &packer.Problem{Model: packtest.Even{1}, GPUs: []packer.GPU{{ID: "g", Memory: 1}}, Limits: packer.Limits{MaxSet: 1}}
	for i := range 1<<14 + 1 {
		p.Tasks = append(p.Tasks, packer.Task{ID: strconv.Itoa(i)})
	}
	if _, err := newTable(t.Context(), instance.NewEvaluator(packtest.NewInstance(t, p))); err != nil {
		t.Error(err)
	}
}

// TestFewMatchings: the search for prices ends after few matchings, which is how often it
// looks at the context: some ten on one kind of GPU, some more on several, with a small gap.
func TestFewMatchings(t *testing.T) {
	for _, test := range []struct {
		kinds, most int
		gap         float64 // on the mean
	}{{1, 850, 0}, {3, 7000, 0.001}} {
		gap := 0.0
		ctx := &packtest.PollContext{Context: t.Context(), At: math.MaxInt, Questions: new(int)}
		for n := range 10 {
			rng := rand.New(rand.NewPCG(145, uint64(n)))
			p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 60, GPUs: 30, Kinds: test.kinds, MaxSet: 2})
			d, err := packer.Compile(p)
			if err != nil {
				t.Fatal(err)
			}
			pl, pr, text, err := Pack(ctx, d.Instance, 0)
			if err != nil {
				t.Fatal(err)
			}
			s, err := d.Answer(t.Context(), pl, pr, text)
			if err != nil {
				t.Fatal(err)
			}
			gap += s.Gap() / 10
		}
		if ctx.Polls > test.most || gap > test.gap {
			t.Errorf("%d kinds: the context was asked %d times, the mean gap is %v; want %d at most and %v", test.kinds, ctx.Polls, gap, test.most, test.gap)
		}
	}
}
