package predict

import (
	"errors"
	"fmt"
	"math"
)

// trees is an ensemble of regression trees fitted by gradient boosting
// (Friedman 2001, DOI 10.1214/aos/1013203451) with second-order leaves, binned
// features and monotone constraints as in XGBoost (Chen and Guestrin 2016, DOI
// 10.1145/2939672.2939785). It stores thresholds and leaf values only, never a
// training row. The zero value predicts 0.
type trees struct {
	// Columns is the number of features.
	Columns int `json:"columns"`
	// Base is the prediction before the first tree.
	Base float64 `json:"base"`
	// Roots are the first nodes of the trees.
	Roots []int32 `json:"roots"`
	// Nodes of all trees one after another.
	Nodes []treeNode `json:"nodes"`
}

// treeNode is one decision or, with Feature −1, a leaf. x[Feature] > Threshold
// goes to Right, anything else (a missing value, NaN, too) to the next node.
type treeNode struct {
	Feature   int32
	Right     int32
	Threshold float64 // of a decision; the value of a leaf
}

// treeOptions configure fitTrees; the zero value is the documented default.
type treeOptions struct {
	// Rounds is the number of trees; 0 means 200.
	Rounds int
	// Depth is the number of decisions from root to leaf; 0 means 4.
	Depth int
	// Rate shrinks every tree; 0 means 0.1.
	Rate float64
	// MinLeaf is the least number of rows in a leaf; 0 means 5.
	MinLeaf int
	// Penalty is the L2 penalty on leaf values, in units of row weight (whose
	// mean is scaled to 1); 0 means 1.
	Penalty float64
	// RowShare and ColumnShare are the fractions of rows and columns drawn for
	// each tree; 0 means all.
	RowShare, ColumnShare float64
	// Bins is the number of thresholds tried per feature; 0 means 64, at most 255.
	Bins int
	// Huber is the residual beyond which the loss grows linearly (pseudo-Huber);
	// 0 means squared loss everywhere. A small value approaches the median.
	Huber float64
	// Monotone holds +1, −1 or 0 per column: the sign of the slope to force.
	Monotone []int8
	// Seed chooses the rows and columns drawn.
	Seed uint64
}

func (o treeOptions) withDefaults() treeOptions {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&o.Rounds, 200)
	def(&o.Depth, 4)
	def(&o.MinLeaf, 5)
	def(&o.Bins, 64)
	o.Bins = min(o.Bins, 255)
	for _, f := range []struct {
		v *float64
		d float64
	}{{&o.Rate, 0.1}, {&o.Penalty, 1}, {&o.RowShare, 1}, {&o.ColumnShare, 1}} {
		if !(*f.v > 0) {
			*f.v = f.d
		}
	}
	return o
}

// predict returns the ensemble's value at x, which has Columns entries; a
// missing value is NaN. It allocates nothing. O(trees × depth).
func (t *trees) predict(x []float64) float64 {
	sum := t.Base
	for _, at := range t.Roots {
		n := &t.Nodes[at]
		for n.Feature >= 0 {
			if x[n.Feature] > n.Threshold {
				at = n.Right
			} else {
				at++
			}
			n = &t.Nodes[at]
		}
		sum += n.Threshold
	}
	return sum
}

// check verifies an ensemble that was read from a file: every walk ends in a
// leaf and reads only features that exist.
func (t *trees) check() error {
	if t.Columns < 0 || !finite(t.Base) {
		return errors.New("predict: trees: columns or base out of range")
	}
	last := int32(-1)
	for i, root := range t.Roots {
		if root <= last || int(root) >= len(t.Nodes) {
			return fmt.Errorf("predict: trees: root %d is %d, want rising and below %d", i, root, len(t.Nodes))
		}
		last = root
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if !finite(n.Threshold) || int(n.Feature) >= t.Columns {
			return fmt.Errorf("predict: trees: node %d has feature %d of %d, threshold %v", i, n.Feature, t.Columns, n.Threshold)
		}
		if n.Feature >= 0 && (int(n.Right) <= i+1 || int(n.Right) >= len(t.Nodes)) {
			return fmt.Errorf("predict: trees: node %d jumps to %d, want %d to %d", i, n.Right, i+2, len(t.Nodes)-1)
		}
	}
	if n := len(t.Nodes); n > 0 && t.Nodes[n-1].Feature >= 0 {
		return errors.New("predict: trees: the last node is not a leaf")
	}
	return nil
}

// MarshalJSON writes a node as [feature, right, threshold], a leaf as [value].
func (n treeNode) MarshalJSON() ([]byte, error) {
	if n.Feature < 0 {
		return fmt.Appendf(nil, "[%s]", shortFloat(n.Threshold)), nil
	}
	return fmt.Appendf(nil, "[%d,%d,%s]", n.Feature, n.Right, shortFloat(n.Threshold)), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *treeNode) UnmarshalJSON(data []byte) error {
	var v [3]float64
	k, err := parseFloats(data, v[:])
	switch {
	case err != nil:
		return fmt.Errorf("predict: trees: node %s: %w", data, err)
	case k == 1:
		*n = treeNode{Feature: -1, Threshold: v[0]}
		return nil
	case k == 3 && v[0] >= 0 && v[0] < math.MaxInt32 && v[1] >= 0 && v[1] < math.MaxInt32:
		*n = treeNode{Feature: int32(v[0]), Right: int32(v[1]), Threshold: v[2]}
		return nil
	}
	return fmt.Errorf("predict: trees: node %s: want [value] or [feature,right,threshold]", data)
}
