package folds

import (
	"slices"
	"testing"
)

// TestDeal: folds differ by one row at most, and the seed alone says which rows are in which.
func TestDeal(t *testing.T) {
	a, b, c := Deal(23, 5, 1), Deal(23, 5, 1), Deal(23, 5, 2)
	count := make([]int, 5)
	for _, k := range a {
		count[k]++
	}
	slices.Sort(count)
	if !slices.Equal(count, []int{4, 4, 5, 5, 5}) {
		t.Errorf("folds of %v rows", count)
	}
	if !slices.Equal(a, b) || slices.Equal(a, c) || slices.IsSorted(a) {
		t.Errorf("seed 1: %v and %v, seed 2: %v", a, b, c)
	}
}

// TestDealGroups: a group is in one fold, the largest are dealt first, each to the fold that
// has the fewest rows, and of folds and groups alike the first.
func TestDealGroups(t *testing.T) {
	group := []int{7, 3, 3, 9, 9, 9, 9, 5, 5, 5, 4, 4}
	// 9 has four rows, 5 three, 3 and 4 two, 7 one.
	want := map[int]int{9: 0, 5: 1, 3: 2, 4: 2, 7: 1}
	for i, k := range DealGroups(group, 3) {
		if k != want[group[i]] {
			t.Errorf("row %d of group %d is in fold %d, want %d", i, group[i], k, want[group[i]])
		}
	}
}

// TestPickWhere: places are kept in their order, and entries picked by them.
func TestPickWhere(t *testing.T) {
	at := Where([]int{4, 1, 3, 0}, func(i int) bool { return i != 3 })
	if got := Pick([]string{"a", "b", "c", "d", "e"}, at); !slices.Equal(got, []string{"e", "b", "a"}) {
		t.Errorf("%v picks %v", at, got)
	}
}
