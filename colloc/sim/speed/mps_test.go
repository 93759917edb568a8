package speed_test

import (
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

func TestMPS(t *testing.T) {
	a, b := &sim.Task{ID: "a", Class: "medium"}, &sim.Task{ID: "b", Class: "medium"}
	// two of medium pressure .35 slow each other down by .35, by MPS at .4 by .14
	sliced := []float64{1 / 1.35, 1 / 1.35}
	shared := []float64{1 / 1.14, 1 / 1.14}
	m := speed.MPS{Model: speed.Contention{}, Left: 0.4}
	near(t, "time-slicing", speedsOf(t, m, "card", a, b), sliced, 1e-12)
	m.Always = true
	near(t, "always", speedsOf(t, m, "card", a, b), shared, 1e-12)
	near(t, "alone", speedsOf(t, m, "card", a), []float64{1}, 0)
	m.Always = false
	dst := make([]float64, 2)
	if err := m.Speeds(&sim.GPU{}, profile.MPS, []*sim.Task{a, b}, dst); err != nil {
		t.Fatal(err)
	}
	near(t, "asked for MPS", dst, shared, 1e-12)
	for _, bad := range []speed.MPS{{}, {Model: speed.Contention{}}, {Left: 1}} {
		if err := bad.Speeds(&sim.GPU{}, profile.MPS, []*sim.Task{a, b}, dst); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestBy: sets share by the mechanism that is told, and who is alone is alone.
func TestBy(t *testing.T) {
	b := speed.By{Model: speed.MPS{Model: sim.Constant(nil), Left: 0.5}, Mechanism: profile.MPS}
	two := make([]float64, 2)
	set := []*sim.Task{{}, {}}
	if err := b.Speeds(&sim.GPU{}, profile.TimeSlice, set, two); err != nil || two[0] != 1/1.5 {
		t.Errorf("two in turns that share by MPS: %v, %v; want 2/3", two, err)
	}
	if err := b.Speeds(&sim.GPU{}, profile.Exclusive, set[:1], two[:1]); err != nil || two[0] != 1 {
		t.Errorf("one alone: %v, %v", two[0], err)
	}
	if err := (speed.By{}).Speeds(&sim.GPU{}, profile.TimeSlice, set, two); err == nil {
		t.Error("By without a Model answers")
	}
}
