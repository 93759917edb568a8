package rollout_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/packer/internal/rollout"
)

// couples is a model in which the kinds 0 and 1 hardly slow each other down, nor do 2 and 3;
// all others do.
func couples(_ int32, _ int, kinds []int32, rates []int64) (int, bool) {
	for i, k := range kinds {
		slow := int64(10)
		for j, o := range kinds {
			if j != i && k/2 == o/2 && k != o {
				slow++
			} else if j != i {
				slow += 7
			}
		}
		rates[i] = rollout.One * 10 / slow
	}
	return 1, true
}

// TestAnewMatches: four gangs have room for two. One after the other the first two take empty
// cards, and the others join strangers; matched, each has its own company, at once.
func TestAnewMatches(t *testing.T) {
	e := rollout.Engine{Sets: rollout.NewSets(1, couples), Cards: make([]rollout.Card, 4)}
	for k := range int32(4) {
		e.Jobs = append(e.Jobs, rollout.Job{Kind: k, Width: 2, Left: 1e6 * rollout.One, Turn: int64(k)})
	}
	e.Begin()
	greedy := e.Play(&rollout.Rule{Most: 2, Order: rollout.Shortest}).Sum
	o := e.Play(&rollout.Rule{Most: 2, Order: rollout.Shortest, Anew: true})
	on := map[int32][]int32{}
	for _, s := range o.Starts {
		on[s.Job] = s.On
	}
	if len(on) != 4 || !slices.Equal(on[0], on[1]) || !slices.Equal(on[2], on[3]) {
		t.Errorf("starts %v", o.Starts)
	}
	if float64(o.Sum) > 0.9*float64(greedy) {
		t.Errorf("the times add up to %d ms, and to %d one after the other", o.Sum, greedy)
	}
}

// TestAnewKeeps: who may not stop goes on, who is better off where it is does, too, and who
// comes takes the place of the longest.
func TestAnewKeeps(t *testing.T) {
	alone := func(_ int32, _ int, kinds []int32, rates []int64) (int, bool) {
		rates[0] = rollout.One
		return 1, len(kinds) == 1
	}
	e := rollout.Engine{Sets: rollout.NewSets(1, alone), Cards: make([]rollout.Card, 4), Jobs: []rollout.Job{
		{Width: 1, Left: 9e6 * rollout.One, On: []int32{0}},
		{Width: 1, Left: 9e6 * rollout.One, On: []int32{3}, Stoppable: true, Turn: 1},
		{Width: 1, Left: 1e5 * rollout.One, On: []int32{2}, Stoppable: true, Turn: 2},
		{Width: 2, Left: 1e5 * rollout.One, Turn: 3},
	}}
	e.Begin()
	o := e.Open(&rollout.Rule{Most: 4, Order: rollout.Shortest, Anew: true})
	if !slices.Equal(o.Stops, []int32{1}) || len(o.Starts) != 1 || o.Starts[0].Job != 3 || !slices.Equal(o.Starts[0].On, []int32{1, 3}) {
		t.Errorf("stops %v, starts %v; want 1 to stop for 3 on 1 and 3", o.Stops, o.Starts)
	}
}

// TestAnewEnds: with weights, a gain that sets must have, and little memory, all that can run
// ends, and the same days have the same ends.
func TestAnewEnds(t *testing.T) {
	for seed := range uint64(race.Fewer(500)) {
		r := rand.New(rand.NewPCG(seed, 13))
		w := draw(r)
		sets := rollout.NewSets(w.classes, w.rates)
		begin(r, w, sets)
		for i := range w.jobs {
			w.jobs[i].Weight = []float64{0, 0.5, 4}[r.IntN(3)]
		}
		rule := rollout.Rule{Most: int32(1 + r.IntN(4)), Order: rollout.Shortest, Anew: true}
		var sum [2]int64
		for k := range sum {
			e := rollout.Engine{Sets: sets, Jobs: w.jobs, Cards: w.cards, MinGain: []float64{0, 0.3}[seed%2]}
			e.Begin()
			o := e.Play(&rule)
			if sum[k] = o.Sum; o.Lost > 0 {
				t.Fatalf("seed %d: %d never run", seed, o.Lost)
			}
		}
		if sum[0] != sum[1] {
			t.Fatalf("seed %d: %d ms and %d ms", seed, sum[0], sum[1])
		}
	}
}

