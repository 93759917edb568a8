package pdhg

import (
	"cmp"
	"context"
	"math"
)

// Point is where a solution stands: the values of the variables, and the prices of the
// rows, 0 or more. A point may be shorter than the program: the rest is 0.
type Point struct {
	X, Y []float64
	// How is how steps are taken from here, as Solve found; the zero value lets it find out.
	How How
}

// How is how steps are taken.
type How struct {
	weight float64 // of prices beside variables; 0 is not known
	sums   bool    // the program is balanced by sums, too
}

// Solve improves a point until the program's rows hold, and its costs and the prices'
// worth agree, to a part tol of what they are, which is then exact, for most steps at the
// most, or until ctx is cancelled. The method is that of Applegate et al. (2021, arXiv:2106.04756): Chambolle and
// Pock's steps, averaged, and begun anew from the average when that is far better.
// O(entries) a step. The same input gives the same output.
func (p *Program) Solve(ctx context.Context, from Point, tol float64, most int) (Point, bool) {
	at, miss := p.solve(ctx, from, tol, most)
	if from.How == (How{}) && miss > tol {
		from.How.sums = true // which balance is better nobody knows before
		if other, less := p.solve(ctx, from, tol, most); less < miss {
			at, miss = other, less
		}
	}
	return at, miss <= tol
}

// solve does so with one balance and returns what the point misses.
func (p *Program) solve(ctx context.Context, from Point, tol float64, most int) (Point, float64) {
	s := newSolver(p, from)
	const check = 40
	for n := 1; n <= most; n++ {
		s.step()
		if n%check > 0 {
			continue
		}
		if s.review(n) <= tol || ctx.Err() != nil {
			break
		}
	}
	return s.answer()
}

// solver works on the balanced program.
type solver struct {
	rows, columns             []float64
	cost, lower, upper, right []float64
	byRow, byColumn           *matrix
	x, y, meanX, meanY        []float64
	startX, startY, back      []float64
	norm, weight              float64
	how                       How
	count                     float64 // steps in the mean
	least, last               float64 // errors at the last start, and when it was last looked at
	started                   int
	normCost, normRight       float64
}

func newSolver(p *Program, from Point) *solver {
	rows, columns, entries := p.balance(from.How.sums)
	n, m := len(columns), len(rows)
	s := &solver{
		rows: rows, columns: columns, cost: make([]float64, n), lower: make([]float64, n), upper: make([]float64, n),
		right: make([]float64, m), x: make([]float64, n), y: make([]float64, m),
		meanX: make([]float64, n), meanY: make([]float64, m), back: make([]float64, n),
		byRow:    newMatrix(m, entries, func(e *entry) (int32, int32) { return e.row, e.column }),
		byColumn: newMatrix(n, entries, func(e *entry) (int32, int32) { return e.column, e.row }),
	}
	for j, c := range columns {
		s.cost[j], s.lower[j], s.upper[j] = p.Cost[j]*c, p.Lower[j]/c, p.Upper[j]/c
		if j < len(from.X) {
			s.x[j] = from.X[j] / c
		}
		s.x[j] = min(max(s.x[j], s.lower[j]), s.upper[j])
	}
	for i, r := range rows {
		s.right[i] = p.Right[i] * r
		if i < len(from.Y) {
			s.y[i] = max(0, from.Y[i]/r)
		}
	}
	s.normCost, s.normRight = length(s.cost), length(s.right)
	s.how = from.How
	s.weight = cmp.Or(from.How.weight, 1)
	if from.How.weight == 0 && s.normCost > 0 && s.normRight > 0 {
		s.weight = s.normCost / s.normRight
	}
	s.norm = s.spectral()
	s.restart(s.x, s.y, 0)
	s.least = s.miss(s.x, s.y)
	return s
}

// spectral is the largest singular value, nearly, and rather too much.
func (s *solver) spectral() float64 {
	v, u := ones(len(s.x)), make([]float64, len(s.y))
	norm := 0.0
	for range 30 {
		for i := range u {
			u[i] = s.byRow.row(i, v)
		}
		for j := range v {
			v[j] = s.byColumn.row(j, u)
		}
		l := length(v)
		if l == 0 {
			return 1 // no variable is in any row
		}
		norm = math.Sqrt(l)
		for j := range v {
			v[j] /= l
		}
	}
	return 1.02 * norm
}

