package memory

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/folds"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
	"example.com/colloc/profile"
)

// slowSpread is what calibrate promises, one row at a time: of the ways to model the size of
// the errors the one whose reservations at 1 % risk waste least, each row by trees that
// did not see its fold; of few rows the median error.
func slowSpread(rows []row, left []float64, fold []int, groups int, seed uint64) part {
	var seen []int
	var sizes []float64
	for i := range rows {
		if !rows[i].censored {
			seen, sizes = append(seen, i), append(sizes, math.Abs(left[i]))
		}
	}
	slices.Sort(sizes)
	flat := num.Round9(max(0.0001, sizes[len(sizes)/2]))
	shrunk, leaf := 10.0, 20
	if groups >= 12 {
		shrunk, leaf = 300, 50
	}
	grow := func(form spreadForm, without int) *trees.Ensemble {
		var x [][]float64
		var y []float64
		for _, i := range seen {
			if fold[i] == without {
				continue
			}
			x = append(x, rows[i].task.x[:])
			if form == rootSpread {
				y = append(y, math.Sqrt(math.Abs(left[i])))
			} else {
				y = append(y, math.Log(math.Abs(left[i])+0.3*flat))
			}
		}
		var two []*trees.Ensemble
		for bag := range uint64(2) {
			two = append(two, trees.Fit(x, y, nil, trees.Options{
				Rounds: 60, Depth: 3, Rate: 0.08, MinLeaf: leaf, Penalty: shrunk, RowShare: 0.7, ColumnShare: 0.5, Seed: seed + 100 + bag,
			}))
		}
		return trees.Mean(two)
	}
	size := func(form spreadForm, by *trees.Ensemble, i int) float64 {
		switch form {
		case rootSpread:
			v := by.Predict(rows[i].task.x[:])
			return max(0.3*flat, math.Copysign(v*v, v))
		case logSpread:
			return min(math.E, math.Exp(by.Predict(rows[i].task.x[:])))
		default:
			return flat
		}
	}
	best, least := part{}, math.Inf(1)
	for _, form := range []spreadForm{flatSpread, rootSpread, logSpread} {
		if form != flatSpread && len(seen) < 200 {
			break
		}
		var by [folds.Count]*trees.Ensemble
		for k := range by {
			if form != flatSpread {
				by[k] = grow(form, k)
			}
		}
		var scores []float64
		for _, i := range seen {
			scores = append(scores, num.Round9(left[i]/size(form, by[fold[i]], i)))
		}
		p := part{Flat: flat, Form: form, Scores: conformal.New(scores), Groups: groups}
		waste, upper := 0.0, p.Scores.Upper(0.01)
		for _, i := range seen {
			waste += math.Exp(min(10, upper*size(form, by[fold[i]], i)) - left[i])
		}
		if waste < least*(1-1e-9) {
			if least = waste; form != flatSpread {
				p.Spread = grow(form, -1)
			}
			best = p
		}
	}
	return best
}

// TestSpreadTwin: the spread, its form and the scores are those of the slow twin, whether the
// size of the errors follows a column or nothing, of few rows and many, few groups and many,
// with rows that ran out of memory.
func TestSpreadTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 3))
	forms := map[spreadForm]int{}
	cases := []struct {
		rows, groups int
		size, follow float64 // of the largest errors, and how much it follows a column
	}{{1, 1, 0.3, 0}, {40, 4, 8, 1}, {199, 12, 0.3, 2}, {200, 11, 8, 0}, {260, 5, 0.3, 1}, {260, 12, 0.3, 3}}
	for _, c := range cases[:max(3, race.Fewer(len(cases)))] {
		obs := madeUp(c.rows+c.rows/9, profile.CNN, rng.Uint64())
		for i := range obs {
			obs[i].Censored = i%10 == 9
		}
		sorted, err := sortByPart(obs)
		if err != nil {
			t.Fatal(err)
		}
		rows := sorted.rows[profile.CNN]
		left := make([]float64, len(rows))
		for i := range left {
			left[i] = c.size * math.Exp(c.follow*(float64(i%3)-2)) * rng.NormFloat64()
			rows[i].task.x[layeredBatch], rows[i].task.x[featureCount-1] = float64(i%3), float64(i%3)
		}
		fold := folds.Deal(len(rows), folds.Count, 5)
		got := part{Groups: c.groups}
		got.calibrate(rows, left, fold, 7)
		forms[got.Form]++
		want := slowSpread(rows, left, fold, c.groups, 7)
		a, err := json.Marshal(&got)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Fatalf("%+v:\n%.400s\nby its twin\n%.400s", c, a, b)
		}
	}
	if len(forms) < 3 && !race.Enabled {
		t.Errorf("forms %v, want one of each at least", forms)
	}
}

// TestStrangersTwin: each architecture is predicted by a fit without it, as a stranger, and
// the scores hold for the rarest architecture for which a reservation at 1 % risk wastes
// little.
func TestStrangersTwin(t *testing.T) {
	rare := map[float64]bool{}
	for _, step := range []float64{0.01, 0.3, 0.8, 4} {
		sorted, err := sortByPart(familiesApart(4, 12, step))
		if err != nil {
			t.Fatal(err)
		}
		rows := sorted.rows[profile.MLP]
		for i := range rows {
			rows[i].censored = i%12 == 5
		}
		allowed := allowedTerms(int(profile.MLP))
		p, err := fitPart(rows, allowed, 3)
		if err != nil {
			t.Fatal(err)
		}
		above, below := make([][]float64, 4), make([][]float64, 4)
		var off, size []float64
		for i := range rows {
			if rows[i].censored {
				continue
			}
			var others []row
			for j := range rows {
				if rows[j].architecture != rows[i].architecture {
					others = append(others, rows[j])
				}
			}
			without, err := fitMean(others, allowed, 3)
			if err != nil {
				t.Fatal(err)
			}
			off = append(off, math.Log(rows[i].peak/without.total(&rows[i], true)))
			size = append(size, math.Sqrt(p.spread(&rows[i].task)*p.Flat))
			g, score := rows[i].group, off[len(off)-1]/size[len(size)-1]
			above[g], below[g] = append(above[g], score), append(below[g], -score)
		}
		want := conformal.Bounds{}
		for _, share := range []float64{0.1, 0.05, 0.02, 0.01} { // the last that is cheap
			upper, wasted := conformal.UpperOfGroups(above, 0.01, share), 0.0
			for i := range off {
				wasted += math.Exp(min(10, upper*size[i])-off[i]) - 1
			}
			if share == 0.1 || wasted/float64(len(off)) <= 0.4 {
				want = strangersScores(above, below, share)
				rare[share] = true
			}
		}
		if !slices.Equal(p.Strange.Scores, want.Scores) {
			t.Errorf("architectures %v apart: scores\n%v, by the twin\n%v", step, p.Strange.Scores, want.Scores)
		}
	}
	if len(rare) < 2 {
		t.Errorf("chosen were %v alone", rare)
	}
}
