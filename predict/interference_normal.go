package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// packed is a symmetric matrix: the columns of its upper triangle one after
// another, so that a matrix grows by appending.
type packed []float64

func packedLen(p int) int { return p * (p + 1) / 2 }

func (m packed) at(i, j int) float64 {
	if i > j {
		i, j = j, i
	}
	return m[packedLen(j)+i]
}

// column returns the entries of column j down to the diagonal.
func (m packed) column(j int) []float64 { return m[packedLen(j):packedLen(j+1)] }

func (m packed) add(i, j int, v float64) {
	if i > j {
		i, j = j, i
	}
	m[packedLen(j)+i] += v
}

// normal is a sum of weighted rows: H = Σ w x xᵀ and g = Σ w y x, so that the
// sum of two is what both saw. It holds sums, never rows.
type normal struct {
	h packed
	g []float64
	n float64 // weight of all rows
}

// clone returns sums that may change.
func (a *normal) clone() *normal { return &normal{slices.Clone(a.h), slices.Clone(a.g), a.n} }

// grow appends zero columns up to p.
func (a *normal) grow(p int) {
	if len(a.g) < p {
		a.h = append(a.h, make(packed, packedLen(p)-len(a.h))...)
		a.g = append(a.g, make([]float64, p-len(a.g))...)
	}
}

// addRow adds one row with target y and weight w.
func (a *normal) addRow(x *sparse, y, w float64) {
	for i, ci := range x.at {
		wx := w * x.value[i]
		a.g[ci] += float64(wx * y)
		for j, cj := range x.at[:i+1] {
			a.h.add(int(ci), int(cj), float64(wx*x.value[j]))
		}
	}
	a.n += w
}

// posterior is the solution of H b = g with the covariance of b in units of the
// noise variance.
type posterior struct {
	cov    packed
	mean   []float64 // H⁻¹ g
	coef   []float64 // the same with no held column below 0
	atZero span
}

// span is a run of columns whose coefficients must not fall below 0: count of
// them, at most mostHeld, from first on.
type span struct{ first, count int }

// mostHeld bounds a span, so that solving needs no memory of its own.
const mostHeld = 12

// held marks the columns of a span that are held at 0; multipliers are what
// holds them there.
type (
	held        [mostHeld]bool
	multipliers [mostHeld]float64
)

