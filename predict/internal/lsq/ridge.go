package lsq

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"example.com/colloc/predict/internal/num"
)

// Packed is a symmetric matrix: the columns of its upper triangle one after
// another, so that a matrix grows by appending.
type Packed []float64

// PackedLen is how many entries a matrix of p columns has.
func PackedLen(p int) int { return p * (p + 1) / 2 }

func (m Packed) at(i, j int) float64 {
	if i > j {
		i, j = j, i
	}
	return m[PackedLen(j)+i]
}

// column returns the entries of column j down to the diagonal.
func (m Packed) column(j int) []float64 { return m[PackedLen(j):PackedLen(j+1)] }

func (m Packed) add(i, j int, v float64) {
	if i > j {
		i, j = j, i
	}
	m[PackedLen(j)+i] += v
}

// Sums is a sum of weighted rows: H = Σ w x xᵀ and g = Σ w y x, so that the
// sum of two is what both saw. It holds sums, never rows.
type Sums struct {
	H Packed
	G []float64
	N float64 // weight of all rows
}

// Clone returns sums that may change.
func (a *Sums) Clone() *Sums { return &Sums{slices.Clone(a.H), slices.Clone(a.G), a.N} }

// Grow appends zero columns up to p.
func (a *Sums) Grow(p int) {
	if len(a.G) < p {
		a.H = append(a.H, make(Packed, PackedLen(p)-len(a.H))...)
		a.G = append(a.G, make([]float64, p-len(a.G))...)
	}
}

// AddRow adds one row with target y and weight w.
func (a *Sums) AddRow(x *Row, y, w float64) {
	for i, ci := range x.At {
		wx := w * x.value[i]
		a.G[ci] += float64(wx * y)
		for j, cj := range x.At[:i+1] {
			a.H.add(int(ci), int(cj), float64(wx*x.value[j]))
		}
	}
	a.N += w
}

// AddTarget adds to g alone what [Sums.AddRow] would.
func (a *Sums) AddTarget(x *Row, y, w float64) {
	for i, c := range x.At {
		a.G[c] += float64(w * x.value[i] * y)
	}
}

// Posterior is the solution of H b = g with the covariance of b in units of the
// noise variance.
type Posterior struct {
	cov    Packed
	mean   []float64 // H⁻¹ g
	Coef   []float64 // the same with no held column below 0
	atZero Span
}

// Span is a run of columns whose coefficients must not fall below 0: Count of
// them, at most MostHeld, from First on.
type Span struct{ First, Count int }

// MostHeld bounds a span, so that solving needs no memory of its own.
const MostHeld = 9

// held marks the columns of a span that are held at 0; multipliers are what
// holds them there.
type (
	held        [MostHeld]bool
	multipliers [MostHeld]float64
)

// Solve factorises H = Λ + Σ over parts by Cholesky. lambda and mu are the
// precision and the mean of the prior, one per column; coefficients in atZero
// are not negative. O(p³).
func Solve(lambda, mu []float64, atZero Span, parts ...*Sums) (*Posterior, error) {
	post, chol, err := factorise(lambda, mu, atZero, parts)
	if err != nil {
		return nil, err
	}
	var inverse mat.SymDense
	if err := chol.InverseTo(&inverse); err != nil {
		return nil, fmt.Errorf("%w (%w)", errSingular, err)
	}
	raw := inverse.RawSymmetric()
	for j := range lambda {
		column := post.cov.column(j)
		for i := range column {
			column[i] = raw.Data[i*raw.Stride+j]
		}
	}
	post.project()
	return post, nil
}

