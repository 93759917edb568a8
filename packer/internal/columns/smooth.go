package columns

import (
	"context"
	"math"
)

// smoothed solves a packing program nearly, where it has too many rows for
// [packing]. It minimises the dual with a temperature τ, one price at a time,
//
//	min  Σ limit(r)·y(r) + τ/ln 2·Σ 2^((value(j) - Σ times(r, j)·y(r))/τ),   y >= 0
//
// where the powers are the solution x: a price rises as long as the sets want
// more of its row than there is. τ falls, and ends where what it blurs no longer
// matters. (For matrices this is Sinkhorn's method; for τ to 0, Bertsekas'
// auction.) Prices of any quality make valid bounds.
//
// A sweep over all prices costs O(entries of all columns).
type smoothed struct {
	limit []float64
	cols  []column
	rows  [][]int32 // columns that use each row
	price []float64
	slack []float64 // what each column is worth beyond its rows
	tau   float64
	most  int // sweeps at each tau
}

const (
	hottest   = 0.1   // τ to begin with, as a part of a solo task's value
	coldest   = 0.002 // and in the end
	cooling   = 0.7
	maxSweeps = 100  // at each τ
	still     = 0.02 // of τ: prices that move less than this have settled
	faint     = -36  // powers below 2^faint are nothing
)

func newSmoothed(limit []float64) *smoothed {
	return &smoothed{limit: limit, rows: make([][]int32, len(limit)), price: make([]float64, len(limit)), tau: hottest, most: maxSweeps}
}

// add implements master.
func (s *smoothed) add(c column) {
	j := int32(len(s.cols))
	s.cols = append(s.cols, c)
	d := c.value
	for n, r := range c.rows {
		s.rows[r] = append(s.rows[r], j)
		d -= float64(c.count(n) * s.price[r])
	}
	s.slack = append(s.slack, d)
}

func (s *smoothed) prices() []float64 { return s.price }

func (s *smoothed) level(j int) float64 { return power2(max(faint, s.slack[j]/s.tau)) }

// solve implements master. It starts from the prices of the last time. At each
// temperature, which falls until it is the coldest, it makes maxSweeps at most: any
// prices prove a bound, later ones a lower.
func (s *smoothed) solve(ctx context.Context) {
	for {
		for range s.most {
			moved := 0.0
			for r := range s.rows {
				moved = max(moved, s.adjust(r))
			}
			if moved < still*s.tau || ctx.Err() != nil {
				break
			}
		}
		if s.tau == coldest || ctx.Err() != nil {
			return
		}
		s.tau = max(coldest, s.tau*cooling)
	}
}

// adjust gives row r the price that is best beside the others and returns by how
// much it moved. Columns that use the row more than once make it move less.
func (s *smoothed) adjust(r int) float64 {
	top := math.Inf(-1)
	for _, j := range s.rows[r] {
		top = max(top, s.slack[j])
	}
	if math.IsInf(top, -1) {
		return 0
	}
	load, most := 0.0, 1.0
	for _, j := range s.rows[r] {
		if d := (s.slack[j] - top) / s.tau; d > faint {
			times := s.cols[j].timesOf(r)
			load += float64(times * power2(d))
			most = max(most, times)
		}
	}
	step := (top + float64(s.tau*log2(load/s.limit[r]))) / most
	step = max(step, -s.price[r])
	s.price[r] += step
	for _, j := range s.rows[r] {
		s.slack[j] -= float64(s.cols[j].timesOf(r) * step)
	}
	return math.Abs(step)
}

// power2 returns 2^x for x in [faint, 64] to 9 digits, the same on every machine
// (math.Exp2 is not).
func power2(x float64) float64 {
	whole := math.Floor(x)
	f := float64((x - whole) * (math.Ln2 / 16))
	sum := 1.0 / 24
	sum = 1.0/6 + float64(f*(sum+float64(f/120)))
	sum = 1.0/2 + float64(f*sum)
	sum = 1 + float64(f*sum)
	sum = 1 + float64(f*sum)
	for range 4 {
		sum *= sum
	}
	return sum * math.Float64frombits(uint64(1023+int(whole))<<52)
}

// log2 returns the logarithm of x > 0 to 9 digits, the same on every machine.
func log2(x float64) float64 {
	m, e := math.Frexp(x)
	t := (m - 1) / (m + 1)
	sum, square := 0.0, float64(t*t)
	for n := 19.0; n > 0; n -= 2 {
		sum = float64(sum*square) + 1/n
	}
	return float64(e) + float64(2*t*sum)/math.Ln2
}
