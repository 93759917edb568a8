package packer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// gangs is two gangs of two on four GPUs, and a plan for them.
func gangs() (*packer.Problem, *packer.Solution) {
	p := &packer.Problem{Model: packtest.Even{1, 0.9}, Limits: packer.Limits{MaxSet: 2, Headroom: profile.Some(0.0)}}
	for _, id := range []string{"a", "b", "c", "d"} {
		p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: 8 * profile.GiB})
	}
	for _, id := range []string{"x", "y"} {
		p.Tasks = append(p.Tasks, packer.Task{ID: id, GPUs: 2, Memory: profile.GiB})
	}
	return p, &packer.Solution{Throughput: 2, Bound: 2, Sets: []packer.Set{
		{GPU: 0, Gang: []int{2}, Tasks: []int{0}, Speeds: []float64{1}, Value: 1},
		{GPU: 1, Gang: []int{3}, Tasks: []int{1}, Speeds: []float64{1}, Value: 1},
	}}
}

// TestCheckRefuses: a plan that breaks one promise is refused, and the fault says which.
func TestCheckRefuses(t *testing.T) {
	if p, s := gangs(); p.Check(s) != nil {
		t.Fatal(p.Check(s))
	}
	for _, test := range []struct {
		name  string
		spoil func(p *packer.Problem, s *packer.Solution)
		want  string
	}{
		{"alone and too large", func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].Memory = 9 * profile.GiB }, "headroom leaves"},
		{"alone and too slow", func(p *packer.Problem, s *packer.Solution) {
			p.Model, p.Tasks[1].MinSpeed, s.Sets[1].Speeds[0] = packtest.Even{0.8}, 0.9, 0.8
		}, "its limit is"},
		{"one GPU for two gangs", func(_ *packer.Problem, s *packer.Solution) { s.Sets[1].Gang[0] = 2 }, `GPU "c" of the gang is taken`},
		{"a set on a gang's GPU", func(_ *packer.Problem, s *packer.Solution) { s.Sets[0].Gang[0] = 1 }, `GPU "b" is taken by a gang`},
		{"a gang on a resident's GPU", func(p *packer.Problem, s *packer.Solution) {
			p.GPUs[2].Residents = []packer.Task{{ID: "r"}}
		}, `GPU "c" of the gang is taken or unlike`},
		{"a gang out of order", func(p *packer.Problem, s *packer.Solution) {
			p.Tasks[0].GPUs, p.Tasks = 3, p.Tasks[:1]
			s.Sets, s.Throughput = s.Sets[:1], 1
			s.Sets[0].Gang = []int{3, 2}
		}, "want ascending indices above"},
		{"company for one that must be alone", func(p *packer.Problem, s *packer.Solution) {
			p.Tasks[1].Alone = true
			s.Sets = []packer.Set{{GPU: 0, Gang: []int{1}, Tasks: []int{0, 1}, Speeds: []float64{0.9, 0.9}, Value: 1.8}}
			s.Throughput = 1.8
		}, `"y" must be alone`},
		{"two where one is the most", func(p *packer.Problem, s *packer.Solution) {
			p.Limits.MaxSet = 1
			s.Sets = []packer.Set{{GPU: 0, Gang: []int{1}, Tasks: []int{0, 1}, Speeds: []float64{0.9, 0.9}, Value: 1.8}}
			s.Throughput = 1.8
		}, "2 members; MaxSet is 1"},
		{"half a gang", func(_ *packer.Problem, s *packer.Solution) { s.Sets[0].Gang = nil }, "needs 2"},
		{"shared by what the GPU has not", func(p *packer.Problem, s *packer.Solution) {
			s.Sets = []packer.Set{{GPU: 0, Gang: []int{1}, Tasks: []int{0, 1}, Mechanism: profile.MPS, Speeds: []float64{0.9, 0.9}, Value: 1.8}}
			s.Throughput = 1.8
		}, "does not allow sharing by"},
	} {
		p, s := gangs()
		test.spoil(p, s)
		if err := p.Check(s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// shared is a GPU with a resident that a task joins, one without anybody, one with a resident alone, and a task that waits.
func shared() (*packer.Problem, *packer.Solution) {
	p := &packer.Problem{Model: packtest.Even{0.9, 0.9}, Limits: packer.Limits{MaxSet: 2, Headroom: profile.Some(0.0)}}
	for _, id := range []string{"a", "b", "c"} {
		p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: 8 * profile.GiB, Labels: []string{"fast"}})
	}
	p.GPUs[0].Residents = []packer.Task{{ID: "r", Memory: profile.GiB, Labels: []string{"old"}}}
	p.GPUs[2].Residents = []packer.Task{{ID: "q", Memory: profile.GiB}}
	p.Tasks = []packer.Task{
		{ID: "x", Memory: profile.GiB, MinSpeed: 0.9, On: []string{"fast"}, Avoid: []string{"new"}, Only: []string{"old"}, Labels: []string{"mine"}},
		{ID: "y", Memory: 9 * profile.GiB},
	}
	return p, &packer.Solution{Throughput: 2.7, Bound: 3, Reasons: []packer.Reason{{Task: 1}}, Sets: []packer.Set{
		{GPU: 0, Tasks: []int{0}, Mechanism: profile.TimeSlice, Speeds: []float64{0.9, 0.9}, Value: 1.8},
		{GPU: 2, Mechanism: profile.Exclusive, Speeds: []float64{0.9}, Value: 0.9},
	}}
}

