package gather

import (
	"bytes"
	"math"
	"strconv"
)

// Reading is what became of a cell of a log.
type Reading int

// What may become of a cell.
const (
	Known   Reading = iota
	Missing         // the log says that it is not known
	Garbled         // no number
)

// powersOfTen are exact.
//
//nolint:gochecknoglobals // read-only table
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// Number reads a decimal number or one of the many ways to say that there is
// none. Plain numbers of up to 15 digits, nearly all there are, take the short
// way; it gives the same value as strconv.
func Number(cell []byte) (float64, Reading) {
	var mantissa uint64
	digits, point := 0, -1
	for i, b := range cell {
		switch {
		case b >= '0' && b <= '9':
			mantissa = mantissa*10 + uint64(b-'0')
			digits++
		case b == '.' && point < 0:
			point = digits
		default:
			return slowNumber(cell, i)
		}
		if digits > 15 {
			return slowNumber(cell, i)
		}
	}
	switch {
	case digits == 0:
		return slowNumber(cell, 0)
	case point < 0:
		return blank(float64(mantissa))
	}
	return blank(float64(mantissa) / powersOfTen[digits-point])
}

func slowNumber(cell []byte, plain int) (float64, Reading) {
	if plain == 0 && (len(cell) == 0 || len(cell) == 1 && cell[0] == '-' || cell[0] == '[' || cell[0] == 'N' || cell[0] == 'E') {
		if bytes.HasPrefix(cell, []byte("[")) && bytes.HasSuffix(cell, []byte("]")) {
			return 0, Missing // [N/A], [GPU is lost] and whatever else nvidia-smi has to say
		}
		switch string(cell) {
		case "", "-", "N/A", "NaN", "ERR!", "Not Supported":
			return 0, Missing
		}
	}
	v, err := strconv.ParseFloat(string(cell), 64)
	switch {
	case err != nil:
		return 0, Garbled
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, Missing
	}
	return blank(v)
}

// blank turns DCGM's blank values into missing: the last sixteen 64-bit
// integers, and 2^47 with a cause in the last bits for floating-point fields.
func blank(v float64) (float64, Reading) {
	const blankFloat = 140737488355328
	if v >= math.MaxInt64 || v >= blankFloat && v <= blankFloat+3 {
		return 0, Missing
	}
	return v, Known
}
