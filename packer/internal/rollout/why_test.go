package rollout_test

import (
	"testing"

	"example.com/colloc/packer/internal/rollout"
)

// TestWhyCountsInTheBestPlace: a gang that lacks a card is told how many the best machine
// has for it, whichever comes first.
func TestWhyCountsInTheBestPlace(t *testing.T) {
	alone := func(_ int32, _ int, kinds []int32, rates []int64) (int, bool) {
		rates[0] = rollout.One
		return 1, len(kinds) == 1
	}
	const long = 1e6 * rollout.One
	for _, on := range [][]int32{{1, 2, 3}, {0, 1, 2}} {
		e := rollout.Engine{
			Sets:  rollout.NewSets(1, alone),
			Cards: []rollout.Card{{Machine: 0}, {Machine: 0}, {Machine: 1}, {Machine: 1}},
			Jobs:  []rollout.Job{{Width: 2, Left: long}},
		}
		for _, g := range on {
			e.Jobs = append(e.Jobs, rollout.Job{Width: 1, Left: long, On: []int32{g}})
		}
		e.Begin()
		if w := e.Why(0, &rollout.Rule{Most: 4}, 4); w.Cause != rollout.Taken || w.Cards != 1 || w.Short != 0 {
			t.Errorf("with jobs on %v: %+v, want one card of two, and no memory missing", on, w)
		}
	}
}

// TestWhyNamesTheNearest: of two cards that lack memory that which lacks less is named,
// whichever comes first.
func TestWhyNamesTheNearest(t *testing.T) {
	for near := range int32(2) {
		e := rollout.Engine{Sets: rollout.NewSets(1, couples), Cards: make([]rollout.Card, 2), Jobs: []rollout.Job{{Width: 1, Memory: 10, Left: rollout.One}}}
		for g := range int32(2) {
			e.Cards[g].Room = 3
			if g == near {
				e.Cards[g].Room = 4
			}
			e.Jobs = append(e.Jobs, rollout.Job{Width: 1, Memory: 20, Left: rollout.One, On: []int32{g}})
		}
		e.Begin()
		if w := e.Why(0, &rollout.Rule{Most: 2}, 2); w.Card != near || w.Lacks != rollout.NoRoom || w.Short != 6 {
			t.Errorf("%+v, want card %d, which lacks 6", w, near)
		}
	}
}

// TestWhyChosen: a gang that each card would take waits by the rule where it is so slow on
// one of them that it adds too little on both.
func TestWhyChosen(t *testing.T) {
	beside := map[int32][2]int64{1: {90, 50}, 2: {40, 100}} // how fast the gang, kind 0, is and the other
	model := func(_ int32, _ int, kinds []int32, rates []int64) (int, bool) {
		rates[0] = rollout.One
		if len(kinds) == 2 {
			for k, r := range beside[kinds[1]] {
				rates[k] = r * rollout.One / 100
			}
		}
		return 1, true
	}
	const long = 1e6 * rollout.One
	for least, want := range map[float64]rollout.Cause{0.1: rollout.Soon, 0.3: rollout.Chosen} {
		e := rollout.Engine{Sets: rollout.NewSets(1, model), Cards: []rollout.Card{{Mech: 1}, {Mech: 1}}, Jobs: []rollout.Job{
			{Kind: 0, Width: 2, Left: long},
			{Kind: 1, Width: 1, Left: long, On: []int32{0}},
			{Kind: 2, Width: 1, Left: long, On: []int32{1}},
		}}
		e.Begin()
		if w := e.Why(0, &rollout.Rule{Most: 2, Least: least}, 2); w.Cause != want || w.Cards != 2 {
			t.Errorf("where it must add %v: %+v, want cause %d", least, w, want)
		}
	}
}

// TestSharedMemoryIsLeft: what a job on a card must leave of its memory counts for who could
// ever run there.
func TestSharedMemoryIsLeft(t *testing.T) {
	e := rollout.Engine{
		Sets:  rollout.NewSets(1, couples),
		Cards: []rollout.Card{{Room: 10, Less: [rollout.MaxSet + 1]int64{1: 3}}},
		Jobs:  []rollout.Job{{Width: 1, Memory: 7, Left: rollout.One}, {Width: 1, Memory: 8, Left: rollout.One}},
	}
	e.Begin()
	if o := e.Play(&rollout.Rule{Most: 2}); o.Ended != 1 || o.Lost != 0 {
		t.Errorf("%d ended and %d that could run did not, want 1 and 0", o.Ended, o.Lost)
	}
}