// step moves the variables along the prices, and the prices along the variables.
func (s *solver) step() {
	down, up := 1/(s.norm*s.weight), s.weight/s.norm
	for j, x := range s.x {
		v := x - float64(down*(s.cost[j]-s.byColumn.row(j, s.y)))
		v = min(max(v, s.lower[j]), s.upper[j])
		s.x[j], s.back[j] = v, 2*v-x
		s.meanX[j] += v
	}
	for i, y := range s.y {
		v := max(0, y+float64(up*(s.right[i]-s.byRow.row(i, s.back))))
		s.y[i] = v
		s.meanY[i] += v
	}
	s.count++
}

// review begins anew where that pays and returns the least error.
func (s *solver) review(n int) float64 {
	x, y, miss := s.better()
	if miss <= 0.2*s.least || miss <= 0.8*s.least && miss > s.last || float64(n-s.started) >= 0.36*float64(n) {
		s.restart(x, y, n)
		s.least = miss
	}
	s.last = miss
	return miss
}

// restart begins anew at a point and weighs variables against prices by how far each went.
func (s *solver) restart(x, y []float64, n int) {
	if s.startX != nil {
		dx, dy := apart(x, s.startX), apart(y, s.startY)
		if dx > 1e-12 && dy > 1e-12 {
			s.weight = math.Exp(0.5*math.Log(dy/dx) + 0.5*math.Log(s.weight))
		}
	}
	s.startX, s.startY = append(s.startX[:0], x...), append(s.startY[:0], y...)
	copy(s.x, s.startX)
	copy(s.y, s.startY)
	clear(s.meanX)
	clear(s.meanY)
	s.count, s.started, s.last = 0, n, math.Inf(1)
}

// miss is how far a point is from a solution: what rows and prices lack, and the part by
// which costs and worth differ.
func (s *solver) miss(x, y []float64) float64 {
	primal, dual, worth, cost := 0.0, 0.0, 0.0, 0.0
	for i := range y {
		lack := max(0, s.right[i]-s.byRow.row(i, x))
		primal += lack * lack
		worth += s.right[i] * y[i]
	}
	for j := range x {
		cost += s.cost[j] * x[j]
		reduced := s.cost[j] - s.byColumn.row(j, y)
		switch {
		case reduced >= 0:
			worth += reduced * s.lower[j]
		case math.IsInf(s.upper[j], 1):
			dual += reduced * reduced
		default:
			worth += reduced * s.upper[j]
		}
	}
	return math.Sqrt(primal)/(1+s.normRight) + math.Sqrt(dual)/(1+s.normCost) + math.Abs(cost-worth)/(1e-9+math.Abs(cost)+math.Abs(worth))
}

// better returns the point or the mean, whichever misses less, and what it misses.
func (s *solver) better() (x, y []float64, miss float64) {
	x, y, miss = s.x, s.y, s.miss(s.x, s.y)
	if s.count == 0 {
		return x, y, miss
	}
	meanX, meanY := over(s.meanX, s.count), over(s.meanY, s.count)
	if mean := s.miss(meanX, meanY); mean < miss {
		x, y, miss = meanX, meanY, mean
	}
	return x, y, miss
}

// answer is that in the program's own measures.
func (s *solver) answer() (at Point, miss float64) {
	x, y, miss := s.better()
	at = Point{make([]float64, len(x)), make([]float64, len(y)), How{s.weight, s.how.sums}}
	for j := range x {
		at.X[j] = x[j] * s.columns[j]
	}
	for i := range y {
		at.Y[i] = y[i] * s.rows[i]
	}
	return at, miss
}

func over(sum []float64, n float64) []float64 {
	out := make([]float64, len(sum))
	for i := range sum {
		out[i] = sum[i] / n
	}
	return out
}

func length(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func apart(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum)
}
