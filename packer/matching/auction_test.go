package matching

import (
	"math"
	rand "math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/internal/race"
)

func TestOfferScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range race.Fewer(3000) {
		row, price := make([]int32, rng.IntN(14)), make([]int32, 14)
		for k := range row {
			row[k], price[k] = rng.Int32N(6), rng.Int32N(3)
		}
		want := offer{best: none, first: math.MinInt32, second: math.MinInt32}
		for k, w := range row {
			switch v := w - price[k]; {
			case v > want.first:
				want = offer{best: int32(k), first: v, second: want.first}
			case v > want.second:
				want.second = v
			}
		}
		got := offer{best: none, first: math.MinInt32, second: math.MinInt32}
		cut := rng.IntN(len(row) + 1)
		got.scan(row[:cut], price[:cut], 0)
		got.scan(row[cut:], price[cut:], int32(cut))
		if got != want {
			t.Fatalf("row %v, price %v: got %+v, want %+v", row, price, got, want)
		}
	}
}

func TestLargest(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for range race.Fewer(1000) {
		values := make([]int32, rng.IntN(14))
		for k := range values {
			values[k] = rng.Int32N(20) - 5
		}
		if got, want := largest(values), max(0, slices.Max(append(values, 0))); got != want {
			t.Fatalf("%v: got %d, want %d", values, got, want)
		}
	}
}
