package lsq

// Row is a row of the linear model: few of its columns are not zero.
type Row struct {
	At    []int32
	value []float64
}

func (s *Row) Reset() { s.At, s.value = s.At[:0], s.value[:0] }

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

func (s *Row) Dot(b []float64) float64 {
	var sum float64
	for i, c := range s.At {
		sum += float64(s.value[i] * b[c])
	}
	return sum
}
