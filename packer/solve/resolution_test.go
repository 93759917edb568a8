package solve

import (
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// TestHeavyNowhere: a heavy task that no GPU can take changes nothing for the
// others.
func TestHeavyNowhere(t *testing.T) {
	const gib = profile.GiB
	for _, test := range []struct {
		name  string
		heavy packer.Task
		gpus  []packer.GPU
	}{
		{"memory", packer.Task{Memory: 10 * gib}, []packer.GPU{{ID: "g", Memory: 10 * gib}}}, // headroom
		{"label", packer.Task{On: []string{"nvlink"}}, []packer.GPU{{ID: "g", Memory: 10 * gib}}},
		{"gang", packer.Task{GPUs: 2}, []packer.GPU{{ID: "g", Memory: 10 * gib}, {ID: "h", Memory: gib / 2}}},
		{"resident's memory", packer.Task{Memory: 6 * gib}, []packer.GPU{{ID: "g", Memory: 10 * gib, Residents: []packer.Task{{ID: "r", Memory: 4 * gib}}}}},
		{"resident's peace", packer.Task{Alone: true}, []packer.GPU{{ID: "g", Memory: 10 * gib, Residents: []packer.Task{{ID: "r", Memory: 4 * gib}}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &packer.Problem{GPUs: test.gpus, Model: packtest.Even{1, 0.9}, Limits: packer.Limits{MaxSet: 2}}
			p.Tasks = []packer.Task{{ID: "a", Weight: 1, Memory: gib}, {ID: "b", Weight: 500, Memory: gib}}
			want := make([]float64, len(methods))
			for i, m := range methods {
				want[i] = packtest.Solve(t, m, p).Throughput
			}
			test.heavy.ID, test.heavy.Weight = "heavy", 1e9
			p.Tasks = append(p.Tasks, test.heavy)
			for i, m := range methods {
				if s := packtest.Solve(t, m, p); s.Throughput != want[i] || s.Throughput < 400 {
					t.Errorf("%T: throughput %v, without the heavy task %v", m, s.Throughput, want[i])
				}
			}
		})
	}
}

// TestResidentsSetTheUnit: what runs counts, whatever it needs.
func TestResidentsSetTheUnit(t *testing.T) {
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, GPUs: []packer.GPU{{ID: "g", Residents: []packer.Task{{ID: "r", Weight: 1 << 20}}}}, Tasks: []packer.Task{{ID: "a"}}}
	if got := p.Unit(); got != 1 {
		t.Errorf("the unit is %v, want 1", got)
	}
	p.GPUs[0].Residents[0].Weight = 1
	p.Tasks[0].Weight, p.Tasks[0].Alone = 1<<20, true
	if got := p.Unit(); got != 1.0/(1<<20) {
		t.Errorf("the unit is %v, want 2^-20: nobody takes %q", got, "a")
	}
}