// TestCheckRefusesShared: each promise to those who share, to residents and to those who wait is looked at.
func TestCheckRefusesShared(t *testing.T) {
	if p, s := shared(); p.Check(s) != nil {
		t.Fatal(p.Check(s))
	}
	for _, test := range []struct {
		name  string
		spoil func(p *packer.Problem, s *packer.Solution)
		want  string
	}{
		{"residents of the first GPU left out", func(_ *packer.Problem, s *packer.Solution) { s.Sets, s.Throughput = s.Sets[1:], 0.9 }, `GPU "a" has 1 residents and no set`},
		{"residents of the last GPU left out", func(_ *packer.Problem, s *packer.Solution) { s.Sets, s.Throughput = s.Sets[:1], 1.8 }, `GPU "c" has 1 residents and no set`},
		{"residents between left out", func(p *packer.Problem, _ *packer.Solution) { p.GPUs[1].Residents = []packer.Task{{ID: "s"}} }, `GPU "b" has 1 residents and no set`},
		{"residents behind the last set left out", func(p *packer.Problem, s *packer.Solution) {
			p.GPUs[1].Residents, p.GPUs[2].Residents = p.GPUs[2].Residents, nil
			s.Sets, s.Throughput = s.Sets[:1], 1.8
		}, `GPU "b" has 1 residents and no set`},
		{"shunned", func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].Only, p.Tasks[0].Avoid = nil, []string{"old"} }, `"x" does not accept the labels ["old"] of "r"`},
		{"shunned by the resident", func(p *packer.Problem, _ *packer.Solution) { p.GPUs[0].Residents[0].Avoid = []string{"mine"} }, `"r" does not accept the labels ["mine"] of "x"`},
		{"not liked", func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].Only = []string{"other"} }, `"x" does not accept the labels`},
		{"liked and shunned", func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].Avoid = []string{"old"} }, `"x" does not accept the labels`},
		{"a label that the GPU has not", func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].On = []string{"fast", "near"} }, `asks for label "near"`},
		{"one GPU beside two", func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].GPUs = 2 }, `"x" needs 2 GPUs and "r" 1; gangs share all or none`},
		{"too slow by a little", func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].MinSpeed = 0.901 }, "its limit is 0.901"},
		{"too little gain beside residents", func(p *packer.Problem, _ *packer.Solution) { p.Limits.MinGain = 1.2 }, "without company its best member or resident has 0.9"},
		{"too little gain for one just fast enough alone", func(p *packer.Problem, s *packer.Solution) {
			p.Limits.MinGain, p.GPUs[0].Residents = 1.2, nil
			p.Tasks[0].Only, p.Tasks[1].Memory, p.Tasks[1].MinSpeed = nil, profile.GiB, 0.9
			s.Sets[0].Tasks, s.Reasons = []int{0, 1}, nil
		}, "without company its best member or resident has 0.9"},
		{"a reason for no task", func(_ *packer.Problem, s *packer.Solution) { s.Reasons = append(s.Reasons, packer.Reason{Task: -1}) }, "Reasons[1]: no task -1"},
		{"a reason for one beyond", func(_ *packer.Problem, s *packer.Solution) { s.Reasons = append(s.Reasons, packer.Reason{Task: 2}) }, "Reasons[1]: no task 2"},
		{"no reason", func(_ *packer.Problem, s *packer.Solution) { s.Reasons = nil }, `task "y" is in no set and has no reason`},
		{"a reason for a placed one", func(_ *packer.Problem, s *packer.Solution) { s.Reasons = append(s.Reasons, packer.Reason{Task: 0}) }, "Placed is false"},
		{"a speed of its own", func(_ *packer.Problem, s *packer.Solution) { s.Sets[0].Speeds[1] = 0.95 }, "the model says 0.9"},
		{"a value of its own", func(_ *packer.Problem, s *packer.Solution) { s.Sets[1].Value, s.Throughput = 1, 2.8 }, "value is 1"},
		{"home left out", func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].Home, p.Tasks[0].MoveCost = "a", 0.1 }, "and MoveCost at home, sum to 1.9"},
		{"a task that there is not", func(_ *packer.Problem, s *packer.Solution) { s.Sets[0].Tasks[0] = 2 }, "want ascending indices below 2"},
		{"a value without the pace", func(p *packer.Problem, _ *packer.Solution) {
			p.Model = packtest.PaceTable{"fast": 2}
		}, "weight times pace times speed sum to"},
		{"another sum", func(_ *packer.Problem, s *packer.Solution) { s.Throughput = 2.8 }, "the sets' values sum to"},
		{"more than the bound", func(_ *packer.Problem, s *packer.Solution) { s.Bound = 2.6 }, "exceeds Bound"},
		{"a task twice", func(p *packer.Problem, s *packer.Solution) {
			p.Tasks[0].Only = nil
			s.Sets[1] = packer.Set{GPU: 2, Tasks: []int{0}, Mechanism: profile.TimeSlice, Speeds: []float64{0.9, 0.9}, Value: 1.8}
			s.Throughput, s.Bound = 3.6, 4
		}, "is already in another set"},
		{"more than the memory", func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].Memory = 7*profile.GiB + profile.MiB }, "headroom leaves"},
		{"more than headroom leaves", func(p *packer.Problem, _ *packer.Solution) {
			p.Tasks[0].Memory, p.Limits.Headroom = 7*profile.GiB, profile.Some(0.01)
		}, "headroom leaves"},
		{"shared by what the GPU has not", func(_ *packer.Problem, s *packer.Solution) { s.Sets[0].Mechanism = profile.MPS }, "does not allow sharing by"},
		{"one task by sharing", func(p *packer.Problem, s *packer.Solution) {
			p.Tasks[1].Memory, p.GPUs[2].Residents, s.Reasons = profile.GiB, nil, nil
			s.Sets[1].Tasks, s.Sets[1].Mechanism = []int{1}, profile.TimeSlice
		}, "want exclusive"},
		{"two GPUs of one name", func(p *packer.Problem, _ *packer.Solution) { p.GPUs[1].ID = "a" }, "GPUs need distinct IDs"},
		{"residents of two widths", func(p *packer.Problem, _ *packer.Solution) {
			p.GPUs[0].Residents = append(p.GPUs[0].Residents, packer.Task{ID: "s", GPUs: 2})
		}, "gangs share all their GPUs or none"},
	} {
		p, s := shared()
		test.spoil(p, s)
		if err := p.Check(s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	p, s := shared()
	p.Tasks[0].Memory = 7 * profile.GiB // with the resident's all that there is
	if err := p.Check(s); err != nil {
		t.Errorf("memory to the last byte: %v", err)
	}
}

// ways runs each task of a set at the speed of the mechanism: a set of several by none would be the fastest.
type ways struct{}

func (ways) Speeds(set []*packer.Task, _ *packer.GPU, mech profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = map[profile.Mechanism]float64{profile.TimeSlice: 0.5, profile.MPS: 0.6, profile.Exclusive: float64(1 + 4*(len(set)-1))}[mech]
	}
	return nil
}

