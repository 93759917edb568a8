package scan

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
)

// Bounds that every reader keeps. Real files stay far below; beyond them a
// reader returns an error that names the line or the offset.
const (
	// MaxText is the largest text in bytes, and the most that is held of the
	// names and shapes of a binary file.
	MaxText = 64 << 20
	// MaxJSON is the largest JSON document in bytes, also inside an archive.
	MaxJSON = 16 << 20
	// MaxLine is the longest line, and the longest name, in bytes.
	MaxLine = reading.MaxLine
	// MaxLayers is the largest number of leaves.
	MaxLayers = 1 << 18
	// MaxDepth is the deepest nesting of containers.
	MaxDepth = 64
)

// Bounds of what one file can say.
const (
	// MaxDim is the largest dimension of a shape.
	MaxDim = 1 << 40
	// MaxRank is the largest number of dimensions.
	MaxRank = 16
)

// Mul multiplies non-negative counts, saturating at the largest int64, which
// profile.Layer.Validate refuses.
func Mul(factors ...int64) int64 {
	product := uint64(1)
	for _, f := range factors {
		hi, lo := bits.Mul64(product, uint64(max(f, 0)))
		if hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		product = lo
	}
	return int64(product)
}

// Add adds non-negative counts, saturating at the largest int64.
func Add(terms ...int64) int64 {
	var sum int64
	for _, t := range terms {
		if sum > math.MaxInt64-t {
			return math.MaxInt64
		}
		sum += t
	}
	return sum
}

// ParseCount reads "25,557,032".
func ParseCount(text string) (int64, error) {
	digits := strings.ReplaceAll(strings.TrimSpace(text), ",", "")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > profile.MaxCount {
		return 0, fmt.Errorf("%q is not a count from 0 to 1e15", reading.Clip(strings.TrimSpace(text)))
	}
	return n, nil
}

// CheckShape refuses shapes that no tensor has.
func CheckShape(shape []int64) error {
	if len(shape) > MaxRank {
		return fmt.Errorf("a shape of %d dimensions, at most %d are allowed", len(shape), MaxRank)
	}
	for _, d := range shape {
		if d < 0 || d > MaxDim {
			return fmt.Errorf("a dimension of %d", d)
		}
	}
	return nil
}
