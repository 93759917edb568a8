package memory

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/profile"
)

// TestReweightTwin: a row counts by the square of its peak, and less the further it is off
// beside the others; one that ran out of memory counts while it is predicted below that alone.
func TestReweightTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "rows")
		rows, x, y, w := make([]row, n), make([][]float64, n), make([]float64, n), make([]float64, n)
		coef := []float64{rapid.Float64Range(0, 3).Draw(t, "coefficient"), rapid.Float64Range(0, 3).Draw(t, "another")}
		var off []float64 // of rows that ended
		rel := make([]float64, n)
		for i := range rows {
			x[i] = []float64{rapid.Float64Range(0, 10).Draw(t, "x"), rapid.Float64Range(0, 10).Draw(t, "z")}
			rows[i].peak = rapid.Float64Range(1, 50).Draw(t, "peak")
			rows[i].censored = rapid.Bool().Draw(t, "died")
			y[i] = rows[i].peak - rapid.Float64Range(0, 1).Draw(t, "fixed")
			rel[i] = (y[i] - coef[0]*x[i][0] - coef[1]*x[i][1]) / rows[i].peak
			if !rows[i].censored {
				off = append(off, math.Abs(rel[i]))
			}
		}
		median := 0.0
		if slices.Sort(off); len(off) > 0 {
			median = off[len(off)/2]
		}
		if got := reweight(rows, x, y, coef, w); !(math.Abs(got-median) <= 1e-9) {
			t.Fatalf("a median error of %v, want %v", got, median)
		}
		for i := range rows {
			far := rel[i] / max(median, 0.002)
			want := 1 / (rows[i].peak * rows[i].peak * math.Sqrt(1+far*far))
			if rows[i].censored && rel[i] < 0 {
				want = 0
			}
			if !(math.Abs(w[i]-want) <= 1e-9*want) && math.Abs(rel[i]) > 1e-12 {
				t.Fatalf("row %d weighs %v, want %v", i, w[i], want)
			}
		}
	})
}

// TestExactLaw: of rows without noise, on hosts with a measured context and on others, the terms
// find the law that made them, with no coefficient where none is allowed; and the range of
// every feature is the narrowest that holds all rows.
func TestExactLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obs := madeUp(60, profile.CNN, rapid.Uint64Range(1, 50).Draw(t, "seed"))
		law := [termCount]float64{termContext: 1e9, termStep: 1, termKept: 1.5, termTransit: 1}
		allowed := allowedTerms(int(rapid.SampledFrom([]profile.Family{profile.CNN, profile.Transformer}).Draw(t, "family")))
		sorted, err := sortByPart(obs)
		if err != nil {
			t.Fatal(err)
		}
		rows := sorted.rows[profile.CNN]
		for i := range rows {
			r := &rows[i]
			context := law[termContext]
			if i%3 == 0 {
				context = float64(1+i%5) * 0.5e9
				r.context = context
			}
			r.peak = r.task.fixed + context
			for j := range law {
				if j != termContext && allowed[j] {
					r.peak += law[j] * r.task.terms[j]
				}
			}
			if i%7 == 0 { // died far below what it needs, which says nothing
				r.censored, r.peak = true, r.peak/3
			}
		}
		var p part
		off, err := p.fitTerms(rows, allowed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			r := &rows[i]
			if got := p.total(r, false); !r.censored && !(math.Abs(got/r.peak-1) <= 2e-3) || off > 1e-3 {
				t.Fatalf("row %d needs %v by its law, %v by the fit, which is off by %v", i, r.peak, got, off)
			}
		}
		for j := range p.Coef {
			if !allowed[j] && p.Coef[j] != 0 {
				t.Fatalf("term %d may not count and has %v", j, p.Coef[j])
			}
		}
		p.bounds(rows)
		for j := range rows[0].task.used {
			low, high := math.Inf(1), math.Inf(-1)
			for i := range rows {
				low, high = min(low, rows[i].task.x[j]), max(high, rows[i].task.x[j])
			}
			if !(math.Abs(p.Lo[j]-low) <= 1e-8*(1+math.Abs(low))) || !(math.Abs(p.Hi[j]-high) <= 1e-8*(1+math.Abs(high))) {
				t.Fatalf("feature %d is in %v to %v, said to be in %v to %v", j, low, high, p.Lo[j], p.Hi[j])
			}
		}
	})
}

