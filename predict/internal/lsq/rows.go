package lsq

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"example.com/colloc/predict/internal/num"
)

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
			if !num.Finite(v) {
				return 0, fmt.Errorf("predict: row %d, column %d is %v, want a finite number", i, j, v)
			}
		}
		if !num.Finite(y[i]) {
			return 0, fmt.Errorf("predict: target %d is %v, want a finite number", i, y[i])
		}
		if wi := num.Weight(w, i); !num.Finite(wi) || wi < 0 {
			return 0, fmt.Errorf("predict: weight %d is %v, want 0 or more", i, wi)
		}
	}
	return p, nil
}

// errSingular says that a linear system has no unique solution.
var errSingular = errors.New("predict: the normal equations are singular: add a penalty or drop a column")

const epsilon = 0x1p-52

// solution is the solution of a linear least-squares problem.
type solution struct {
	coef []float64
	// chol factorises the matrix of the normal equations.
	chol mat.Cholesky
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

// solveNormal solves H b = g for a symmetric positive definite H by Cholesky
// factorisation.
func solveNormal(h *mat.SymDense, g *mat.VecDense) (*solution, error) {
	r := &solution{}
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