// Coef is [Solve] for the coefficients alone, a third of its cost: of the covariance
// it computes what holding columns at 0 asks for.
func Coef(lambda, mu []float64, atZero Span, parts ...*Sums) ([]float64, error) {
	post, chol, err := factorise(lambda, mu, atZero, parts)
	if err != nil {
		return nil, err
	}
	p := len(lambda)
	unit, column := mat.NewVecDense(p, nil), mat.NewVecDense(p, nil)
	for c := atZero.First; c < atZero.First+atZero.Count; c++ {
		unit.Zero()
		unit.SetVec(c, 1)
		if err := chol.SolveVecTo(column, unit); err != nil {
			return nil, fmt.Errorf("%w (%w)", errSingular, err)
		}
		for j := range p {
			post.cov[PackedLen(max(j, c))+min(j, c)] = column.AtVec(j)
		}
	}
	post.project()
	return post.Coef, nil
}

// factorise solves for the mean and leaves the covariance to its callers.
func factorise(lambda, mu []float64, atZero Span, parts []*Sums) (*Posterior, *mat.Cholesky, error) {
	p := len(lambda)
	h, g := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
	raw, right := h.RawSymmetric(), g.RawVector().Data
	for j := range p {
		raw.Data[j*raw.Stride+j], right[j] = lambda[j], float64(lambda[j]*mu[j])
	}
	for _, a := range parts {
		for j := range min(p, len(a.G)) {
			right[j] += a.G[j]
			for i, v := range a.H.column(j) {
				raw.Data[i*raw.Stride+j] += v
			}
		}
	}
	chol := &mat.Cholesky{}
	if !chol.Factorize(h) || chol.Cond() > 1/epsilon {
		return nil, nil, errSingular
	}
	var b mat.VecDense
	if err := chol.SolveVecTo(&b, g); err != nil {
		return nil, nil, fmt.Errorf("%w (%w)", errSingular, err)
	}
	post := &Posterior{cov: make(Packed, PackedLen(p)), mean: make([]float64, p), Coef: make([]float64, p), atZero: atZero}
	copy(post.mean, b.RawVector().Data)
	return post, chol, nil
}

// Solution is a [Posterior] as it is saved: the mean and the covariance, from which
// the rest follows.
type Solution struct {
	Mean Exact `json:"mean"`
	Cov  Exact `json:"covariance"`
}

// Solution returns what [Solution.Posterior] makes the same posterior of, bit by
// bit. It shares the memory of q.
func (q *Posterior) Solution() *Solution { return &Solution{q.mean, Exact(q.cov)} }

// Posterior returns the posterior of p columns that was saved. It returns an error for
// other lengths, for a number that is not finite and for a variance that is not positive.
func (s *Solution) Posterior(p int, atZero Span) (*Posterior, error) {
	if len(s.Mean) != p || len(s.Cov) != PackedLen(p) {
		return nil, fmt.Errorf("posterior: %d means and %d covariances, want %d and %d", len(s.Mean), len(s.Cov), p, PackedLen(p))
	}
	for _, numbers := range [][]float64{s.Mean, s.Cov} {
		for _, v := range numbers {
			if !num.Finite(v) {
				return nil, errors.New("posterior: a number is not finite")
			}
		}
	}
	for j := range p {
		if v := Packed(s.Cov).at(j, j); v <= 0 {
			return nil, fmt.Errorf("posterior: variance %d is %v, want more than 0", j, v)
		}
	}
	q := &Posterior{cov: Packed(s.Cov), mean: s.Mean, Coef: make([]float64, p), atZero: atZero}
	q.project()
	return q, nil
}

// Prior is the solution before any row: the prior itself.
func Prior(lambda, mu []float64, atZero Span) *Posterior {
	q := (&Posterior{atZero: atZero}).Clone(lambda, mu)
	q.project()
	return q
}

