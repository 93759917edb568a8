package lsq

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"example.com/colloc/predict/internal/num"
)

// problem is a prior and weighted rows.
type problem struct {
	lambda, mu []float64
	rows       []Row
	y, w       []float64
}

func drawProblem(rng *rand.Rand, p, n int) *problem {
	d := &problem{}
	for range p {
		d.lambda, d.mu = append(d.lambda, 0.2+rng.Float64()), append(d.mu, rng.NormFloat64())
	}
	for range n {
		var x Row
		for range 3 {
			x.Add(rng.IntN(p), rng.NormFloat64())
		}
		d.rows, d.y, d.w = append(d.rows, x), append(d.y, rng.NormFloat64()), append(d.w, 0.1+2*rng.Float64())
	}
	return d
}

// sums adds up the first n rows over p columns.
func (d *problem) sums(p, n int) *Sums {
	s := &Sums{}
	s.Grow(p)
	for i := range n {
		s.AddRow(&d.rows[i], d.y[i], d.w[i])
	}
	return s
}

// covariance is the inverse of Λ + Σ w x xᵀ.
func (d *problem) covariance(t *testing.T) *mat.Dense {
	t.Helper()
	p := len(d.lambda)
	h := mat.NewDense(p, p, nil)
	for j, v := range d.lambda {
		h.Set(j, j, v)
	}
	for r, x := range d.rows {
		for i := range x.At {
			for j := range x.At {
				a, b := int(x.At[i]), int(x.At[j])
				h.Set(a, b, h.At(a, b)+d.w[r]*x.value[i]*x.value[j])
			}
		}
	}
	var inverse mat.Dense
	if err := inverse.Inverse(h); err != nil {
		t.Fatal(err)
	}
	return &inverse
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-9 })
}

// TestUpdateIsSolve: rows that come one at a time say what all say at once, of the
// coefficients and of how sure they are, and columns that come later are as if they had
// been there. A clone learns alone.
func TestUpdateIsSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 50 {
		const p, n, late = 8, 20, 5
		d, span := drawProblem(rng, p, n), Span{First: 1, Count: 3}
		for i := range d.rows[:n/2] { // the first rows know the first columns alone
			var x Row
			x.Add(rng.IntN(late), rng.NormFloat64())
			x.Add(rng.IntN(late), rng.NormFloat64())
			d.rows[i] = x
		}
		want, err := Solve(d.lambda, d.mu, span, d.sums(p, n/4), d.sums(p, n/4), d.sums(p, 0))
		if err != nil {
			t.Fatal(err)
		}
		got := Prior(d.lambda[:late], d.mu[:late], span)
		scratch := make([]float64, p)
		for range 2 {
			for i := range n / 4 {
				got.Update(&d.rows[i], d.y[i], d.w[i], scratch[:late])
			}
		}
		if grown := got.Clone(d.lambda, d.mu); !near(grown.Coef, want.Coef) {
			t.Fatalf("after %d rows twice: %v, want %v", n/4, grown.Coef, want.Coef)
		}
		got = Prior(d.lambda[:late], d.mu[:late], span)
		for i := range d.rows {
			if i == n/2 {
				before, old := slices.Clone(got.Coef), got
				got = got.Clone(d.lambda, d.mu)
				got.Update(&d.rows[i], d.y[i], d.w[i], scratch)
				if !slices.Equal(old.Coef, before) {
					t.Fatal("what a clone learns the other knows")
				}
				continue
			}
			got.Update(&d.rows[i], d.y[i], d.w[i], scratch[:len(got.Coef)])
		}
		if want, err = Solve(d.lambda, d.mu, span, d.sums(p, n)); err != nil {
			t.Fatal(err)
		}
		if !near(got.Coef, want.Coef) {
			t.Fatalf("one at a time %v, at once %v", got.Coef, want.Coef)
		}
		cov := d.covariance(t)
		for i := range d.rows {
			x := make([]float64, p)
			for k, c := range d.rows[i].At {
				x[c] = d.rows[i].value[k]
			}
			v := mat.NewVecDense(p, x)
			direct := mat.Inner(v, cov, v)
			if a, b := got.Variance(&d.rows[i]), want.Variance(&d.rows[i]); !near([]float64{a, b}, []float64{direct, direct}) {
				t.Fatalf("row %d varies by %v one at a time, by %v at once, want %v", i, a, b, direct)
			}
		}
	}
}

