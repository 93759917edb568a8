package interference

import (
	"fmt"
	"slices"
	"testing"

	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// madeFold is a family left out of a made world in which every task runs at 0.8 beside any
// other.
func madeFold(t *testing.T) *disturbedFold {
	t.Helper()
	var tasks []*profile.Profile
	for i := range 10 {
		model := "old"
		if i >= 6 {
			model = "new"
		}
		p, err := profile.New(profile.Spec{Model: profile.Model{Name: model}, Training: profile.Training{BatchSize: 8 + i}}, profile.Trace{}, profile.GPUModel{Name: "RTX3090"})
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, &p)
	}
	f := &disturbedFold{disturbedTable: &disturbedTable{}, drift: 6}
	var known []interference.Observation
	for i, a := range tasks {
		for _, b := range tasks[:i] {
			o := interference.Observation{
				GPU: "RTX3090", Mechanism: profile.TimeSlice, Set: []*profile.Profile{a, b}, Speeds: []profile.Opt[float64]{profile.Some(0.8), profile.Some(0.8)},
			}
			if i < 6 {
				known = append(known, o)
				continue
			}
			f.order = append(f.order, len(f.rows))
			f.test = append(f.test, len(f.rows))
			f.rows = append(f.rows, dataset.SpeedRow{Observation: o})
		}
	}
	var err error
	if f.model, err = interference.Fit(known, nil); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLies: a lie costs by how far it is from the truth, one that is true costs what an
// honest co-run does, all are scored on the same speeds, and the table stays as it was.
func TestLies(t *testing.T) {
	f := madeFold(t)
	var honest, lied [len(lieAfter)][len(lies)]errorSum
	if err := f.lies(&honest, &lied); err != nil {
		t.Fatal(err)
	}
	at, truth := slices.Index(lieAfter[:], 3), slices.Index(lies[:], 0.8)
	var want errorSum
	var runs []interference.Observation
	for k := range 4 {
		runs = append(runs, f.row(k).Observation)
	}
	if err := f.score(runs, 4, &want); err != nil {
		t.Fatal(err)
	}
	if got := lied[at][truth]; got != want || want.n != float64(2*(len(f.order)-4)) {
		t.Errorf("a true lie: %+v, an honest co-run: %+v, want the same on %d speeds", got, want, 2*(len(f.order)-4))
	}
	for k := range lieAfter {
		for l := range lies {
			if honest[k][l].n != lied[k][l].n || lied[k][l].n == 0 {
				t.Errorf("after %d: scored on %v honest and %v false speeds", lieAfter[k], honest[k][l].n, lied[k][l].n)
			}
		}
		if worst := lied[k][0]; !(worst.off > lied[k][truth].off) {
			t.Errorf("after %d: a speed of %v costs %v, the truth %v", lieAfter[k], lies[0], worst.off, lied[k][truth].off)
		}
	}
	for _, r := range f.rows {
		if s := fmt.Sprint(r.Observation.Speeds); s != fmt.Sprint([]profile.Opt[float64]{profile.Some(0.8), profile.Some(0.8)}) {
			t.Fatalf("the table says %s now", s)
		}
	}
}

// TestDrifts: a drift is mended on the speeds after both halves, of which there must be some.
func TestDrifts(t *testing.T) {
	f := madeFold(t)
	var mended [len(drifts) + 1]errorSum
	if err := f.drifts(&mended); err != nil {
		t.Fatal(err)
	}
	for d, m := range mended {
		if m.n != float64(2*(len(f.order)-2*f.drift)) {
			t.Errorf("drift %d is scored on %v speeds, want %d", d, m.n, 2*(len(f.order)-2*f.drift))
		}
		if honest := mended[len(drifts)]; d < len(drifts) && !(m.off > honest.off) {
			t.Errorf("x%v: off by %v after six honest co-runs, without by %v", drifts[d], m.off, honest.off)
		}
	}
	var none [len(drifts) + 1]errorSum
	if f.order = f.order[:2*f.drift]; f.drifts(&none) != nil || none != [len(drifts) + 1]errorSum{} {
		t.Errorf("without any left to score: %+v", none)
	}
}
