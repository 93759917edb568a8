package online

import (
	"fmt"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestNodeLost takes the four GPUs of a node out of service at once: their four
// tasks restart elsewhere, each once, and nobody else does. One GPU after the other,
// some restarted on GPUs of the same node.
func TestNodeLost(t *testing.T) {
	var gpus []packer.GPU
	for g := range 16 {
		gpus = append(gpus, packer.GPU{ID: fmt.Sprintf("n%d/g%d", g/4, g%4), Memory: 24 * profile.GiB})
	}
	s, err := NewSession(gpus, packtest.Even{1, 0.8}, packer.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		if _, err := s.Arrive(packer.Task{ID: fmt.Sprintf("t%02d", i), Weight: 1 + float64(i%3), Memory: 8 * profile.GiB}); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := s.Fail(0, 99); err == nil || len(d) > 0 {
		t.Errorf("GPU 99 fails: %v, %v", d, err)
	}
	if running, _ := s.Tasks(); running != 16 {
		t.Errorf("%d run after an event that is none", running)
	}
	decisions, err := s.Fail(0, 1, 2, 3, 2)
	if err != nil || len(decisions) != 4 {
		t.Fatalf("%v, %v; want a decision for each of the node's tasks", decisions, err)
	}
	want := []string{"t02", "t01", "t00", "t03"} // the heavier first
	for n, d := range decisions {
		if d.Task != want[n] || !d.Placed || d.GPU < 4 {
			t.Errorf("decision %d is %+v; want %s on another node", n, d, want[n])
		}
	}
	for g := range 4 {
		for task := range s.Running(g) {
			t.Errorf("%s runs on GPU %d, which is lost", task.ID, g)
		}
	}
	if d, err := s.Fail(); err != nil || len(d) > 0 {
		t.Errorf("nothing fails: %v, %v", d, err)
	}
}
