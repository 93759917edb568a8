package protocol

// Coverage counts, for each fold and GPU, how many of its rows kept a promise:
// rows of one family err together, so that the worst tells what the mean hides.
type Coverage map[foldOf]*kept

type foldOf struct {
	fold int
	gpu  string
}

type kept struct{ rows, inside float64 }

// Add counts a row of a fold, on a GPU or on none (""), and whether it kept the promise.
func (c Coverage) Add(fold int, gpu string, inside bool) {
	key := foldOf{fold, gpu}
	if c[key] == nil {
		c[key] = &kept{}
	}
	c[key].rows++
	if inside {
		c[key].inside++
	}
}

// Worst is the least share of a fold on one GPU, 0 where nothing was counted.
func (c Coverage) Worst() float64 {
	if len(c) == 0 {
		return 0
	}
	least := 1.0
	for _, k := range c {
		least = min(least, k.inside/k.rows)
	}
	return least
}

// Groups is the number of folds with rows.
func (c Coverage) Groups() int {
	folds := make(map[int]bool)
	for key := range c {
		folds[key.fold] = true
	}
	return len(folds)
}
