package start

import (
	"slices"
	"testing"
)

// TestTransportInCircles: where a round trip of moves gains, which prices rule
// out, the kinds still come to hold no more than they have room for.
func TestTransportInCircles(t *testing.T) {
	at := [][]int{{0, 1, 2}, {3}, {4}}
	tr := Transport{N: 3, Room: []int{1, 1, 5}}
	tr.Size = func(k int) int { return len(at[k]) }
	tr.Cost = func(_, from, to int) (int64, bool) {
		if from == 0 || to == 0 {
			return 5, true
		}
		return -20, true // there and back
	}
	tr.Drop = func(int, int) int64 { return 9 }
	tr.Move = func(s, from, to int) {
		g := at[from][s]
		at[from] = slices.Delete(at[from], s, s+1)
		if to != none {
			at[to] = append(at[to], g)
		}
	}
	tr.Run()
	for k, groups := range at {
		if len(groups) > tr.Room[k] {
			t.Errorf("kind %d holds %v; it has room for %d", k, groups, tr.Room[k])
		}
	}
}