// TestHeldColumnsAreZero: a column is held at 0 to the bit, or is well above it.
func TestHeldColumnsAreZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	held := 0
	for range 100 {
		d := drawProblem(rng, 12, 20)
		post, err := Solve(d.lambda, d.mu, Span{First: 2, Count: MostHeld}, d.sums(12, 20))
		if err != nil {
			t.Fatal(err)
		}
		for j, b := range post.Coef[2 : 2+MostHeld] {
			if b == 0 {
				held++
			}
			if b < 0 || b > 0 && b < 1e-9 {
				t.Errorf("column %d is %v, want 0", 2+j, b)
			}
		}
	}
	if held < 100 {
		t.Errorf("%d columns were held, want enough to tell", held)
	}
}

// TestAllHeld: where all held columns stay at 0 the rest is as without them. So is a prior
// that would have them below.
func TestAllHeld(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 7))
	d, span := drawProblem(rng, 12, 30), Span{First: 2, Count: MostHeld}
	for j := range MostHeld {
		d.mu[2+j] = -50
	}
	post, err := Solve(d.lambda, d.mu, span, d.sums(12, 30))
	if err != nil {
		t.Fatal(err)
	}
	outside := func(all []float64) []float64 { return []float64{all[0], all[1], all[11]} }
	free := &problem{lambda: outside(d.lambda), mu: outside(d.mu), y: d.y, w: d.w}
	for _, x := range d.rows {
		var row Row
		for j, c := range []int32{0, 1, 11} {
			if at := slices.Index(x.At, c); at >= 0 {
				row.Add(j, x.value[at])
			}
		}
		free.rows = append(free.rows, row)
	}
	want, err := Solve(free.lambda, free.mu, Span{}, free.sums(3, 30))
	if err != nil {
		t.Fatal(err)
	}
	if !near(outside(post.Coef), want.Coef) || slices.Max(post.Coef[2:11]) != 0 {
		t.Errorf("%v, want %v outside and 0 within", post.Coef, want.Coef)
	}
	if prior := Prior(d.lambda, d.mu, span); !slices.Equal(outside(prior.Coef), free.mu) || slices.Min(prior.Coef[2:11]) != 0 {
		t.Errorf("the prior %v, want %v outside and 0 within", prior.Coef, free.mu)
	}
}

// TestHeldUnderAWeakPrior: nine held columns of which few rows tell more change sides many
// times. In the end moving any of the columns, as far as it may move, lowers nothing.
func TestHeldUnderAWeakPrior(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for round := range 4000 {
		const p = 12
		d := drawProblem(rng, p, 14)
		for j := range d.lambda {
			d.lambda[j] /= 50
		}
		span, sums := Span{First: 2, Count: MostHeld}, d.sums(p, 14)
		post, err := Solve(d.lambda, d.mu, span, sums)
		if err != nil {
			t.Fatal(err)
		}
		for j, b := range post.Coef {
			slope := d.lambda[j]*(b-d.mu[j]) - sums.G[j]
			for k, c := range post.Coef {
				slope += sums.H.at(j, k) * c
			}
			isHeld := j >= span.First && j < span.First+span.Count && b == 0
			if slope < -1e-7 || slope > 1e-7 && !isHeld {
				t.Fatalf("round %d: column %d is %v where the cost has slope %v", round, j, b, slope)
			}
		}
	}
}

// TestSavedSolution: a solution that was saved is the same, and goes on as the other does.
func TestSavedSolution(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 3))
	d, span := drawProblem(rng, 6, 10), Span{First: 0, Count: 4}
	a, err := Solve(d.lambda, d.mu, span, d.sums(6, 9))
	if err != nil {
		t.Fatal(err)
	}
	saved := a.Solution()
	b, err := (&Solution{slices.Clone(saved.Mean), slices.Clone(saved.Cov)}).Posterior(6, span)
	if err != nil || !slices.Equal(a.Coef, b.Coef) {
		t.Fatalf("%v, saved and read %v, %v", a.Coef, b, err)
	}
	for _, q := range []*Posterior{a, b} {
		q.Update(&d.rows[9], d.y[9], d.w[9], make([]float64, 6))
	}
	if !slices.Equal(a.Coef, b.Coef) {
		t.Errorf("after another row %v, and of what was read %v", a.Coef, b.Coef)
	}
	grown := a.Clone(append(slices.Clone(d.lambda), 1, 2), append(slices.Clone(d.mu), 3, -4))
	if c, err := grown.Solution().Posterior(8, span); err != nil || !slices.Equal(c.Coef, grown.Coef) || c.Coef[6] != 3 || c.Coef[7] != -4 {
		t.Errorf("two columns more: %v, %v", c, err)
	}
	zero := &Solution{slices.Clone(saved.Mean), slices.Clone(saved.Cov)}
	zero.Cov[PackedLen(5)+5] = 0
	if _, err := zero.Posterior(6, span); err == nil {
		t.Error("a variance of 0: accepted")
	}
	if _, err := (&Solution{saved.Mean[:5], saved.Cov}).Posterior(6, span); err == nil {
		t.Error("a mean too few: accepted")
	}
	if _, err := (&Solution{saved.Mean, saved.Cov[:5]}).Posterior(6, span); err == nil {
		t.Error("covariances too few: accepted")
	}
}