// TestStrangersScoresTwin: at every risk of a hundredth the scores say what families promise at
// this one or a smaller one, whichever is less, and both ends are in order.
func TestStrangersScoresTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var above, below [][]float64
		for range rapid.IntRange(3, 6).Draw(t, "families") {
			rows := rapid.SliceOfN(rapid.Float64Range(-3, 3), 4, 12).Draw(t, "errors")
			above = append(above, rows)
			var turned []float64
			for _, v := range rows {
				turned = append(turned, -v)
			}
			below = append(below, turned)
		}
		rare := rapid.SampledFrom(rareStrangers[:]).Draw(t, "rare")
		got := strangersScores(above, below, rare)
		if len(got.Scores) != strangerScores || !slices.IsSorted(got.Scores) {
			t.Fatalf("%d scores, sorted: %t", len(got.Scores), slices.IsSorted(got.Scores))
		}
		for _, k := range [...]int{1, 2, 7, 20, 49} { // the 50th is the upper end
			upper, lower := math.Inf(1), math.Inf(-1)
			for j := 1; j <= k; j++ {
				upper = min(upper, conformal.UpperOfGroups(above, float64(j)/100, rare))
				lower = max(lower, -conformal.UpperOfGroups(below, float64(j)/100, rare))
			}
			if lower = min(lower, upper); !(math.Abs(got.Scores[99-k]-upper) <= 1e-3*math.Abs(upper)) || !(math.Abs(got.Scores[k-1]-lower) <= 1e-3*math.Abs(lower)) {
				t.Fatalf("at a risk of %d/100: %v to %v, want %v to %v", k, got.Scores[k-1], got.Scores[99-k], lower, upper)
			}
		}
	})
}

// TestPublishedMargins: without data a pair's margin is what Lucid's pairs exceed as seldom as is
// asked for: one in a hundred, in ten, in four. It never falls where less is risked.
func TestPublishedMargins(t *testing.T) {
	var zero *Together
	rapid.Check(t, func(t *rapid.T) {
		risk := rapid.OneOf(rapid.SampledFrom([]float64{0.01, 0.1, 0.25}), rapid.Float64Range(1e-6, 0.999)).Draw(t, "risk")
		n := rapid.IntRange(2, 9).Draw(t, "tasks")
		want := 3148.0 // twice the largest that is published
		for _, published := range []struct{ risk, over float64 }{{0.01, 1574}, {0.1, 500}, {0.25, 100}} {
			if risk >= published.risk {
				want = published.over
			}
		}
		if got, err := zero.Margin(n, risk); err != nil || got != profile.BytesOf(want*float64(n-1)*float64(profile.MiB)) {
			t.Fatalf("%d tasks at a risk of %v: %v (%v), want %v MiB for each beyond the first", n, risk, got, err, want)
		}
	})
	if zero.Provenance() != (predict.Provenance{}) {
		t.Error("no data have a provenance")
	}
}

// TestFilesKeepTheirOrder: what a model learned is written in order, and a file in which two
// of it changed places, or stand twice, is none.
func TestFilesKeepTheirOrder(t *testing.T) {
	var m Predictor
	for i, o := range madeUp(6, profile.CNN, 62) {
		o.Host.Name, o.Spec.Model.Name = string(rune('a'+i%3)), string(rune('a'+i))
		if err := m.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	var saved bytes.Buffer
	if err := m.Save(&saved); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var f map[string]json.RawMessage
		if err := json.Unmarshal(saved.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		list := rapid.SampledFrom([]string{"hosts", "learned", "floors"}).Draw(t, "list")
		var items []json.RawMessage
		if err := json.Unmarshal(f[list], &items); err != nil {
			t.Fatal(err)
		}
		i := rapid.IntRange(0, len(items)-1).Draw(t, "one")
		j := rapid.IntRange(0, len(items)-1).Draw(t, "another")
		twice := rapid.Bool().Draw(t, "twice")
		if twice {
			items = slices.Insert(items, i, items[i])
		} else {
			items[i], items[j] = items[j], items[i]
		}
		var err error
		if f[list], err = json.Marshal(items); err != nil {
			t.Fatal(err)
		}
		file, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Load(bytes.NewReader(file))
		if fine := !twice && i == j; (err == nil) != fine {
			t.Fatalf("%s with %d and %d exchanged (or the first twice: %t): %v", list, i, j, twice, err)
		}
	})
}