// TestCheckUndisturbed: residents lose what they have without company: one alone, several by what the GPU allows.
func TestCheckUndisturbed(t *testing.T) {
	for _, test := range []struct {
		residents  int
		mechanisms []profile.Mechanism
		minGain    float64
		want       string
	}{
		{1, []profile.Mechanism{profile.TimeSlice}, 0, ""},
		{1, []profile.Mechanism{profile.TimeSlice}, 0.1, "best member or resident has 1, so MinGain asks for 1.1"},
		{2, []profile.Mechanism{profile.Exclusive, profile.TimeSlice}, 0.5, ""},
		{2, []profile.Mechanism{profile.Exclusive, profile.TimeSlice}, 0.51, "best member or resident has 1, so"},
		{2, []profile.Mechanism{profile.TimeSlice, profile.MPS}, 0.25, ""},
		{2, []profile.Mechanism{profile.TimeSlice, profile.MPS}, 0.26, "best member or resident has 1.2, so"},
	} {
		p := &packer.Problem{
			Model: ways{}, Limits: packer.Limits{MaxSet: 3, Headroom: profile.Some(0.0), MinGain: test.minGain}, Tasks: []packer.Task{{ID: "x"}},
			GPUs: []packer.GPU{{ID: "a", Memory: profile.GiB, Mechanisms: test.mechanisms}},
		}
		set := packer.Set{Tasks: []int{0}, Mechanism: profile.TimeSlice, Speeds: []float64{0.5}, Value: 0.5 * float64(1+test.residents)}
		for i := range test.residents {
			p.GPUs[0].Residents = append(p.GPUs[0].Residents, packer.Task{ID: fmt.Sprint("r", i)})
			set.Speeds = append(set.Speeds, 0.5)
		}
		err := p.Check(&packer.Solution{Throughput: set.Value, Bound: 9, Sets: []packer.Set{set}})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d residents by %v, gain of %v: %v, want %q", test.residents, test.mechanisms, test.minGain, err, test.want)
		}
	}
}