// solve factorises H = Λ + Σ over parts by Cholesky. lambda and mu are the
// precision and the mean of the prior, one per column; coefficients in atZero
// are not negative. O(p³).
func solve(lambda, mu []float64, atZero span, parts ...*normal) (*posterior, error) {
	p := len(lambda)
	h, g := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
	for j := range p {
		h.SetSym(j, j, lambda[j])
		g.SetVec(j, float64(lambda[j]*mu[j]))
	}
	for _, a := range parts {
		for j := range min(p, len(a.g)) {
			g.SetVec(j, g.AtVec(j)+a.g[j])
			for i := range j + 1 {
				h.SetSym(i, j, h.At(i, j)+a.h.at(i, j))
			}
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(h) || chol.Cond() > 1/epsilon {
		return nil, errSingular
	}
	var b mat.VecDense
	var inverse mat.SymDense
	if err := errors.Join(chol.SolveVecTo(&b, g), chol.InverseTo(&inverse)); err != nil {
		return nil, fmt.Errorf("%w (%w)", errSingular, err)
	}
	post := &posterior{cov: make(packed, packedLen(p)), mean: make([]float64, p), coef: make([]float64, p), atZero: atZero}
	copy(post.mean, b.RawVector().Data)
	for j := range p {
		for i := range j + 1 {
			post.cov[packedLen(j)+i] = inverse.At(i, j)
		}
	}
	post.project()
	return post, nil
}

// priorOnly is the solution before any row: the prior itself.
func priorOnly(lambda, mu []float64, atZero span) *posterior {
	q := (&posterior{atZero: atZero}).clone(lambda, mu)
	q.project()
	return q
}

// clone returns a posterior that may change, with room for p columns; new
// columns have the prior lambda, mu.
func (q *posterior) clone(lambda, mu []float64) *posterior {
	old, p := len(q.mean), len(lambda)
	c := &posterior{cov: slices.Clone(q.cov), mean: slices.Clone(q.mean), coef: slices.Clone(q.coef), atZero: q.atZero}
	if p == old {
		return c
	}
	c.cov = append(c.cov, make(packed, packedLen(p)-packedLen(old))...)
	c.mean, c.coef = append(c.mean, make([]float64, p-old)...), append(c.coef, make([]float64, p-old)...)
	for j := old; j < p; j++ {
		c.cov[packedLen(j)+j] = 1 / lambda[j]
		c.mean[j], c.coef[j] = mu[j], mu[j]
	}
	return c
}

// update adds one row to the solution by the Sherman-Morrison formula, O(p²):
//
//	v = P x,  d = 1/w + xᵀ v,  P ← P − v vᵀ / d,  b ← b + v (y − xᵀ b) / d
//
// v is scratch of length p.
func (q *posterior) update(x *sparse, y, w float64, v []float64) {
	clear(v)
	for i, c := range x.at {
		value, c := x.value[i], int(c)
		for r, p := range q.cov.column(c) {
			v[r] += float64(p * value)
		}
		for r := c + 1; r < len(v); r++ {
			v[r] += float64(q.cov[packedLen(r)+c] * value)
		}
	}
	d := 1/w + x.dot(v)
	gain := (y - x.dot(q.mean)) / d
	for j, vj := range v {
		q.mean[j] += float64(vj * gain)
		column, f := q.cov.column(j), vj/d
		for i, vi := range v[:len(column)] {
			column[i] -= float64(vi * f)
		}
	}
	q.project()
}

// variance returns xᵀ P x, the variance of the row's prediction in units of
// the noise variance.
func (q *posterior) variance(x *sparse) float64 {
	var sum float64
	for i, ci := range x.at {
		row := float64(0.5*x.value[i]) * q.cov[packedLen(int(ci))+int(ci)]
		for j, cj := range x.at[:i] {
			row += float64(x.value[j] * q.cov.at(int(ci), int(cj)))
		}
		sum += float64(2 * x.value[i] * row)
	}
	return max(0, sum)
}

// project sets coef to the minimum of the same quadratic form over solutions
// that are not negative in the span. With Z its columns held at 0,
//
//	b = b̂ − P[:,Z] (P[Z,Z])⁻¹ b̂[Z]
//
// and Z is right when b ≥ 0 outside and the multipliers −(P[Z,Z])⁻¹ b̂[Z] are
// not negative inside: block principal pivoting (Portugal, Júdice and Vicente
// 1994, DOI 10.1090/S0025-5718-1994-1250776-4) with single pivots when it stalls.
func (q *posterior) project() {
	var fixed held
	var mult multipliers
	for round := range 64 {
		mult = q.multipliers(&fixed)
		changed := false
		for k := range q.atZero.count {
			value := q.shifted(q.atZero.first+k, &fixed, &mult)
			if wrong := (fixed[k] && mult[k] < 0) || (!fixed[k] && value < -1e-12); wrong {
				fixed[k] = !fixed[k]
				changed = true
				if round > 16 {
					break
				}
			}
		}
		if !changed {
			break
		}
	}
	copy(q.coef, q.mean)
	for z, h := range fixed {
		if !h {
			continue
		}
		for j := range q.coef {
			q.coef[j] += float64(q.cov.at(j, q.atZero.first+z) * mult[z])
		}
	}
	for k := range q.atZero.count {
		c := q.atZero.first + k
		if fixed[k] || q.coef[c] < 0 {
			q.coef[c] = 0
		}
	}
}

// shifted returns one entry of b̂ + P[:,Z] μ.
func (q *posterior) shifted(column int, fixed *held, mult *multipliers) float64 {
	value := q.mean[column]
	for z, h := range fixed {
		if h {
			value += float64(q.cov.at(column, q.atZero.first+z) * mult[z])
		}
	}
	return value
}

// multipliers solves P[Z,Z] μ = −b̂[Z] by Gaussian elimination without
// pivoting, which is stable for a positive definite matrix.
func (q *posterior) multipliers(fixed *held) multipliers {
	var a [mostHeld][mostHeld + 1]float64
	var z [mostHeld]int
	n := 0
	for k, h := range fixed {
		if h {
			z[n] = k
			n++
		}
	}
	for i := range n {
		for j := range n {
			a[i][j] = q.cov.at(q.atZero.first+z[i], q.atZero.first+z[j])
		}
		a[i][mostHeld] = -q.mean[q.atZero.first+z[i]]
	}
	for i := range n {
		for r := i + 1; r < n; r++ {
			f := a[r][i] / a[i][i]
			for c := i; c < n; c++ {
				a[r][c] -= float64(f * a[i][c])
			}
			a[r][mostHeld] -= float64(f * a[i][mostHeld])
		}
	}
	var mult multipliers
	for i := n - 1; i >= 0; i-- {
		v := a[i][mostHeld]
		for c := i + 1; c < n; c++ {
			v -= float64(a[i][c] * mult[z[c]])
		}
		mult[z[i]] = v / a[i][i]
	}
	for _, m := range mult {
		if math.IsNaN(m) {
			return multipliers{}
		}
	}
	return mult
}
