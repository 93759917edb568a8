package columns

import (
	"context"
	"math"
	"slices"
)

// column is one variable of a packing program: how often it uses each row and
// what it is worth.
type column struct {
	rows  []int32   // ascending
	times []float64 // how often each row is used; nil is once
	value float64
}

// packing is a linear program
//
//	max Σ value(j)·x(j)   Σ times(r, j)·x(j) <= limit(r) for each row r,   x >= 0
//
// whose columns arrive over time, and the state of the primal simplex method on
// it: a basis and its dense inverse. Limits are raised by up to a millionth, by
// amounts that follow no pattern, so that no two rows bind at once and the
// method cannot stall. The prices do not suffer: they are feasible for any
// limits, and whoever uses them prices all columns again.
//
// O(rows²) for each pivot, and one look at each column.
type packing struct {
	limit  []float64
	cols   []column
	basis  []int32   // column basic in each row; the slack of row r is ^r
	at     []int32   // row in which each column is basic, none if it is not
	slack  []int32   // the same for slacks
	inv    []float64 // inverse of the basis, column by column
	x      []float64 // values of the basic variables
	price  []float64 // of each row
	enter  []float64 // entering column in terms of the basis
	pivots int
	most   int // pivots of one solve
}

const (
	simplexTol  = 1e-9
	refactorize = 400 // pivots after which the inverse is computed anew
)

// newPacking has only slacks.
func newPacking(limit []float64) *packing {
	m := len(limit)
	p := &packing{
		limit: make([]float64, m), basis: make([]int32, m), slack: make([]int32, m),
		most: 50 * m, inv: make([]float64, m*m), x: make([]float64, m), price: make([]float64, m), enter: make([]float64, m),
	}
	for r := range m {
		noise := float64(uint32(r+1)*2654435761) / (1 << 32) // golden ratio hashing
		p.limit[r] = limit[r] + 1e-6*max(1, limit[r])*(0.25+0.75*noise)
		p.basis[r], p.slack[r] = ^int32(r), int32(r)
		p.inv[r*m+r], p.x[r] = 1, p.limit[r]
	}
	return p
}

// add adds a column.
func (p *packing) add(c column) {
	p.cols = append(p.cols, c)
	p.at = append(p.at, int32(none))
}

// level is how much of column j the solution has.
func (p *packing) level(j int) float64 {
	if at := p.at[j]; at != int32(none) {
		return p.x[at]
	}
	return 0
}

// reduced returns what column c is worth beyond the prices of its rows.
func (p *packing) reduced(c *column) float64 {
	d := c.value
	for n, r := range c.rows {
		d -= float64(c.count(n) * p.price[r])
	}
	return d
}

// solve pivots until no column is worth more than its
// rows, for 50 pivots a row, or until ctx is cancelled. Rounding, or pivots that
// change nothing, could go on for ever; prices that are not the best yet prove a
// bound all the same, which is priced in whole numbers and merely higher.
func (p *packing) solve(ctx context.Context) {
	for range p.most {
		j := p.entering()
		if j == math.MaxInt32 || ctx.Err() != nil || !p.pivot(j) {
			return
		}
	}
}

// entering returns the column, or ^row of the slack, with the largest reduced
// value; MaxInt32 if none is positive.
func (p *packing) entering() int32 {
	best, found := simplexTol, int32(math.MaxInt32)
	for j := range p.cols {
		if p.at[j] != int32(none) {
			continue
		}
		if d := p.reduced(&p.cols[j]); d > best {
			best, found = d, int32(j)
		}
	}
	for r, y := range p.price {
		if p.slack[r] == int32(none) && -y > best {
			best, found = -y, ^int32(r)
		}
	}
	return found
}

