package packer

import (
	"testing"

	"example.com/colloc/profile"
)

// TestHeavyNowhere: a heavy task that no GPU can take changes nothing for the
// others.
func TestHeavyNowhere(t *testing.T) {
	const gib = profile.GiB
	for _, test := range []struct {
		name  string
		heavy Task
		gpus  []GPU
	}{
		{"memory", Task{Memory: 10 * gib}, []GPU{{ID: "g", Memory: 10 * gib}}}, // headroom
		{"label", Task{On: []string{"nvlink"}}, []GPU{{ID: "g", Memory: 10 * gib}}},
		{"gang", Task{GPUs: 2}, []GPU{{ID: "g", Memory: 10 * gib}, {ID: "h", Memory: gib / 2}}},
		{"resident's memory", Task{Memory: 6 * gib}, []GPU{{ID: "g", Memory: 10 * gib, Residents: []Task{{ID: "r", Memory: 4 * gib}}}}},
		{"resident's peace", Task{Alone: true}, []GPU{{ID: "g", Memory: 10 * gib, Residents: []Task{{ID: "r", Memory: 4 * gib}}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &Problem{GPUs: test.gpus, Model: even{1, 0.9}, Limits: Limits{MaxSet: 2}}
			p.Tasks = []Task{{ID: "a", Weight: 1, Memory: gib}, {ID: "b", Weight: 500, Memory: gib}}
			want := make([]float64, len(methods))
			for i, m := range methods {
				want[i] = solve(t, m, p).Throughput
			}
			test.heavy.ID, test.heavy.Weight = "heavy", 1e9
			p.Tasks = append(p.Tasks, test.heavy)
			for i, m := range methods {
				if s := solve(t, m, p); s.Throughput != want[i] || s.Throughput < 400 {
					t.Errorf("%T: throughput %v, without the heavy task %v", m, s.Throughput, want[i])
				}
			}
		})
	}
}

// TestResidentsSetTheUnit: what runs counts, whatever it needs.
func TestResidentsSetTheUnit(t *testing.T) {
	p := &Problem{GPUs: []GPU{{ID: "g", Residents: []Task{{ID: "r", Weight: 1 << 20}}}}, Tasks: []Task{{ID: "a"}}}
	if got := unitOf(p); got != 1 {
		t.Errorf("the unit is %v, want 1", got)
	}
	p.GPUs[0].Residents[0].Weight = 1
	p.Tasks[0].Weight, p.Tasks[0].Alone = 1<<20, true
	if got := unitOf(p); got != 1.0/(1<<20) {
		t.Errorf("the unit is %v, want 2^-20: nobody takes %q", got, "a")
	}
}