// Clone returns a posterior that may change, with room for p columns; new
// columns have the prior lambda, mu.
func (q *Posterior) Clone(lambda, mu []float64) *Posterior {
	old, p := len(q.mean), len(lambda)
	c := &Posterior{cov: slices.Clone(q.cov), mean: slices.Clone(q.mean), Coef: slices.Clone(q.Coef), atZero: q.atZero}
	if p == old {
		return c
	}
	c.cov = append(c.cov, make(Packed, PackedLen(p)-PackedLen(old))...)
	c.mean, c.Coef = append(c.mean, make([]float64, p-old)...), append(c.Coef, make([]float64, p-old)...)
	for j := old; j < p; j++ {
		c.cov[PackedLen(j)+j] = 1 / lambda[j]
		c.mean[j], c.Coef[j] = mu[j], mu[j]
	}
	return c
}

// Update adds one row to the solution by the Sherman-Morrison formula, O(p²):
//
//	v = P x,  d = 1/w + xᵀ v,  P ← P − v vᵀ / d,  b ← b + v (y − xᵀ b) / d
//
// v is scratch of length p.
func (q *Posterior) Update(x *Row, y, w float64, v []float64) {
	clear(v)
	for i, c := range x.At {
		value, c := x.value[i], int(c)
		for r, p := range q.cov.column(c) {
			v[r] += float64(p * value)
		}
		for r := c + 1; r < len(v); r++ {
			v[r] += float64(q.cov[PackedLen(r)+c] * value)
		}
	}
	d := 1/w + x.Dot(v)
	gain := (y - x.Dot(q.mean)) / d
	for j, vj := range v {
		q.mean[j] += float64(vj * gain)
		column, f := q.cov.column(j), vj/d
		for i, vi := range v[:len(column)] {
			column[i] -= float64(vi * f)
		}
	}
	q.project()
}

// Variance returns xᵀ P x, the variance of the row's prediction in units of
// the noise variance.
func (q *Posterior) Variance(x *Row) float64 {
	var sum float64
	for i, ci := range x.At {
		row := float64(0.5*x.value[i]) * q.cov[PackedLen(int(ci))+int(ci)]
		for j, cj := range x.At[:i] {
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
func (q *Posterior) project() {
	var fixed held
	var mult multipliers
	for round := range 64 {
		mult = q.multipliers(&fixed)
		changed := false
		for k := range q.atZero.Count {
			value := q.shifted(q.atZero.First+k, &fixed, &mult)
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
	copy(q.Coef, q.mean)
	for z, h := range fixed {
		if !h {
			continue
		}
		for j := range q.Coef {
			q.Coef[j] += float64(q.cov.at(j, q.atZero.First+z) * mult[z])
		}
	}
	for k := range q.atZero.Count {
		c := q.atZero.First + k
		if fixed[k] || q.Coef[c] < 0 {
			q.Coef[c] = 0
		}
	}
}

// shifted returns one entry of b̂ + P[:,Z] μ.
func (q *Posterior) shifted(column int, fixed *held, mult *multipliers) float64 {
	value := q.mean[column]
	for z, h := range fixed {
		if h {
			value += float64(q.cov.at(column, q.atZero.First+z) * mult[z])
		}
	}
	return value
}

// multipliers solves P[Z,Z] μ = −b̂[Z] by Gaussian elimination without
// pivoting, which is stable for a positive definite matrix.
func (q *Posterior) multipliers(fixed *held) multipliers {
	var a [MostHeld][MostHeld + 1]float64
	var z [MostHeld]int
	n := 0
	for k, h := range fixed {
		if h {
			z[n] = k
			n++
		}
	}
	for i := range n {
		for j := range n {
			a[i][j] = q.cov.at(q.atZero.First+z[i], q.atZero.First+z[j])
		}
		a[i][MostHeld] = -q.mean[q.atZero.First+z[i]]
	}
	for i := range n {
		for r := i + 1; r < n; r++ {
			f := a[r][i] / a[i][i]
			for c := i; c < n; c++ {
				a[r][c] -= float64(f * a[i][c])
			}
			a[r][MostHeld] -= float64(f * a[i][MostHeld])
		}
	}
	var mult multipliers
	for i := n - 1; i >= 0; i-- {
		v := a[i][MostHeld]
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
