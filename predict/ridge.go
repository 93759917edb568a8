package predict

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// errSingular says that a linear system has no unique solution.
var errSingular = errors.New("predict: the normal equations are singular: add a penalty or drop a column")

// ridge is a penalised weighted least-squares fit
//
//	min over b of  Σ_i w_i (y_i − x_i·b)² + Σ_j λ_j b_j²
//
// solved by Cholesky factorisation of H = Xᵀ W X + Λ. A column whose penalty is
// zero is not shrunk; give the intercept a column of ones.
// Hoerl and Kennard 1970, DOI 10.1080/00401706.1970.10488634.
type ridge struct {
	// coef is the solution b.
	coef []float64
	// chol factorises H; it answers leverage questions.
	chol mat.Cholesky
}

// fitRidge fits rows x (n of equal length p) to targets y with weights w and
// penalties lambda. A nil w means 1 for all; lambda has length p or is nil for
// none. It returns an error for ragged or non-finite input, and errSingular.
// O(n p² + p³).
func fitRidge(x [][]float64, y, w, lambda []float64) (*ridge, error) {
	p, err := checkRows(x, y, w)
	if err != nil {
		return nil, err
	}
	if lambda != nil && len(lambda) != p {
		return nil, fmt.Errorf("predict: ridge: %d penalties for %d columns", len(lambda), p)
	}
	h := mat.NewSymDense(p, nil)
	g := mat.NewVecDense(p, nil)
	for i, row := range x {
		addNormal(h, g, row, y[i], weightOf(w, i))
	}
	for j := range lambda {
		if !(lambda[j] >= 0) || math.IsInf(lambda[j], 0) {
			return nil, fmt.Errorf("predict: ridge: penalty %d is %v, want 0 or more", j, lambda[j])
		}
		h.SetSym(j, j, h.At(j, j)+lambda[j])
	}
	return solveNormal(h, g)
}

// addNormal adds one weighted row to the normal equations H b = g.
func addNormal(h *mat.SymDense, g *mat.VecDense, row []float64, y, w float64) {
	for j, xj := range row {
		if xj == 0 {
			continue
		}
		g.SetVec(j, g.AtVec(j)+float64(w*xj)*y)
		for k := j; k < len(row); k++ {
			h.SetSym(j, k, h.At(j, k)+float64(w*xj)*row[k])
		}
	}
}

// solveNormal solves H b = g for a symmetric positive definite H.
func solveNormal(h *mat.SymDense, g *mat.VecDense) (*ridge, error) {
	r := &ridge{}
	if !r.chol.Factorize(h) || r.chol.Cond() > 1/epsilon {
		return nil, errSingular
	}
	var b mat.VecDense
	if err := r.chol.SolveVecTo(&b, g); err != nil {
		return nil, fmt.Errorf("%w (%w)", errSingular, err)
	}
	r.coef = append([]float64(nil), b.RawVector().Data...)
	return r, nil
}

const epsilon = 0x1p-52

// predict returns x·b. The lengths must agree.
func (r *ridge) predict(x []float64) float64 { return dot(r.coef, x) }

// leverage returns xᵀ H⁻¹ x: how far x is from the data, in units in which the
// sum over the training rows (times their weights) is at most the number of
// columns. Times the noise variance it is the variance of the prediction.
// It allocates; O(p²).
func (r *ridge) leverage(x []float64) float64 {
	v := mat.NewVecDense(len(x), append([]float64(nil), x...))
	var s mat.VecDense
	if err := r.chol.SolveVecTo(&s, v); err != nil {
		return math.Inf(1)
	}
	return mat.Dot(v, &s)
}

// dot is the inner product in index order, without fused multiply-add, so that
// every machine gives the same bits.
func dot(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// checkRows verifies that a design is rectangular, finite and weighted with
// finite non-negative numbers, and returns its number of columns.
func checkRows(x [][]float64, y, w []float64) (int, error) {
	if len(x) == 0 || len(x) != len(y) || (w != nil && len(w) != len(x)) {
		return 0, fmt.Errorf("predict: %d rows, %d targets, %d weights: want equal and more than 0", len(x), len(y), len(w))
	}
	p := len(x[0])
	for i, row := range x {
		if len(row) != p || p == 0 {
			return 0, fmt.Errorf("predict: row %d has %d columns, want %d and more than 0", i, len(row), p)
		}
		for j, v := range row {
			if !finite(v) {
				return 0, fmt.Errorf("predict: row %d, column %d is %v, want a finite number", i, j, v)
			}
		}
		if !finite(y[i]) {
			return 0, fmt.Errorf("predict: target %d is %v, want a finite number", i, y[i])
		}
		if wi := weightOf(w, i); !finite(wi) || wi < 0 {
			return 0, fmt.Errorf("predict: weight %d is %v, want 0 or more", i, wi)
		}
	}
	return p, nil
}

func weightOf(w []float64, i int) float64 {
	if w == nil {
		return 1
	}
	return w[i]
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
