package search

import (
	"context"
	rand "math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/internal/start"
	"example.com/colloc/profile"
)

// newAnnealing is an annealing of a drawn problem, or nil if there is nothing to
// anneal.
func newAnnealing(t *testing.T, rng *rand.Rand) *annealing {
	t.Helper()
	p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 12, GPUs: 6, Kinds: 2, Residents: 3, MaxSet: 1 + rng.IntN(4), Homes: rng.IntN(2) == 0})
	in := packtest.NewInstance(t, p)
	e := instance.NewEvaluator(in)
	start, err := start.Greedy(context.Background(), in, e)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(e, start, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Estimable(1000) {
		return nil
	}
	est, err := s.estimate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	a := &annealing{Search: s, estimates: est, kept: make([]int32, est.n), values: make([]int64, est.m), total: s.total()}
	a.highest, a.ahead = a.total, true
	return a
}

// TestAnnealingKeepsAccounts makes exchanges at random, good or bad, and compares
// what was kept up to date with what a fresh look at the plan gives.
func TestAnnealingKeepsAccounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	made := 0
	for range 100 {
		a := newAnnealing(t, rng)
		if a == nil {
			continue
		}
		highest := a.total
		for range 200 {
			i, to := int32(rng.IntN(a.n)), rng.IntN(a.m+1)
			if int(a.at[i]) == to {
				continue
			}
			with := int32(none)
			if to < a.m && len(a.Groups[to].Tasks) > 0 && rng.IntN(3) > 0 {
				with = a.Groups[to].Tasks[rng.IntN(len(a.Groups[to].Tasks))]
			}
			if !a.fits(to, with, i) || with != none && !a.fits(int(a.at[i]), i, with) {
				continue
			}
			ok, err := a.exchange(i, with, to, 1<<19)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				made++
			}
			highest = max(highest, a.total)
		}
		compareAccounts(t, a)
		if a.highest != highest {
			t.Fatalf("the best total is %d, want %d", a.highest, highest)
		}
		a.restore()
		if a.Search.total() != highest {
			t.Fatalf("the plan kept is worth %d, want %d", a.Search.total(), highest)
		}
	}
	if made < 1000 {
		t.Errorf("%d exchanges only", made)
	}
}

// compareAccounts compares an annealing with one that begins with its plan.
func compareAccounts(t *testing.T, a *annealing) {
	t.Helper()
	s, err := New(a.Evaluator, a.Plan(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if a.total != s.total() {
		t.Fatalf("total %d, want %d", a.total, s.total())
	}
	want, err := s.estimate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for x := range a.costs {
		a.costs[x].least = unasked
	}
	if diff := cmp.Diff(want, a.estimates, cmp.AllowUnexported(estimates{}, cost{}), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".s"
	}, cmp.Ignore())); diff != "" {
		t.Fatalf("estimates (-fresh +kept):\n%s", diff)
	}
}

// TestBestExchangeIsBest is the twin of bestExchange: it looks at every exchange.
// What is missed must be within reach of the other task.
func TestBestExchangeIsBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	found := 0
	for range 300 {
		a := newAnnealing(t, rng)
		if a == nil {
			continue
		}
		limits := slices.Repeat([]int64{int64(rng.IntN(1<<20)) * whole}, a.m+1)
		gains := make([]int64, a.n)
		for i := range gains {
			with, to, _ := a.bestExchange(int32(i), limits)
			if to >= 0 {
				gains[i] = limits[0] - a.slowEstimate(int32(i), with, to)
			}
		}
		for i := range int32(a.n) {
			for j := range i {
				if a.at[i] == int32(a.m) || a.at[j] == int32(a.m) || a.at[i] == a.at[j] || a.top[i] == 0 || a.top[j] == 0 ||
					!a.fits(int(a.at[i]), i, j) || !a.fits(int(a.at[j]), j, i) {
					continue
				}
				gain := limits[0] - a.slowEstimate(i, j, int(a.at[j]))
				if gain >= 0 {
					found++
				}
				if gain > max(gains[i], gains[j]) {
					t.Fatalf("exchanging %d and %d is %d below the threshold; the best found for them are %d and %d", i, j, gain, gains[i], gains[j])
				}
			}
		}
	}
	if found < 300 {
		t.Errorf("%d exchanges only", found)
	}
}

// slowEstimate returns what the exchange would lose, from losses alone.
func (a *annealing) slowEstimate(i, with int32, to int) int64 {
	cost := func(g int, i, out int32) int64 {
		if g == a.m {
			return whole * a.top[i]
		}
		sum := a.top[i] - min(a.gain[a.Groups[g].Class][i]+a.In.StayOn(int(a.Groups[g].Gpu), i), mostLoss)
		for _, j := range a.Groups[g].Tasks {
			if j != out {
				sum += int64(a.loss[int(i)*a.n+int(j)])
			}
		}
		return sum * a.share[g]
	}
	from := int(a.at[i])
	lost := cost(to, i, with) - cost(from, i, i)
	if with != none {
		lost += cost(from, with, i) - cost(to, with, with)
	}
	return lost
}

