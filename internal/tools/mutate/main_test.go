package main

import (
	"fmt"
	"os"
	"path/filepath"
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

// Example_stale: of the keys of a package those are stale that none of its mutants has, in
// another function or of a line that is gone; keys of other packages are nobody's business.
func Example_stale() {
	const fixture = "example.com/colloc/internal/tools/mutate/testdata/fixture"
	list := filepath.Join(os.TempDir(), fmt.Sprint("stale", os.Getpid()))
	defer func() { _ = os.Remove(list) }()
	text := "# a comment\n" +
		fixture + " fixture.go Clamp: boundary moved: v < 0 :: still there\n" +
		fixture + " fixture.go Clamp: boundary moved: v < 1 :: changed\n" +
		fixture + " fixture.go other: boundary moved: v < 0 :: elsewhere\n" +
		fixture + "s fixture.go Clamp: boundary moved: v < 1 :: of another package\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		fmt.Println(err)
	}
	fmt.Println(listStale("testdata/fixture", list))
	// Output:
	// example.com/colloc/internal/tools/mutate/testdata/fixture fixture.go Clamp: boundary moved: v < 1
	// example.com/colloc/internal/tools/mutate/testdata/fixture fixture.go other: boundary moved: v < 0
	// 2 <nil>
}
