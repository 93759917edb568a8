package protocol

import "slices"

// ByFold counts, for each fold and GPU, how many of its rows kept a promise and how far
// predictions were off: rows of one family err together, so that the median and the worst
// tell what the mean hides.
type ByFold map[foldOf]*kept

type foldOf struct {
	fold int
	gpu  string
}

type kept struct{ rows, inside, off float64 }

// Add counts a row of a fold, on a GPU or on none (""), whether it kept the promise and
// by how much the prediction was off.
func (c ByFold) Add(fold int, gpu string, inside bool, off float64) {
	key := foldOf{fold, gpu}
	if c[key] == nil {
		c[key] = &kept{}
	}
	c[key].rows++
	c[key].off += off
	if inside {
		c[key].inside++
	}
}

// WorstCover is the least share of a fold on one GPU that kept the promise, 0 where
// nothing was counted.
func (c ByFold) WorstCover() float64 {
	if len(c) == 0 {
		return 0
	}
	least := 1.0
	for _, k := range c {
		least = min(least, k.inside/k.rows)
	}
	return least
}

// Off is the mean error of the median fold on one GPU and that of the worst, 0 where
// nothing was counted.
func (c ByFold) Off() (median, worst float64) {
	var means []float64
	for _, k := range c {
		means = append(means, k.off/k.rows)
	}
	if len(means) == 0 {
		return 0, 0
	}
	slices.Sort(means)
	n := len(means)
	return (means[(n-1)/2] + means[n/2]) / 2, means[n-1]
}

// Groups is the number of folds with rows.
func (c ByFold) Groups() int {
	folds := make(map[int]bool)
	for key := range c {
		folds[key.fold] = true
	}
	return len(folds)
}