// TestSingular: without a prior two rows say nothing of three columns.
func TestSingular(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 4))
	d := drawProblem(rng, 3, 2)
	zero := make([]float64, 3)
	if _, err := Solve(zero, zero, Span{}, d.sums(3, 2)); !errors.Is(err, errSingular) {
		t.Errorf("Solve: %v", err)
	}
	if _, err := Coef(zero, zero, Span{First: 0, Count: 1}, d.sums(3, 2)); !errors.Is(err, errSingular) {
		t.Errorf("Coef: %v", err)
	}
}

// TestRowAdds: a column that is named twice counts twice, and 0 is no column.
func TestRowAdds(t *testing.T) {
	var x Row
	x.Add(1, 2)
	x.Add(0, 5)
	x.Add(1, 3)
	x.Add(2, 0)
	if got := x.Dot([]float64{1, 10, 100}); got != 55 || len(x.At) != 2 {
		t.Errorf("row over %v: %v, want 55 of two columns", x.At, got)
	}
	if x.Reset(); x.Dot([]float64{1, 10, 100}) != 0 {
		t.Error("a row that was reset has columns")
	}
}

// TestGrownSums: sums over more columns than they saw are those of the rows.
func TestGrownSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 5))
	d := drawProblem(rng, 4, 9)
	grown := d.sums(4, 9)
	if grown.Grow(6); len(grown.G) != 6 || len(grown.H) != PackedLen(6) {
		t.Errorf("%d sums, %d products", len(grown.G), len(grown.H))
	}
	grown.Grow(5) // already
	want := d.sums(6, 9)
	if !slices.Equal(grown.G, want.G) || !slices.Equal(grown.H, want.H) || grown.N != want.N || !(math.Abs(grown.N-num.Dot(d.w, slices.Repeat([]float64{1}, 9))) <= 1e-12) {
		t.Errorf("grown %+v, want %+v", grown, want)
	}
	clone := grown.Clone()
	if clone.AddRow(&d.rows[0], 1, 1); !slices.Equal(grown.G, want.G) || clone.N != want.N+1 {
		t.Error("a clone of sums adds to them")
	}
}

// TestNNLSConditions: of columns that are much alike many come and go. In the end no
// column at 0 would gain by more, and none above by anything.
func TestNNLSConditions(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for round := range 500 {
		const n, p = 12, 9
		x, y := make([][]float64, n), make([]float64, n)
		for i := range x {
			x[i] = make([]float64, p)
			common := rng.Float64()
			for j := range p {
				x[i][j] = common + 0.3*rng.Float64()
			}
			y[i] = common + 0.5*rng.NormFloat64()
		}
		b, err := NNLS(x, y, nil)
		if err != nil {
			t.Fatal(err)
		}
		for j := range p {
			var slope float64
			for i := range x {
				slope += x[i][j] * (y[i] - num.Dot(b, x[i]))
			}
			if b[j] < 0 || slope > 1e-7 || b[j] > 0 && slope < -1e-7 {
				t.Fatalf("round %d: coefficient %d is %v, more of it gains %v", round, j, b[j], slope)
			}
		}
	}
}

// TestNNLSNearlyCollinear: columns that hardly differ from others give an answer that is
// as good as the best, whichever of them it takes.
func TestNNLSNearlyCollinear(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 6))
	for round := range 300 {
		const n, p = 7, 6
		x, y := make([][]float64, n), make([]float64, n)
		for i := range x {
			x[i] = make([]float64, p)
			for j := range p / 2 {
				x[i][j] = rng.NormFloat64()
				x[i][j+p/2] = float64(1+round%3)*x[i][j] + 1e-9*rng.NormFloat64()
			}
			y[i] = rng.NormFloat64()
		}
		got, err := NNLS(x, y, nil)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		half := make([][]float64, n)
		for i := range x {
			half[i] = x[i][:p/2]
		}
		want, err := NNLS(half, y, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := loss(x, y, got), loss(half, y, want); a > b+1e-6 || slices.Min(got) < 0 {
			t.Fatalf("round %d: %v leaves %v, three of the columns %v", round, got, a, b)
		}
	}
}
