package lsq

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"example.com/colloc/predict/internal/num"
)

// NNLS solves the weighted non-negative least-squares problem
//
//	min over b ≥ 0 of  Σ_i w_i (y_i − x_i·b)²
//
// by the active-set method of Lawson and Hanson (Solving Least Squares
// Problems, 1974, chapter 23) on the normal equations, with columns scaled to
// unit length first. A column that is zero in all rows, or so small that its
// square has lost its digits, gets coefficient 0.
// Equal gains go to the column with the lower index. O(n p²) plus, per active
// set, O(p³).
func NNLS(x [][]float64, y, w []float64) ([]float64, error) {
	p, err := checkRows(x, y, w)
	if err != nil {
		return nil, err
	}
	h := mat.NewSymDense(p, nil)
	g := mat.NewVecDense(p, nil)
	for i, row := range x {
		addNormal(h, g, row, y[i], num.Weight(w, i))
	}
	scale := make([]float64, p)
	for j := range scale {
		if d := h.At(j, j); d > leastSquare {
			scale[j] = 1 / math.Sqrt(d)
		}
	}
	for j := range p {
		g.SetVec(j, g.AtVec(j)*scale[j])
		for k := j; k < p; k++ {
			h.SetSym(j, k, h.At(j, k)*scale[j]*scale[k])
		}
	}
	a := activeSet{h: h, g: g, b: make([]float64, p), in: make([]bool, p)}
	if err := a.solve(); err != nil {
		return nil, err
	}
	for j := range a.b {
		a.b[j] *= scale[j]
	}
	return a.b, nil
}

// leastSquare is well above the numbers that float64 holds with fewer digits.
const leastSquare = 1e-290

// activeSet is the state of Lawson and Hanson's method.
type activeSet struct {
	h  *mat.SymDense
	g  *mat.VecDense
	b  []float64
	in []bool // the passive set P: columns free to be positive
}

var errNNLS = errors.New("predict: non-negative least squares did not settle: columns are nearly collinear")

func (a *activeSet) solve() error {
	p := len(a.b)
	const tolerance = 1e-10 // against gradients of unit columns
	floor := tolerance * mat.Norm(a.g, math.Inf(1))
	rejected := make([]bool, p) // collinear with P: never let in again
	for range 30 * p {
		j := a.steepest(floor, rejected)
		if j < 0 {
			return nil
		}
		a.in[j] = true
		if !a.descend() {
			a.in[j], a.b[j] = false, 0
			rejected[j] = true
		}
	}
	return errNNLS
}

// steepest returns the column outside P with the largest descent, or −1.
func (a *activeSet) steepest(floor float64, rejected []bool) int {
	best, at := floor, -1
	for j := range a.b {
		if a.in[j] || rejected[j] || a.h.At(j, j) == 0 {
			continue
		}
		slope := a.g.AtVec(j)
		for k, b := range a.b {
			slope -= float64(a.h.At(j, k) * b)
		}
		if slope > best {
			best, at = slope, j
		}
	}
	return at
}

// descend moves to the least-squares solution on P, dropping columns that
// would turn negative on the way. It reports whether the system was regular.
func (a *activeSet) descend() bool {
	for {
		set := make([]int, 0, len(a.b))
		for j, in := range a.in {
			if in {
				set = append(set, j)
			}
		}
		s, ok := a.leastSquares(set)
		if !ok {
			return false
		}
		step := 1.0
		for i, j := range set {
			if s[i] <= 0 {
				step = min(step, a.b[j]/(a.b[j]-s[i]))
			}
		}
		for i, j := range set {
			a.b[j] += step * (s[i] - a.b[j])
			if s[i] <= 0 && a.b[j] <= 1e-15 || math.IsNaN(a.b[j]) {
				a.b[j], a.in[j] = 0, false
			}
		}
		if step == 1 {
			return true
		}
	}
}

func (a *activeSet) leastSquares(set []int) ([]float64, bool) {
	if len(set) == 0 {
		return nil, true
	}
	h := mat.NewSymDense(len(set), nil)
	g := mat.NewVecDense(len(set), nil)
	for r, j := range set {
		g.SetVec(r, a.g.AtVec(j))
		for c := r; c < len(set); c++ {
			h.SetSym(r, c, a.h.At(j, set[c]))
		}
	}
	r, err := solveNormal(h, g)
	if err != nil {
		return nil, false
	}
	return r.coef, true
}
