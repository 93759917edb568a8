package protocol

import (
	"math"
	"slices"

	"example.com/colloc/predict"
)

// Tally counts predictions, how far they were off and how many kept their promise, over
// all and for each fold and GPU: rows of one family err together, so that the median and
// the worst fold tell what the mean hides.
type Tally struct {
	kept
	folds map[foldOf]*kept
}

type foldOf struct {
	fold int
	gpu  string
}

// kept are sums over rows.
type kept struct{ Rows, Inside, Off, Width float64 }

// Mean is the mean error, Cover the share that kept the promise, Span the mean width of
// the interval; 0 where nothing was counted.
func (k *kept) Mean() float64  { return k.Off / max(1, k.Rows) }
func (k *kept) Cover() float64 { return k.Inside / max(1, k.Rows) }
func (k *kept) Span() float64  { return k.Width / max(1, k.Rows) }

func (k *kept) add(inside bool, off, width float64) {
	k.Rows++
	k.Off += off
	k.Width += width
	if inside {
		k.Inside++
	}
}

// Add counts a row of a fold, on a GPU or on none (""), whether it kept the promise and
// by how much the prediction was off.
func (c *Tally) Add(fold int, gpu string, inside bool, off float64) { c.add(fold, gpu, inside, off, 0) }

// Estimate counts what was said of a row and what was seen.
func (c *Tally) Estimate(fold int, gpu string, seen float64, e predict.Estimate) {
	c.add(fold, gpu, e.Lo <= seen && seen <= e.Hi, math.Abs(seen-e.Value), e.Hi-e.Lo)
}

func (c *Tally) add(fold int, gpu string, inside bool, off, width float64) {
	if c.folds == nil {
		c.folds = make(map[foldOf]*kept)
	}
	key := foldOf{fold, gpu}
	if c.folds[key] == nil {
		c.folds[key] = &kept{}
	}
	c.folds[key].add(inside, off, width)
	c.kept.add(inside, off, width)
}

// WorstCover is the least share of a fold on one GPU that kept the promise, 0 where
// nothing was counted.
func (c *Tally) WorstCover() float64 {
	if len(c.folds) == 0 {
		return 0
	}
	least := 1.0
	for _, k := range c.folds {
		least = min(least, k.Cover())
	}
	return least
}

// FoldErrors are the mean error of the median fold on one GPU and that of the worst, 0
// where nothing was counted.
func (c *Tally) FoldErrors() (median, worst float64) {
	var means []float64
	for _, k := range c.folds {
		means = append(means, k.Mean())
	}
	n := len(means)
	if n == 0 {
		return 0, 0
	}
	slices.Sort(means)
	return (means[(n-1)/2] + means[n/2]) / 2, means[n-1]
}

// Groups is the number of folds with rows.
func (c *Tally) Groups() int {
	folds := make(map[int]bool)
	for key := range c.folds {
		folds[key.fold] = true
	}
	return len(folds)
}
