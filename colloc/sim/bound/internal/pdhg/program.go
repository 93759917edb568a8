package pdhg

import "math"

// Program is
//
//	min Σ Cost(j)·x(j)   Σ a(i, j)·x(j) >= Right(i) for each row i,   Lower <= x <= Upper
//
// The zero value has neither variables nor rows.
type Program struct {
	Cost, Lower, Upper []float64
	Right              []float64
	entries            []entry
}

type entry struct {
	row, column int32
	value       float64
}

// Variable adds a variable and returns its number.
func (p *Program) Variable(cost, lower, upper float64) int {
	p.Cost, p.Lower, p.Upper = append(p.Cost, cost), append(p.Lower, lower), append(p.Upper, upper)
	return len(p.Cost) - 1
}

// Row adds a row without entries and returns its number.
func (p *Program) Row(right float64) int {
	p.Right = append(p.Right, right)
	return len(p.Right) - 1
}

// Set says what a variable counts in a row; the same pair must not be set twice.
func (p *Program) Set(row, column int, value float64) {
	if value != 0 {
		p.entries = append(p.entries, entry{int32(row), int32(column), value})
	}
}

// matrix is a sparse matrix by rows.
type matrix struct {
	start []int32
	at    []int32
	value []float64
}

func newMatrix(n int, entries []entry, of func(*entry) (row, column int32)) *matrix {
	m := &matrix{start: make([]int32, n+1), at: make([]int32, len(entries)), value: make([]float64, len(entries))}
	for i := range entries {
		r, _ := of(&entries[i])
		m.start[r+1]++
	}
	for r := range n {
		m.start[r+1] += m.start[r]
	}
	next := append([]int32(nil), m.start[:n]...)
	for i := range entries {
		r, c := of(&entries[i])
		m.at[next[r]], m.value[next[r]] = c, entries[i].value
		next[r]++
	}
	return m
}

// row is the product of one row and a vector.
func (m *matrix) row(r int, x []float64) float64 {
	sum := 0.0
	for k := m.start[r]; k < m.start[r+1]; k++ {
		sum += float64(m.value[k] * x[m.at[k]])
	}
	return sum
}

// balance scales rows and columns until the largest entries of each are about 1 (Ruiz,
// 2001), then perhaps by the sums of their entries (Pock and Chambolle, 2011), and the
// entries with them.
func (p *Program) balance(sums bool) (rows, columns []float64, entries []entry) {
	const rounds = 12
	rows, columns = ones(len(p.Right)), ones(len(p.Cost))
	entries = append([]entry(nil), p.entries...)
	for n := range rounds + 1 {
		if n == rounds && !sums {
			break
		}
		r, c := make([]float64, len(rows)), make([]float64, len(columns))
		for i := range entries {
			e := &entries[i]
			v := math.Abs(e.value)
			if n == rounds {
				r[e.row], c[e.column] = r[e.row]+v, c[e.column]+v
			} else {
				r[e.row], c[e.column] = max(r[e.row], v), max(c[e.column], v)
			}
		}
		root(r)
		root(c)
		for i := range entries {
			e := &entries[i]
			e.value /= r[e.row] * c[e.column]
		}
		divide(rows, r)
		divide(columns, c)
	}
	return rows, columns, entries
}

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

func root(x []float64) {
	for i := range x {
		if x[i] = math.Sqrt(x[i]); x[i] == 0 {
			x[i] = 1
		}
	}
}

func divide(x, by []float64) {
	for i := range x {
		x[i] /= by[i]
	}
}
