package predict

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFolds holds both ways of dealing to what leaving out means.
func TestFolds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n, k := rapid.IntRange(0, 40).Draw(r, "rows"), rapid.IntRange(-1, 9).Draw(r, "folds")
		tested := make([]int, n)
		for _, f := range RowFolds(n, k, 1) {
			if len(f.Train)+len(f.Test) != n || !slices.IsSorted(f.Train) || !slices.IsSorted(f.Test) {
				r.Fatalf("%d rows: %v", n, f)
			}
			for _, row := range f.Test {
				tested[row]++
			}
		}
		if n > 0 && slices.Min(tested) != 1 || n > 0 && slices.Max(tested) != 1 {
			r.Fatalf("times each row is scored: %v", tested)
		}
		groups := make([][]string, n)
		for i := range groups {
			groups[i] = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 2).Draw(r, "groups")
		}
		folds := GroupFolds(groups, k)
		if k > 0 && len(folds) > k {
			r.Fatalf("%d folds, want at most %d", len(folds), k)
		}
		for _, f := range folds {
			out := make(map[string]bool)
			for _, row := range f.Train {
				for _, g := range groups[row] {
					out[g] = true
				}
			}
			for _, row := range f.Test {
				if !slices.ContainsFunc(groups[row], func(g string) bool { return !out[g] }) {
					r.Fatalf("row %d %v is scored by a fit that saw its groups", row, groups[row])
				}
			}
		}
	})
}

// TestFoldsExactly: a few cases of both ways, to the row.
func TestFoldsExactly(t *testing.T) {
	for n, k := range map[int]int{-3: 2, 0: 0, 1: 5} {
		if got := RowFolds(n, k, 1); len(got) != max(0, n) {
			t.Errorf("%d rows in %d folds: %v", n, k, got)
		}
	}
	if got := RowFolds(5, 0, 1); len(got) != 1 || len(got[0].Test) != 5 {
		t.Errorf("no folds count as one: %v", got)
	}
	sizes := func(folds []Fold) (out []int) {
		for _, f := range folds {
			out = append(out, len(f.Test))
		}
		return out
	}
	if got := sizes(RowFolds(10, 3, 7)); !slices.Equal(got, []int{4, 3, 3}) {
		t.Errorf("ten rows in three folds: %v", got)
	}
	if a, b := RowFolds(30, 3, 7)[0].Test, RowFolds(30, 3, 8)[0].Test; slices.Equal(a, b) {
		t.Errorf("seeds 7 and 8 deal the same: %v", a)
	}
	rows := func(counts ...int) (groups [][]string) {
		for g, n := range counts {
			for range n {
				groups = append(groups, []string{string(rune('a' + g))})
			}
		}
		return groups
	}
	for _, c := range []struct {
		name   string
		groups [][]string
		limit  int
		want   []int
	}{
		{"no limit", rows(1, 1, 8, 2), 0, []int{1, 1, 8, 2}},
		{"as many as groups, by name", rows(1, 1, 8, 2), 4, []int{1, 1, 8, 2}},
		{"the largest alone", rows(1, 1, 8, 2), 2, []int{8, 4}},
		{"the largest first", rows(3, 3, 3, 9), 2, []int{9, 9}},
		{"of two groups", [][]string{{"a", "b"}, {"a"}, {"b"}, {"c"}}, 0, []int{2, 2, 1}},
	} {
		folds := GroupFolds(c.groups, c.limit)
		if got := sizes(folds); !slices.Equal(got, c.want) {
			t.Errorf("%s: folds of %v, want %v", c.name, got, c.want)
		}
		for _, f := range folds { // no group on both sides, but beside another that is left out
			for _, row := range f.Train {
				for _, out := range f.Test {
					if len(c.groups[out]) == 1 && slices.Contains(c.groups[row], c.groups[out][0]) {
						t.Errorf("%s: fits on group %v and scores it", c.name, c.groups[out])
					}
				}
			}
		}
	}
}

func TestCrossValidate(t *testing.T) {
	y := []float64{1, 2, 3, 4, 5, 6}
	mean := func(train []int) (func(int, []Outcome) ([]Outcome, error), error) {
		var sum float64
		for _, i := range train {
			sum += y[i]
		}
		m := sum / float64(len(train))
		return func(row int, dst []Outcome) ([]Outcome, error) {
			return append(dst, Outcome{Seen: y[row], Predicted: m, Upper: math.NaN()}), nil
		}, nil
	}
	// Without row i the mean is (21−y)/5, off by 1.2 |y−3.5|: 1.8 on average.
	got, err := CrossValidate(RowFolds(6, 6, 0), mean)
	if err != nil || got.N != 6 || !(math.Abs(got.MAE-1.8) <= 1e-12) || got.Coverage != 0 {
		t.Errorf("%+v, %v: want 6 rows, mean error 1.8", got, err)
	}
	got, err = CrossValidate(RowFolds(6, 1, 0), mean)
	if err != nil || got.N != 0 || len(got.Warnings) != 1 {
		t.Errorf("nothing to fit on: %+v, %v", got, err)
	}
	broken := errors.New("broken")
	if _, err := CrossValidate(RowFolds(6, 2, 0), func([]int) (func(int, []Outcome) ([]Outcome, error), error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