// halves runs every task at full speed on its slice, and at none without.
type halves struct{ packtest.Even }

func (halves) SliceSpeeds(_ *packer.Task, _ *packer.GPU, dst []float64) error {
	for i := range dst {
		dst[i] = 1
	}
	return nil
}

// TestOneWayToCut: a GPU that can be cut in one way only is cut, for tasks that just fit.
func TestOneWayToCut(t *testing.T) {
	kind := &profile.GPUModel{Name: "two halves", Memory: 8 * profile.GiB, MIG: []profile.MIGProfile{{Name: "half", Compute: 1, Size: 1, Memory: 4 * profile.GiB, Starts: []int{0, 1}}}}
	p := &packer.Problem{
		Model: halves{packtest.Even{0.1}}, Limits: packer.Limits{MaxSet: 2, Headroom: profile.Some(0.0)},
		Tasks: []packer.Task{{ID: "x", Memory: 4 * profile.GiB}, {ID: "y", Memory: 4 * profile.GiB}},
		GPUs:  []packer.GPU{{ID: "g", Type: kind, Memory: 8 * profile.GiB, Mechanisms: []profile.Mechanism{profile.MIG}}},
	}
	s := packtest.Solve(t, solve.Matching{}, p)
	if len(s.Sets) != 1 || len(s.Sets[0].Instances) != 2 || s.Throughput != 2 {
		t.Errorf("%+v, want two instances with a task each", s.Sets)
	}
}