// TestBestExchangeLooksEverywhere is the other twin of bestExchange: of all exchanges
// with a group that is not out of the question for the task alone it finds one that
// gains most beside its threshold, in its own group or the queue none.
func TestBestExchangeLooksEverywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	found := map[bool]int{}
	for range 200 {
		a := newAnnealing(t, rng)
		if a == nil {
			continue
		}
		a.queue = rng.IntN(2) == 0
		limits := make([]int64, a.m+1)
		for g := range limits {
			limits[g] = int64(rng.IntN(1<<20)) * whole
		}
		for i := range int32(a.n) {
			with, to, work := a.bestExchange(i, limits)
			if most := a.m + tryWork + a.n; work > most {
				t.Fatalf("%d estimates, want %d at most", work, most)
			}
			got := int64(1)
			if to >= 0 {
				got = a.slowEstimate(i, with, to) - limits[to]
				found[to == a.m]++
			}
			if want := a.slowExchange(i, limits); got != want {
				t.Fatalf("task %d: with %d in group %d of %d it loses %d beside the threshold, want %d", i, with, to, a.m, got, want)
			}
		}
	}
	if found[false] < 200 || found[true] < 20 {
		t.Errorf("%d exchanges, %d times into the queue", found[false], found[true])
	}
}

// slowExchange returns the least that an exchange of task i loses beside its threshold,
// 1 if all lose more.
func (a *annealing) slowExchange(i int32, limits []int64) int64 {
	best, from := int64(1), int(a.at[i])
	if a.queue && from < a.m {
		best = min(best, a.slowEstimate(i, none, a.m)-limits[a.m])
	}
	for g := range a.Groups {
		if g == from {
			continue
		}
		without := a.slowEstimate(i, none, g)
		least := without
		for _, j := range a.Groups[g].Tasks {
			least = min(least, without-a.share[g]*int64(a.loss[int(i)*a.n+int(j)]))
		}
		if least > limits[g] {
			continue // that is for the other task to find
		}
		for _, j := range append([]int32{none}, a.Groups[g].Tasks...) {
			if a.fits(g, j, i) && (j == none || a.fits(from, i, j)) {
				best = min(best, a.slowEstimate(i, j, g)-limits[g])
			}
		}
	}
	return best
}

// TestFitsAsRoomSays: fits knows of seats and memory what the limits of the problem say.
func TestFitsAsRoomSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 38))
	said := map[bool]int{}
	for range 200 {
		a := newAnnealing(t, rng)
		if a == nil {
			continue
		}
		for i := range int32(a.n) {
			if !a.fits(a.m, none, i) {
				t.Fatal("the queue is full")
			}
			for g := range a.Groups {
				if g == int(a.at[i]) {
					continue
				}
				to := &a.Groups[g]
				for _, out := range append([]int32{none}, to.Tasks...) {
					c := &a.In.Classes[to.Class]
					set := append(slices.Clone(c.Residents), without(slices.Clone(to.Tasks), out)...)
					code := a.In.Room(c, append(set, i)).Code
					if code != 0 && code != instance.NoMemory && code != instance.SetFull {
						continue // estimates do not look at these
					}
					want := code == 0
					said[want]++
					if got := a.fits(g, out, i); got != want {
						t.Fatalf("task %d in place of %d in group %d fits %v, want %v: %v beside %v", i, out, g, got, want, to.Tasks, c.Residents)
					}
				}
			}
		}
	}
	if said[true] < 1000 || said[false] < 1000 {
		t.Errorf("%v", said)
	}
}

// TestAnnealingGivesTheGPUToTheHeaviest: with one GPU for one task there is one exchange
// that counts.
func TestAnnealingGivesTheGPUToTheHeaviest(t *testing.T) {
	p := &packer.Problem{Model: packtest.Even{1}, Limits: packer.Limits{MaxSet: 1}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}}}
	for i := range 10 {
		p.Tasks = append(p.Tasks, packer.Task{ID: strconv.Itoa(i), Weight: float64(1 + i)})
	}
	in := packtest.NewInstance(t, p)
	pl := instance.NewPlan(in)
	pl.Gpu[3] = 0
	s, err := New(instance.NewEvaluator(in), pl, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Anneal(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if got := s.Plan().Gpu; got[9] != 0 || len(s.Waiting) != 9 {
		t.Errorf("plan %v, %d wait", got, len(s.Waiting))
	}
}