// TestAnewHeedsMinGain: two that do 1.8 times what one does share where a set must do 1.7
// times as much, and not where it must do 1.9 times.
func TestAnewHeedsMinGain(t *testing.T) {
	for gain, want := range map[float64]int{0.7: 4, 0.9: 2} {
		e := rollout.Engine{Sets: rollout.NewSets(1, couples), Cards: make([]rollout.Card, 4), MinGain: gain}
		for k := range int32(4) {
			e.Jobs = append(e.Jobs, rollout.Job{Kind: k, Width: 2, Left: 1e6 * rollout.One, Turn: int64(k)})
		}
		e.Begin()
		if o := e.Open(&rollout.Rule{Most: 2, Order: rollout.Shortest, Anew: true}); len(o.Starts) != want {
			t.Errorf("a gain of %v is asked for: %v start, want %d gangs", gain, o.Starts, want)
		}
	}
}

// TestAnewHeedsLeast: two that do 1.4 times what they would by turns share where that must be
// 1.35 times as much, and not where it must be 1.45 times.
func TestAnewHeedsLeast(t *testing.T) {
	model := func(_ int32, _ int, kinds []int32, rates []int64) (int, bool) {
		for i := range kinds {
			rates[i] = rollout.One
			if len(kinds) > 1 {
				rates[i] = rollout.One * 7 / 10
			}
		}
		return 1, true
	}
	for least, want := range map[float64]int{0.35: 2, 0.45: 1} {
		e := rollout.Engine{Sets: rollout.NewSets(1, model), Cards: make([]rollout.Card, 1)}
		for k := range int64(2) {
			e.Jobs = append(e.Jobs, rollout.Job{Width: 1, Left: 1e6 * rollout.One, Turn: k})
		}
		e.Begin()
		if o := e.Open(&rollout.Rule{Most: 2, Least: least, Anew: true}); len(o.Starts) != want {
			t.Errorf("where they must add %v: %v start, want %d", least, o.Starts, want)
		}
	}
}

// TestAnewStaysAtHome: who finds no empty card, and is as well off where it ran, goes on there.
func TestAnewStaysAtHome(t *testing.T) {
	const long = 1e6 * rollout.One
	for home := range int32(2) {
		e := rollout.Engine{Sets: rollout.NewSets(1, couples), Cards: []rollout.Card{{Mech: 1}, {Mech: 1}}, Jobs: []rollout.Job{
			{Kind: 0, Width: 1, Left: long, On: []int32{0}},
			{Kind: 0, Width: 1, Left: long, On: []int32{1}},
			{Kind: 1, Width: 1, Left: long, On: []int32{home}, Stoppable: true},
		}}
		e.Begin()
		if o := e.Open(&rollout.Rule{Most: 2, Anew: true}); len(o.Stops)+len(o.Starts) > 0 {
			t.Errorf("at home on %d: stops %v, starts %v, want none", home, o.Stops, o.Starts)
		}
	}
}

// TestAnewTakesTheFirst: one card has room for two, and those that come first in the queue
// have it, though the third would be the better company.
func TestAnewTakesTheFirst(t *testing.T) {
	e := rollout.Engine{Sets: rollout.NewSets(1, couples), Cards: make([]rollout.Card, 1)}
	for k, kind := range []int32{0, 2, 1} {
		e.Jobs = append(e.Jobs, rollout.Job{Kind: kind, Width: 1, Left: 1e6 * rollout.One, Turn: int64(k)})
	}
	e.Begin()
	o := e.Open(&rollout.Rule{Most: 2, Anew: true})
	if len(o.Starts) != 2 || o.Starts[0].Job+o.Starts[1].Job != 1 {
		t.Errorf("starts %v, want the jobs 0 and 1", o.Starts)
	}
}

// TestAnewMatchesByGain: of three jobs two share, those that gain most by it over taking
// turns, however much they do, whoever comes first and in whatever unit weights are.
func TestAnewMatchesByGain(t *testing.T) {
	gains := func(_ int32, _ int, kinds []int32, rates []int64) (int, bool) {
		for i := range kinds {
			switch {
			case len(kinds) == 1:
				rates[i] = rollout.One
			case slices.Contains(kinds, 0):
				rates[i] = rollout.One * 67 / 100 // with its weight of two 1.34 times what taking turns does
			default:
				rates[i] = rollout.One * 80 / 100 // 1.6 times
			}
		}
		return 1, true
	}
	for _, unit := range []float64{1, 1e-6, 1e6} {
		for _, kinds := range [][]int32{{0, 1, 2}, {1, 0, 2}, {1, 2, 0}} {
			e := rollout.Engine{Sets: rollout.NewSets(1, gains), Cards: make([]rollout.Card, 2)}
			for k, kind := range kinds {
				weight := unit
				if kind == 0 {
					weight *= 2
				}
				e.Jobs = append(e.Jobs, rollout.Job{Kind: kind, Width: 1, Left: 1e6 * rollout.One, Turn: int64(k), Weight: weight})
			}
			e.Begin()
			on := map[int32]int32{}
			for _, s := range e.Open(&rollout.Rule{Most: 2, Order: rollout.Longest, Anew: true}).Starts {
				on[kinds[s.Job]] = s.On[0]
			}
			if len(on) != 3 || on[1] != on[2] || on[0] == on[1] {
				t.Errorf("weights in units of %v, kinds %v: they are on %v, want 1 and 2 on one card", unit, kinds, on)
			}
		}
	}
}

