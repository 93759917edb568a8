package colloc

import (
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// A set that was measured and did less than the best of its members alone is not planned
// again, whatever is predicted of it, until there is a new reason: another mechanism, a
// member of another model, data set, batch or precision, newer co-runs of it that went
// better, or that the old ones were forgotten.

// hindered lowers speeds, which are predicted for a set, to what was measured of the
// whole of it, or to 0 where only a part of it was, if what was measured is worth less
// than the best member of the part alone. worth(i) is weight times pace. It returns
// the first member of such a part, -1 where there is none.
func hindered(trials interference.Trials, set []*profile.Profile, worth func(i int) float64, speeds []float64) int {
	first := -1
	if trials.None() || len(set) < 2 {
		return first
	}
	judge := func(places []int, measured []profile.Opt[float64]) {
		var sum, best float64
		for k, i := range places {
			w := worth(i)
			sum += float64(w * measured[k].Or(speeds[i]))
			best = max(best, w)
		}
		if !(sum < best) {
			return
		}
		for k, i := range places {
			if first < 0 || i < first {
				first = i
			}
			most := 0.0 // in larger sets
			if len(places) == len(set) {
				most = max(predict.LeastSpeed, measured[k].Or(speeds[i]))
			}
			speeds[i] = min(speeds[i], most)
		}
	}
	for i := range set {
		with := trials.With(set[i])
		for j := i + 1; len(with) > 0 && j < len(set); j++ {
			if own, other := with.Beside(set[j]); !own.IsZero() || !other.IsZero() {
				judge([]int{i, j}, []profile.Opt[float64]{own, other})
			}
		}
	}
	trials.Larger(set, judge)
	return first
}
