package trees

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"example.com/colloc/predict/internal/num"
)

// Ensemble is an ensemble of regression trees fitted by gradient boosting
// (Friedman 2001, DOI 10.1214/aos/1013203451) with second-order leaves, binned
// features and monotone constraints as in XGBoost (Chen and Guestrin 2016, DOI
// 10.1145/2939672.2939785). It stores thresholds and leaf values only, never a
// training row. The zero value predicts 0.
type Ensemble struct {
	// Columns is the number of features.
	Columns int `json:"columns"`
	// Base is the prediction before the first tree.
	Base float64 `json:"base"`
	// Roots are the first nodes of the trees.
	Roots []int32 `json:"roots"`
	// Nodes of all trees one after another.
	Nodes []Node `json:"nodes"`
}

// Node is one decision or, with Feature −1, a leaf. x[Feature] > Threshold
// goes to Right, anything else (a missing value, NaN, too) to the next node.
type Node struct {
	Feature   int32
	Right     int32
	Threshold float64 // of a decision; the value of a leaf
}

// Predict returns the ensemble's value at x, which has Columns entries; a
// missing value is NaN. It allocates nothing. O(trees × depth).
func (t *Ensemble) Predict(x []float64) float64 {
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

// Check verifies an ensemble that was read from a file: every walk ends in a
// leaf and reads only features that exist.
func (t *Ensemble) Check() error {
	if t.Columns < 0 || !num.Finite(t.Base) {
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
		if !num.Finite(n.Threshold) || int(n.Feature) >= t.Columns {
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

// CheckOver is [Ensemble.Check] of trees that must be over so many features; nil has no fault.
func (t *Ensemble) CheckOver(features int) error {
	switch {
	case t == nil:
		return nil
	case t.Columns != features:
		return fmt.Errorf("trees over %d features, want %d", t.Columns, features)
	}
	return t.Check()
}

// MarshalJSON writes a node as [feature, right, threshold], a leaf as [value].
func (n Node) MarshalJSON() ([]byte, error) {
	if n.Feature < 0 {
		return fmt.Appendf(nil, "[%s]", shortFloat(n.Threshold)), nil
	}
	return fmt.Appendf(nil, "[%d,%d,%s]", n.Feature, n.Right, shortFloat(n.Threshold)), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Node) UnmarshalJSON(data []byte) error {
	var v [3]float64
	k, err := parseFloats(data, v[:])
	switch {
	case err != nil:
		return fmt.Errorf("predict: trees: node %s: %w", data, err)
	case k == 1:
		*n = Node{Feature: -1, Threshold: v[0]}
		return nil
	case k == 3 && v[0] >= 0 && v[0] < math.MaxInt32 && v[1] >= 0 && v[1] < math.MaxInt32:
		*n = Node{Feature: int32(v[0]), Right: int32(v[1]), Threshold: v[2]}
		return nil
	}
	return fmt.Errorf("predict: trees: node %s: want [value] or [feature,right,threshold]", data)
}

func shortFloat(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }

// parseFloats reads a JSON array of at most len(dst) numbers.
func parseFloats(data []byte, dst []float64) (int, error) {
	var v []float64
	if err := json.Unmarshal(data, &v); err != nil {
		return 0, err
	}
	copy(dst, v)
	return len(v), nil
}
