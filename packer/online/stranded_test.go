package online

import (
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestStranded carries out a change that no plan asks for: two tasks on a GPU that
// holds one. The one that finds no room waits, and the session goes on.
func TestStranded(t *testing.T) {
	gpus := []packer.GPU{{ID: "g", Memory: 10 * profile.GiB}, {ID: "h", Memory: 10 * profile.GiB}}
	s, err := NewSession(gpus, packtest.Even{1, 0.8}, packer.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if _, err := s.Arrive(packer.Task{ID: id, Memory: 8 * profile.GiB}); err != nil {
			t.Fatal(err)
		}
	}
	steps, err := s.carryOut([]change{{targets: []target{{gpu: 0, jobs: []*job{s.jobs["a"], s.jobs["b"]}}}}})
	if running, waiting := s.Tasks(); err == nil || len(steps) != 1 || running != 1 || waiting != 1 {
		t.Errorf("steps %v, error %v; %d run and %d wait, want one each", steps, err, running, waiting)
	}
	if _, err := s.Finish("a"); err != nil {
		t.Error(err)
	}
}
