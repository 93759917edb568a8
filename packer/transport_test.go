package packer

import (
	"slices"
	"testing"
)

// TestTransportInCircles: where a round trip of moves gains, which prices rule
// out, the kinds still come to hold no more than they have room for.
func TestTransportInCircles(t *testing.T) {
	at := [][]int{{0, 1, 2}, {3}, {4}}
	tr := transport{n: 3, room: []int{1, 1, 5}}
	tr.size = func(k int) int { return len(at[k]) }
	tr.cost = func(_, from, to int) (int64, bool) {
		if from == 0 || to == 0 {
			return 5, true
		}
		return -20, true // there and back
	}
	tr.drop = func(int, int) int64 { return 9 }
	tr.move = func(s, from, to int) {
		g := at[from][s]
		at[from] = slices.Delete(at[from], s, s+1)
		if to != none {
			at[to] = append(at[to], g)
		}
	}
	tr.run()
	for k, groups := range at {
		if len(groups) > tr.room[k] {
			t.Errorf("kind %d holds %v; it has room for %d", k, groups, tr.room[k])
		}
	}
}