// pivot brings variable j into the basis; false if nothing bounds it, which
// rounding alone could cause.
func (p *packing) pivot(j int32) bool {
	m := len(p.limit)
	gain := p.express(j)
	out := none
	step := math.Inf(1)
	for r, w := range p.enter {
		if w <= simplexTol {
			continue
		}
		if t := p.x[r] / w; t < step || t == step && w > p.enter[out] {
			step, out = t, r
		}
	}
	if out == none {
		return false
	}
	step = max(step, 0)
	for r, w := range p.enter {
		p.x[r] -= float64(step * w)
	}
	p.x[out] = step
	p.eliminate(out)
	for c := range p.price {
		p.price[c] += float64(gain * p.inv[c*m+out])
	}
	p.swap(out, j)
	if p.pivots++; p.pivots%refactorize == 0 {
		p.refresh()
	}
	return true
}

// express fills enter with variable j in terms of the basis and returns its
// reduced value.
func (p *packing) express(j int32) float64 {
	m := len(p.limit)
	if j < 0 {
		copy(p.enter, p.inv[int(^j)*m:(int(^j)+1)*m])
		return -p.price[^j]
	}
	c := &p.cols[j]
	clear(p.enter)
	for n, r := range c.rows {
		times := c.count(n)
		for i, v := range p.inv[int(r)*m : (int(r)+1)*m] {
			p.enter[i] += float64(times * v)
		}
	}
	return p.reduced(c)
}

// swap makes variable j basic in row r.
func (p *packing) swap(r int, j int32) {
	if old := p.basis[r]; old < 0 {
		p.slack[^old] = int32(none)
	} else {
		p.at[old] = int32(none)
	}
	p.basis[r] = j
	if j < 0 {
		p.slack[^j] = int32(r)
	} else {
		p.at[j] = int32(r)
	}
}

// refresh computes the inverse, the values and the prices from the basis alone
// by Gauss-Jordan elimination, so that errors do not add up. O(rows³), less
// where slacks are basic. Rounding could make the basis singular; then the old
// inverse stays.
func (p *packing) refresh() {
	m := len(p.limit)
	inv := make([]float64, m*m) // column by column, of a basis of slacks
	for r := range m {
		inv[r*m+r] = 1
	}
	old, basis := p.inv, slices.Clone(p.basis)
	p.inv = inv
	free, rows := make([]bool, m), make([]int32, m) // free rows hold no final variable yet
	for r, j := range basis {
		rows[r] = ^int32(r)
		free[r] = j != rows[r]
	}
	for _, j := range basis {
		if j < 0 && basis[^j] == j {
			continue
		}
		p.express(j)
		out := none
		for i, w := range p.enter {
			if free[i] && (out == none || math.Abs(w) > math.Abs(p.enter[out])) {
				out = i
			}
		}
		if out == none || math.Abs(p.enter[out]) < simplexTol {
			p.inv = old
			return
		}
		p.eliminate(out)
		free[out], rows[out] = false, j
	}
	copy(p.basis, rows)
	p.recompute()
}

// eliminate applies one elimination step of column enter with its pivot in row out.
func (p *packing) eliminate(out int) {
	m := len(p.limit)
	w := p.enter[out]
	for c := range m {
		col := p.inv[c*m : (c+1)*m]
		t := col[out]
		if t == 0 {
			continue
		}
		t /= w
		for r, e := range p.enter {
			col[r] -= float64(t * e)
		}
		col[out] = t
	}
}

// recompute derives where variables are, their values and the prices from the
// basis and its inverse.
func (p *packing) recompute() {
	m := len(p.limit)
	clear(p.x)
	for c := range m {
		for r, v := range p.inv[c*m : (c+1)*m] {
			p.x[r] += float64(v * p.limit[c])
		}
		y := 0.0
		for r, j := range p.basis {
			if j >= 0 {
				y += float64(p.cols[j].value * p.inv[c*m+r])
			}
		}
		p.price[c] = y
	}
	for r, j := range p.basis {
		p.x[r] = max(p.x[r], 0)
		if j < 0 {
			p.slack[^j] = int32(r)
		} else {
			p.at[j] = int32(r)
		}
	}
}

// count returns how often the column uses its n-th row.
func (c *column) count(n int) float64 {
	if c.times == nil {
		return 1
	}
	return c.times[n]
}

// none is the absence of a number.
const none = -1
