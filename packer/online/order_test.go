package online

import (
	"fmt"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestSessionKeepsTheOrderOfWeights: beside a weight of 10^9 those of 1 and 500 are
// not the same, in a burst, in the queue, and after a failure.
func TestSessionKeepsTheOrderOfWeights(t *testing.T) {
	var gpus []packer.GPU
	for _, id := range []string{"g", "h"} {
		gpus = append(gpus, packer.GPU{ID: id, Memory: profile.GiB})
	}
	var tasks []packer.Task
	for _, w := range []float64{1, 500, 1e9} {
		tasks = append(tasks, packer.Task{ID: fmt.Sprint(w), Weight: w})
	}
	runs := func(s *Session, id string) bool { _, _, ok := s.Where(id); return ok }
	s, err := NewSession(gpus, packtest.Even{1}, packer.Limits{MaxSet: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ArriveAll(t.Context(), tasks); err != nil || runs(s, "1") || !runs(s, "500") || !runs(s, "1e+09") {
		t.Errorf("burst: error %v; 1 runs: %v, 500 runs: %v", err, runs(s, "1"), runs(s, "500"))
	}
	if _, err := s.Fail(0, 1); err != nil {
		t.Fatal(err)
	}
	for g, want := range []string{"1e+09", "500"} {
		if d, err := s.Restore(g); err != nil || len(d) != 1 || d[0].Task != want {
			t.Errorf("GPU %d is back: %v, %v; want %s", g, d, err, want)
		}
	}
}
