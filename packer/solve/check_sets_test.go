package solve

import (
	"strings"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// TestCheckSeesIdleResidents: a GPU with residents has a set, wherever it stands among
// those that have one.
func TestCheckSeesIdleResidents(t *testing.T) {
	for at := range 3 {
		p := &packer.Problem{Model: bySize{0, 1}, Tasks: []packer.Task{{ID: "a"}, {ID: "b"}}}
		s := &packer.Solution{Throughput: 2, Bound: 2}
		for g, id := range []string{"g0", "g1", "g2"} {
			p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: profile.GiB})
			if g == at {
				p.GPUs[g].Residents = []packer.Task{{ID: "resident"}}
			} else {
				s.Sets = append(s.Sets, packer.Set{GPU: g, Tasks: []int{len(s.Sets)}, Speeds: []float64{1}, Value: 1})
			}
		}
		if err := p.Check(s); err == nil || !strings.Contains(err.Error(), p.GPUs[at].ID) {
			t.Errorf("residents of GPU %d are left out: error is %v", at, err)
		}
		p.GPUs[at].Residents = nil
		if err := p.Check(s); err != nil {
			t.Errorf("GPU %d is empty: %v", at, err)
		}
	}
}

// TestCheckSpeedAtTheLimit: a task may run exactly as slowly as its limit says.
func TestCheckSpeedAtTheLimit(t *testing.T) {
	for limit, refused := range map[float64]bool{0.6: false, 0.6000001: true} {
		p, s := crammed(0, bySize{0, 1, 0.6})
		p.Tasks[1].MinSpeed = limit
		if err := p.Check(s); (err != nil) != refused {
			t.Errorf("limit %v, speed 0.6: error is %v", limit, err)
		}
	}
}
