package main

import (
	"slices"
	"testing"
	"time"
)

// TestFixture: of a function with one line of no use, the mutants of this line survive, and
// of the others only those that change nothing.
func TestFixture(t *testing.T) {
	r := run{n: 100, seed: 1, match: "^Test", limit: time.Minute, temp: t.TempDir()}
	p, err := load("testdata/fixture")
	if err != nil {
		t.Fatal(err)
	}
	all := p.mutants()
	for i, m := range all {
		m.id = i + 1
	}
	r.mutants = all
	overlay, err := r.write(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.compile("testdata/fixture", overlay); err != nil {
		t.Fatal(err)
	}
	if err := r.baseline(); err != nil {
		t.Fatal(err)
	}
	var noticed, survived []string
	for _, m := range all {
		by, err := r.kill(m)
		if err != nil {
			t.Fatal(err)
		}
		if by != "" {
			noticed = append(noticed, m.what+": "+m.node)
		} else {
			survived = append(survived, m.what+": "+m.node)
		}
	}
	wantNoticed := []string{"condition negated: v < 0", "left out: v = 0", "number changed: 0", "min for max: min(v, most)"}
	wantSurvived := []string{"boundary moved: v < 0", "number changed: 0", "left out: spare += 2", "number changed: 2"}
	for _, l := range [][]string{noticed, survived, wantNoticed, wantSurvived} {
		slices.Sort(l)
	}
	if !slices.Equal(noticed, wantNoticed) || !slices.Equal(survived, wantSurvived) {
		t.Errorf("noticed %q\nwant    %q\nsurvived %q\nwant     %q", noticed, wantNoticed, survived, wantSurvived)
	}
}
