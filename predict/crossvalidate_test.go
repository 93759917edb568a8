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
	if err != nil || got.N != 6 || math.Abs(got.MAE-1.8) > 1e-12 || got.Coverage != 0 {
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