// TestSharing: repeats and order of what a GPU is listed with change nothing.
func TestSharing(t *testing.T) {
	listed := packer.GPU{ID: "g", Memory: profile.GiB, Mechanisms: []profile.Mechanism{profile.MPS, profile.Exclusive, profile.TimeSlice, profile.MPS}}
	plain := packer.GPU{ID: "h", Memory: profile.GiB, Mechanisms: []profile.Mechanism{profile.TimeSlice, profile.MPS}}
	if got := listed.Sharing(); fmt.Sprint(got) != fmt.Sprint(plain.Sharing()) {
		t.Errorf("%v is shared by %v, want by %v", listed.Mechanisms, got, plain.Sharing())
	}
	if !listed.Alike(&plain) {
		t.Error("GPUs are told apart by how their mechanisms are listed")
	}
}

// TestPaceEnds: paces reach from 1/4096 to 4096, both included.
func TestPaceEnds(t *testing.T) {
	const most = 4096
	for pace, fine := range map[float64]bool{1.0 / most: true, most: true, 0.999 / most: false, 1.001 * most: false} {
		m := packtest.PaceTable{"there": pace}
		got, err := packer.AskPace(m, &packer.Task{ID: "t"}, &packer.GPU{ID: "g", Labels: []string{"there"}})
		if (err == nil) != fine || fine && got != pace {
			t.Errorf("pace %v: %v, %v; fine is %v", pace, got, err, fine)
		}
	}
}

// askedPaces counts the questions for paces.
type askedPaces struct {
	packer.Model
	asked *int
}

func (a askedPaces) Pace(*packer.Task, *packer.GPU) float64 { *a.asked++; return 1 }

// TestPaceOfCopiesIsAskedOnce: a thousand tasks of one kind are one question for each
// kind of GPU.
func TestPaceOfCopiesIsAskedOnce(t *testing.T) {
	asked := 0
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: askedPaces{packtest.Even{1, 0.9}, &asked}, GPUs: []packer.GPU{{ID: "a", Memory: profile.GiB}, {ID: "b", Memory: 2 * profile.GiB}}}
	for i := range 1000 {
		p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprint("t", i), Kind: "k"})
	}
	if _, err := packer.Compile(p); err != nil {
		t.Fatal(err)
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}

// TestReasonNamesTheNearestPartner: of partners with whom sharing gains too little, a
// reason names the one with whom least is missing.
func TestReasonNamesTheNearestPartner(t *testing.T) {
	for _, order := range [][]string{{"bad", "good"}, {"good", "bad"}} {
		p := &packer.Problem{
			Limits: packer.Limits{MaxSet: 2},
			Model:  packtest.Duo{"tgood": 0.45, "tbad": 0.2}, Tasks: []packer.Task{{ID: "t", Weight: 3}},
			GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}, {ID: "h", Memory: profile.GiB}, {ID: "i", Memory: profile.GiB}},
		}
		for _, id := range order {
			p.Tasks = append(p.Tasks, packer.Task{ID: id, Weight: 3})
		}
		s, err := solve.Matching{}.Pack(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Reasons) == 0 || s.Reasons[0].Code != packer.NoGain || s.Reasons[0].Partner != "good" {
			t.Errorf("with %v: %+v, want no gain with good", order, s.Reasons)
		}
	}
}
