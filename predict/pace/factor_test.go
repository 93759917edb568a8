package pace

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"example.com/colloc/profile"
)

// TestGroupsWeigh: a task counts as its cards to the power 3/4, tasks of one group
// together as the root of their number.
func TestGroupsWeigh(t *testing.T) {
	var tasks []comparison
	for _, c := range []struct {
		group        string
		tasks, cards int
	}{{"one", 1, 16}, {"four", 4, 16}, {"few", 9, 2}, {"alone", 1, 1}} {
		for i := range c.tasks {
			task := comparison{task: strconv.Itoa(i), group: c.group, profile: &profile.Profile{}}
			for k := range c.cards {
				task.add(kind{name: strconv.Itoa(k), rates: rates{FP32: float64(k)}, known: true}, 0)
			}
			tasks = append(tasks, task)
		}
	}
	groups, err := groupsOf(tasks)
	if err != nil || len(groups) != 3 {
		t.Fatalf("%d groups compare cards, want 3; %v", len(groups), err)
	}
	for i, want := range []float64{8, 2 * 8, 3 * math.Pow(2, 0.75)} {
		if got := groups[i].sums.N; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("group %q weighs %v, want %v", groups[i].name, got, want)
		}
	}
}

// TestFactorIsAQuantileOfGroups: the intervals are as wide as confidence × (groups + 1)
// groups need, each counting once however many pairs of cards it has.
func TestFactorIsAQuantileOfGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var tasks []comparison
	for g := range 9 {
		c := comparison{task: strconv.Itoa(g), group: strconv.Itoa(g), profile: &profile.Profile{}}
		for k := range 2 + 2*g {
			r := rates{Narrow: 30 + rng.Float64(), Wide: 29 + rng.Float64(), Bandwidth: 27 + rng.Float64(), FP32: 29 + rng.Float64()}
			c.add(kind{name: strconv.Itoa(k), rates: r, known: true}, rng.NormFloat64())
		}
		tasks = append(tasks, c)
	}
	groups, err := groupsOf(tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, confidence := range []float64{0.1, 0.5, 0.8, 0.9} {
		s := *priorState()
		s.Confidence = confidence
		factor, err := factorOf(&s, groups)
		if err != nil {
			t.Fatal(err)
		}
		within := func(factor float64) (sum float64) {
			for i, g := range groups {
				fold := s
				if err := fold.solve(sumsOf(groups, i)); err != nil {
					t.Fatal(err)
				}
				errs := fold.errors(g)
				for _, e := range errs {
					if e <= factor {
						sum += 1 / float64(len(errs))
					}
				}
			}
			return sum
		}
		want := confidence * 10
		if enough, less := within(factor+1e-8), within(factor-1e-8); enough < want-1e-9 || less >= want-1e-9 {
			t.Errorf("confidence %v: %v of 9 groups are within %v, and %v within less; want %v", confidence, enough, factor, less, want)
		}
	}
	s := *priorState()
	s.Confidence = 0.9
	largest, err := factorOf(&s, groups)
	if err != nil {
		t.Fatal(err)
	}
	s.Confidence = 0.99 // 9.9 of 9 groups
	if factor, err := factorOf(&s, groups); err != nil || !(math.Abs(factor-1.1*largest) <= 1e-8) {
		t.Errorf("where 0.9 groups are missing: %v, %v, want a tenth more than %v", factor, err, largest)
	}
}
