package online

import (
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
)

// TestSessionLightTasks: a burst, and a look at everything, end as well.
func TestSessionLightTasks(t *testing.T) {
	p := packtest.LightAndHeavy(1e-6)
	s, err := NewSession(p.GPUs, p.Model, packer.Limits{MaxSet: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ArriveAll(t.Context(), p.Tasks); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rebalance(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if running, _ := s.Tasks(); running < 2 {
		t.Errorf("%d run on 2 GPUs", running)
	}
}
