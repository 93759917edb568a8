package conformal

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// UpperOfGroups returns the score that 1 - risk of the rows of a new group stay
// within, in all but a share rare of new groups. Rows of one group err together, so
// that groups, not rows, are exchangeable. With q_g the ⌈(1−risk) n_g⌉-th smallest
// score of group g it is the conformal bound over the q_g, which a new group's exceeds
// with probability at most rare where there are 1/rare − 1 groups. Fewer promise
// nothing without an assumption: then it is the larger of the exponential tail of
// [Bounds.Upper] and of what Student's t says of K normal q_g,
//
//	mean(q) + t(K−1, 1−rare) sd(q) √(1 + 1/K)
//
// It is 0 without groups. O(n log n).
func UpperOfGroups(groups [][]float64, risk, rare float64) float64 {
	tops := make([]float64, 0, len(groups))
	for _, g := range groups {
		if s := New(g).Scores; len(s) > 0 {
			tops = append(tops, s[max(0, int(math.Ceil(float64((1-risk)*float64(len(s)))))-1)])
		}
	}
	slices.Sort(tops) // sums then do not depend on the order of the groups
	upper := Bounds{Scores: tops}.Upper(rare)
	if k := float64(len(tops)); k >= 2 && k < 1/rare-1-1e-9 {
		mean, sd := stat.MeanStdDev(tops, nil)
		t := distuv.StudentsT{Sigma: 1, Nu: k - 1}.Quantile(1 - rare)
		upper = max(upper, mean+float64(t*sd)*math.Sqrt(1+1/k))
	}
	return upper
}
