package lsq

// Row is a row of a linear model, of which few columns are not zero: At[i] is a
// column, value[i] what stands there.
type Row struct {
	At    []int32
	value []float64
}

// Reset empties the row and keeps its memory.
func (s *Row) Reset() { s.At, s.value = s.At[:0], s.value[:0] }

// Add adds v to one column.
func (s *Row) Add(column int, v float64) {
	if v == 0 {
		return
	}
	for i, c := range s.At {
		if int(c) == column {
			s.value[i] += v
			return
		}
	}
	s.At, s.value = append(s.At, int32(column)), append(s.value, v)
}

// Dot is the inner product with coefficients.
func (s *Row) Dot(b []float64) float64 {
	var sum float64
	for i, c := range s.At {
		sum += float64(s.value[i] * b[c])
	}
	return sum
}
