package solve

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// bySize gives each member of a set the speed for its size.
type bySize []float64

func (b bySize) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = b[len(set)]
	}
	return nil
}

// crammed has two tasks beside the residents on one GPU, with the numbers that the
// model gives.
func crammed(residents int, speeds bySize) (*packer.Problem, *packer.Solution) {
	p := &packer.Problem{Model: speeds, Limits: packer.Limits{MaxSet: 4}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}}}
	set := packer.Set{Tasks: []int{0, 1}, Mechanism: profile.TimeSlice}
	p.Tasks = []packer.Task{{ID: "a"}, {ID: "b"}}
	for k := range residents {
		p.GPUs[0].Residents = append(p.GPUs[0].Residents, packer.Task{ID: string(rune('r' + k))})
	}
	n := residents + len(set.Tasks)
	set.Speeds = slices.Repeat([]float64{speeds[n]}, n)
	set.Value = float64(n) * speeds[n]
	return p, &packer.Solution{Sets: []packer.Set{set}, Throughput: set.Value, Bound: set.Value}
}

// TestCheckSeesMinGain: tasks join others only if the set then does more, by
// MinGain, than its best member or its residents alone.
func TestCheckSeesMinGain(t *testing.T) {
	for _, test := range []struct {
		name      string
		residents int
		speeds    bySize
		minGain   float64
		refused   bool
	}{
		{"no residents, enough", 0, bySize{0, 1, 0.75}, 0.25, false},
		{"no residents, exactly enough", 0, bySize{0, 1, 0.625}, 0.25, false},
		{"no residents, exactly enough, not in binary", 0, bySize{0, 1, 0.6}, 0.2, false},
		{"no residents, too little", 0, bySize{0, 1, 0.62}, 0.25, true},
		{"no residents, less than one", 0, bySize{0, 1, 0.4}, 0, true},
		{"one resident, too little", 1, bySize{0, 1, 0.9, 0.4}, 0.25, true},
		{"one resident, enough", 1, bySize{0, 1, 0.9, 0.5}, 0.25, false},
		{"two residents, enough", 2, bySize{0, 1, 0.8, 0.7, 0.5}, 0.25, false},
		{"two residents, too little", 2, bySize{0, 1, 0.8, 0.7, 0.49}, 0.25, true},
		{"two residents, less than they alone", 2, bySize{0, 1, 0.8, 0.7, 0.35}, 0, true},
		{"MinGain beyond one, exactly enough", 0, bySize{0, 0.3, 1.2}, 7, false},
	} {
		p, s := crammed(test.residents, test.speeds)
		p.Limits.MinGain = test.minGain
		err := p.Check(s)
		if refused := err != nil && strings.Contains(err.Error(), "MinGain"); refused != test.refused || err != nil && !refused {
			t.Errorf("%s: %v, want refused %v", test.name, err, test.refused)
		}
	}
}

// TestCheckKnowsTheResidentsBestMechanism: what residents do without company
// counts by the best mechanism that the GPU allows.
func TestCheckKnowsTheResidentsBestMechanism(t *testing.T) {
	p, s := crammed(2, bySize{0, 1, 0.5, 0.5, 0.5})
	p.Model = byMechanism{profile.TimeSlice: 0.5, profile.MPS: 0.9}
	p.GPUs[0].Mechanisms = []profile.Mechanism{profile.Exclusive, profile.TimeSlice}
	p.Limits.MinGain = 0.5
	if err := p.Check(s); err != nil {
		t.Errorf("2 beside residents that do 1: %v", err)
	}
	p.GPUs[0].Mechanisms = append(p.GPUs[0].Mechanisms, profile.MPS)
	if err := p.Check(s); err == nil || !strings.Contains(err.Error(), "MinGain") {
		t.Errorf("2 beside residents that do 1.8 by MPS: %v", err)
	}
}

// byMechanism gives every member of a shared set the speed for the mechanism; by
// Exclusive, which is none, it gives two.
type byMechanism map[profile.Mechanism]float64

func (b byMechanism) Speeds(_ []*packer.Task, _ *packer.GPU, mech profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = 2
		if mech != profile.Exclusive {
			dst[i] = b[mech]
		}
	}
	return nil
}

// TestCheckKnowsTheResidentsInstances: residents on MIG instances count as they
// run there.
func TestCheckKnowsTheResidentsInstances(t *testing.T) {
	gpu, ok := profile.LookupGPU("A100-SXM4-40GB")
	if !ok {
		t.Fatal("the catalogue has no A100")
	}
	small := slices.IndexFunc(gpu.MIG, func(m profile.MIGProfile) bool { return strings.HasPrefix(m.Name, "1g") })
	p := &packer.Problem{Model: slowSlices{}, Limits: packer.Limits{MaxSet: 3}, Tasks: []packer.Task{{ID: "a"}}, GPUs: []packer.GPU{{
		ID: "g", Type: &gpu, Mechanisms: []profile.Mechanism{profile.MIG},
		Residents: []packer.Task{{ID: "r"}, {ID: "s"}},
		Instances: []mig.Placement{{Profile: small, Start: 0}, {Profile: small, Start: 1}},
	}}}
	s, err := Greedy{}.Pack(context.Background(), p)
	if err != nil || len(s.Sets) != 1 || len(s.Sets[0].Tasks) != 1 {
		t.Fatalf("%+v, %v: want the task beside the residents", s, err)
	}
	if err := p.Check(s); err != nil {
		t.Fatal(err)
	}
	for gain, refused := range map[float64]bool{0.4: false, 0.6: true} { // three at 0.2 instead of two
		p.Limits.MinGain = gain
		if err := p.Check(s); (err != nil) != refused || refused && !strings.Contains(err.Error(), "MinGain asks for") {
			t.Errorf("with MinGain %v: %v, refused should be %v", gain, err, refused)
		}
	}
}

// slowSlices runs every task at speed 0.2 on any slice.
type slowSlices struct{ bySize }

func (slowSlices) SliceSpeeds(_ *packer.Task, _ *packer.GPU, dst []float64) error {
	for i := range dst {
		dst[i] = 0.2
	}
	return nil
}

// TestCheckMissesNoResidents: residents that a plan leaves out are noticed before,
// between and after the sets.
func TestCheckMissesNoResidents(t *testing.T) {
	for lost := range 3 {
		p := &packer.Problem{Model: bySize{0, 1}, Limits: packer.Limits{MaxSet: 1}}
		for g := range 3 {
			id := string(rune('a' + g))
			p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: profile.GiB, Residents: []packer.Task{{ID: "r" + id}}})
		}
		s, err := Greedy{}.Pack(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		s.Bound = 3
		if err := p.Check(s); err != nil {
			t.Fatal(err)
		}
		s.Sets = slices.Delete(s.Sets, lost, lost+1)
		s.Throughput = 2
		if err := p.Check(s); err == nil || !strings.Contains(err.Error(), "residents stay") {
			t.Errorf("without GPU %d: %v", lost, err)
		}
	}
}

// TestCheckAcceptsSpeedAtTheLimit: MinSpeed is the least speed that is allowed.
func TestCheckAcceptsSpeedAtTheLimit(t *testing.T) {
	p, s := crammed(0, bySize{0, 1, 0.75})
	p.Tasks[0].MinSpeed = 0.75
	if err := p.Check(s); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	p.Tasks[0].MinSpeed = 0.7500001
	if err := p.Check(s); err == nil || !strings.Contains(err.Error(), "its limit is") {
		t.Errorf("below the limit: %v", err)
	}
}