// TestAnewSharesNoMore: of four jobs on three cards two share, and no others.
func TestAnewSharesNoMore(t *testing.T) {
	e := rollout.Engine{Sets: rollout.NewSets(1, couples), Cards: make([]rollout.Card, 3)}
	for k := range int32(4) {
		e.Jobs = append(e.Jobs, rollout.Job{Kind: k, Width: 1, Left: 1e6 * rollout.One, Turn: int64(k)})
	}
	e.Begin()
	on := map[int32]bool{}
	o := e.Open(&rollout.Rule{Most: 2, Anew: true})
	for _, s := range o.Starts {
		on[s.On[0]] = true
	}
	if len(o.Starts) != 4 || len(on) != 3 {
		t.Errorf("starts %v, want four on three cards", o.Starts)
	}
}

// TestAnewSeatsTheWideFirst: two that want two cards of one machine have them, though one
// that comes before them in the queue wants one.
func TestAnewSeatsTheWideFirst(t *testing.T) {
	e := rollout.Engine{Sets: rollout.NewSets(1, couples), Cards: make([]rollout.Card, 5)}
	for g := range 3 {
		e.Cards[g].Machine = 1
	}
	for k, width := range []int32{1, 2, 2} {
		e.Jobs = append(e.Jobs, rollout.Job{Width: width, Left: 1e6 * rollout.One, Turn: int64(k)})
	}
	e.Begin()
	var on []int32
	for _, s := range e.Open(&rollout.Rule{Most: 2, Anew: true}).Starts {
		on = append(on, s.On...)
	}
	if slices.Sort(on); !slices.Equal(on, []int32{0, 1, 2, 3, 4}) {
		t.Errorf("they start on %v, want each on cards of its own", on)
	}
}

// TestAnewLeavesOutTheLast: where too few can share, those wait that come last in the queue,
// and who shares comes where the first of them does.
func TestAnewLeavesOutTheLast(t *testing.T) {
	friends := func(_ int32, _ int, kinds []int32, rates []int64) (int, bool) {
		for i := range kinds {
			rates[i] = rollout.One * 9 / 10
		}
		return 1, len(kinds) == 1 || slices.Equal(kinds, []int32{0, 3})
	}
	e := rollout.Engine{Sets: rollout.NewSets(1, friends), Cards: make([]rollout.Card, 2)}
	for k := range int32(4) {
		e.Jobs = append(e.Jobs, rollout.Job{Kind: k, Width: 1, Left: 1e6 * rollout.One, Turn: int64(k)})
	}
	e.Begin()
	var who []int32
	for _, s := range e.Open(&rollout.Rule{Most: 2, Anew: true}).Starts {
		who = append(who, s.Job)
	}
	if slices.Sort(who); !slices.Equal(who, []int32{0, 1, 3}) {
		t.Errorf("%v start, want 0 with 3, and 1", who)
	}
}

// TestNobodyStandsStill: a set in which one does nothing is none, whatever the others do.
func TestNobodyStandsStill(t *testing.T) {
	starve := func(_ int32, _ int, kinds []int32, rates []int64) (int, bool) {
		rates[0] = rollout.One
		if len(kinds) > 1 {
			rates[0], rates[1] = 0, 3*rollout.One
		}
		return 1, true
	}
	e := rollout.Engine{Sets: rollout.NewSets(1, starve), Cards: make([]rollout.Card, 1)}
	for k := range int32(2) {
		e.Jobs = append(e.Jobs, rollout.Job{Kind: k, Width: 1, Left: 1e6 * rollout.One, Turn: int64(k)})
	}
	e.Begin()
	if o := e.Open(&rollout.Rule{Most: 2}); len(o.Starts) != 1 {
		t.Errorf("%v start, want one of them", o.Starts)
	}
}

// TestRuleString: people read what a rule is.
func TestRuleString(t *testing.T) {
	for want, r := range map[string]rollout.Rule{
		"in the order of arrival, at most 2 on a GPU":                                       {Most: 2},
		"short tasks first, at most 3 on a GPU, short tasks count for more":                 {Most: 3, Order: rollout.Shortest, Power: 0.5},
		"long tasks first, at most 2 on a GPU, sharing from 35 % of what a task does alone": {Most: 2, Order: rollout.Longest, Least: 0.35},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
