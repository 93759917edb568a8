package keras

import (
	"fmt"
	"slices"
	"testing"
)

func TestReshape(t *testing.T) {
	for _, tt := range []struct {
		target []int64
		want   string
	}{
		{[]int64{4, 3}, "[4 3]"},
		{[]int64{-1}, "[12]"},
		{[]int64{2, -1, 3}, "[2 2 3]"},
		{[]int64{5, -1}, "[]"},
		{[]int64{-1, -1}, "[]"},
		{[]int64{0, 12}, "[]"},
		{[]int64{3, 3}, "[]"},
		{nil, "[]"},
	} {
		if got := fmt.Sprint(reshape(slices.Clone(tt.target), 12)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.target, got, tt.want)
		}
	}
}
