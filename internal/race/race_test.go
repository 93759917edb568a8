package race

import "testing"

// What is drawn is fewer with the race detector, never none, and all without it.
func TestFewer(t *testing.T) {
	for n, want := range map[int]int{1: 1, 3: 1, 16: 1, 32: 2, 400: 25} {
		if !Enabled {
			want = n
		}
		if got := Fewer(n); got != want {
			t.Errorf("Fewer(%d) is %d, want %d", n, got, want)
		}
	}
}
