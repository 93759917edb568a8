package solve

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

var methods = []packer.Method{Greedy{}, Matching{}, LocalSearch{Steps: 50}, ColumnGen{Steps: 50}, Auto{}}

// small is a valid problem that tests change.
func small() *packer.Problem {
	return &packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Tasks:  []packer.Task{{ID: "a", Memory: profile.GiB}, {ID: "b", Memory: profile.GiB}, {ID: "c", Memory: profile.GiB}},
		GPUs:   []packer.GPU{{ID: "g", Memory: 10 * profile.GiB, Residents: []packer.Task{{ID: "r"}}}, {ID: "h", Memory: 10 * profile.GiB}},
		Model:  packtest.HashModel{Seed: 1, Steps: 100, Low: 0.5},
	}
}

func TestValidate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		name  string
		spoil func(p *packer.Problem)
		want  string // part of the message
	}{
		{"good", func(*packer.Problem) {}, ""},
		{"no model", func(p *packer.Problem) { p.Model = nil }, "Model is nil"},
		{"empty ID", func(p *packer.Problem) { p.Tasks[1].ID = "" }, "Tasks[1]: ID is empty"},
		{"same ID", func(p *packer.Problem) { p.Tasks[2].ID = "a" }, `Tasks[2]: ID "a" is also that of Tasks[0]`},
		{"resident's ID", func(p *packer.Problem) { p.Tasks[2].ID = "r" }, `GPUs[0].Residents[0]: ID "r" is also that of Tasks[2]`},
		{"GPU ID", func(p *packer.Problem) { p.GPUs[1].ID = "g" }, `GPUs[1]: ID "g" is also that of GPUs[0]`},
		{"empty GPU ID", func(p *packer.Problem) { p.GPUs[1].ID = "" }, "GPUs[1]: ID is empty"},
		{"negative memory", func(p *packer.Problem) { p.Tasks[0].Memory = -1 }, `Tasks[0] ("a"): Memory is -1`},
		{"huge memory", func(p *packer.Problem) { p.Tasks[0].Memory = math.MaxInt64 }, "Memory is 9223372036854775807"},
		{"negative weight", func(p *packer.Problem) { p.Tasks[0].Weight = -1 }, "Weight is -1"},
		{"NaN weight", func(p *packer.Problem) { p.Tasks[0].Weight = nan }, "Weight is NaN"},
		{"infinite weight", func(p *packer.Problem) { p.Tasks[0].Weight = inf }, "Weight is +Inf"},
		{"weight 1e300", func(p *packer.Problem) { p.Tasks[0].Weight = 1e300 }, "want 0 to 1e+09"},
		{"NaN speed limit", func(p *packer.Problem) { p.Tasks[0].MinSpeed = nan }, "MinSpeed is NaN"},
		{"speed limit", func(p *packer.Problem) { p.Tasks[0].MinSpeed = 1.5 }, "MinSpeed is 1.5"},
		{"no GPU memory", func(p *packer.Problem) { p.GPUs[1].Memory = 0 }, `GPUs[1] ("h"): memory is 0`},
		{"negative GPU memory", func(p *packer.Problem) { p.GPUs[1].Memory = -5 }, "memory is -5"},
		{"mechanism", func(p *packer.Problem) { p.GPUs[1].Mechanisms = []profile.Mechanism{9} }, "Mechanisms[0] is 9"},
		{"headroom", func(p *packer.Problem) { p.Limits.Headroom = profile.Some(1.0) }, "Headroom is 1"},
		{"NaN headroom", func(p *packer.Problem) { p.Limits.Headroom = profile.Some(nan) }, "Headroom is NaN"},
		{"set size", func(p *packer.Problem) { p.Limits.MaxSet = -1 }, "MaxSet is -1"},
		{"gain", func(p *packer.Problem) { p.Limits.MinGain = nan }, "MinGain is NaN"},
		{"objective", func(p *packer.Problem) { p.Objective = 7 }, "Objective 7"},
		{"two faults", func(p *packer.Problem) { p.Tasks[0].ID, p.GPUs[0].ID = "", "" }, "GPUs[0]: ID is empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := small()
			test.spoil(p)
			err := p.Validate()
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			for _, m := range methods {
				if s, err := m.Pack(context.Background(), p); err == nil || s != nil {
					t.Errorf("%T: got %v, %v, want an error", m, s, err)
				}
			}
			if _, err := (&packer.Certificate{}).Verify(context.Background(), p); err == nil {
				t.Error("Verify accepts it")
			}
			if err := p.Check(&packer.Solution{}); err == nil {
				t.Error("Check accepts it")
			}
		})
	}
	if err := (*packer.Problem)(nil).Validate(); err == nil {
		t.Error("a nil problem is valid")
	}
	for _, m := range methods {
		if s, err := m.Pack(t.Context(), nil); s != nil || err == nil {
			t.Errorf("%T packs a nil problem: %v, %v", m, s, err)
		}
	}
	if err := small().Check(nil); err == nil {
		t.Error("a nil solution is feasible")
	}
}

func TestValidateCountsManyFaults(t *testing.T) {
	p := small()
	p.Tasks = make([]packer.Task, 100)
	err := p.Validate()
	if err == nil || !strings.Contains(err.Error(), "and 80 more faults") {
		t.Fatal(err)
	}
}

func TestBrokenModel(t *testing.T) {
	for _, test := range []struct {
		name string
		m    brokenModel
		want string
	}{
		{"error", brokenModel{Fail: true}, "no data"},
		{"NaN", brokenModel{Speed: math.NaN()}, "NaN"},
		{"infinite", brokenModel{Speed: math.Inf(1)}, "infinite"},
		{"negative", brokenModel{Speed: -0.5}, "negative"},
		{"huge", brokenModel{Speed: 1e300}, "above 16"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := small()
			test.m.A, test.m.B = "b", "c"
			test.m.HashModel = packtest.HashModel{Seed: 1, Steps: 100, Low: 0.5}
			p.Model = test.m
			for _, model := range []packer.Model{test.m, brokenBatch{test.m}} {
				p.Model = model
				for _, m := range []packer.Method{Matching{}, Auto{}} {
					s, err := m.Pack(context.Background(), p)
					if s != nil || err == nil {
						t.Fatalf("%T: got %v, %v, want an error", m, s, err)
					}
					for _, part := range []string{`"b" with "c"`, `GPU "h"`, test.want} {
						if !strings.Contains(err.Error(), part) {
							t.Errorf("%T: %q does not say %s", m, err, part)
						}
					}
					if test.m.Fail && !errors.Is(err, errBroken) {
						t.Errorf("%T: the model's error is not wrapped: %v", m, err)
					}
				}
			}
			p.GPUs[1].Residents = []packer.Task{{ID: "s"}}
			test.m.A, test.m.B = "s", "b"
			p.Model = test.m
			for _, m := range methods {
				if _, err := m.Pack(context.Background(), p); err == nil || !strings.Contains(err.Error(), `"s" with "b"`) {
					t.Errorf("%T: got %v, want an error naming the pair", m, err)
				}
			}
		})
	}
}

// brokenBatch is brokenModel as a BatchModel that fails for a whole row.
type brokenBatch struct{ brokenModel }

func (m brokenBatch) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) error {
	var dst [2]float64
	for i, o := range partners {
		if err := m.Speeds([]*packer.Task{task, o}, gpu, mech, dst[:]); err != nil {
			return err
		}
		own[i], other[i] = dst[0], dst[1]
	}
	return nil
}

func TestEmpty(t *testing.T) {
	for _, m := range methods {
		p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.HashModel{}}
		if s := packtest.Solve(t, m, p); len(s.Sets) != 0 || len(s.Reasons) != 0 || s.Throughput != 0 {
			t.Errorf("%T: nothing to do, got %+v", m, s)
		}
		p.Tasks = small().Tasks
		s := packtest.Solve(t, m, p)
		if len(s.Sets) != 0 || len(s.Reasons) != 3 || s.Reasons[0].Code != packer.NoGPU {
			t.Errorf("%T: no GPUs, got %+v", m, s)
		}
		p = small()
		p.Tasks = nil
		if s := packtest.Solve(t, m, p); len(s.Sets) != 1 || s.Throughput != 1 {
			t.Errorf("%T: only a resident, got %+v", m, s)
		}
	}
}

func TestSolutionJSON(t *testing.T) {
	p := small()
	for _, m := range methods {
		want := packtest.Solve(t, m, p)
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got packer.Solution
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Errorf("%T (-written +read):\n%s", m, diff)
		}
		if err := p.Check(&got); err != nil {
			t.Error(err)
		}
	}
}

func TestCertificateRefusesWhatIsNone(t *testing.T) {
	p := small()
	p.Tasks = p.Tasks[:2]
	for _, test := range []struct {
		name string
		c    *packer.Certificate
	}{
		{"nil", nil},
		{"too short", &packer.Certificate{U: []float64{1}}},
		{"negative", &packer.Certificate{U: []float64{1, -1}}},
		{"NaN", &packer.Certificate{U: []float64{1, math.NaN()}}},
		{"infinite", &packer.Certificate{U: []float64{1, math.Inf(1)}}},
		{"huge", &packer.Certificate{U: []float64{1, 1e300}}},
		{"odd NaN", &packer.Certificate{U: []float64{1, 1}, Odd: []packer.OddSet{{Tasks: []int{0, 1}, Z: math.NaN()}}}},
		{"odd index", &packer.Certificate{U: []float64{1, 1}, Odd: []packer.OddSet{{Tasks: []int{0, 2}}}}},
		{"odd repeats", &packer.Certificate{U: []float64{1, 1}, Odd: []packer.OddSet{{Tasks: []int{0, 0}}}}},
		{"odd negative index", &packer.Certificate{U: []float64{1, 1}, Odd: []packer.OddSet{{GPUs: []int{-1}}}}},
		{"odd free GPU", &packer.Certificate{U: []float64{1, 1}, Odd: []packer.OddSet{{GPUs: []int{1}}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if bound, err := test.c.Verify(context.Background(), p); err == nil {
				t.Errorf("got %v, want an error", bound)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (&packer.Certificate{U: []float64{1, 1}}).Verify(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestMatchingRefusesLargerSets(t *testing.T) {
	p := small()
	p.Limits.MaxSet = 3
	if _, err := (Matching{}).Pack(context.Background(), p); err == nil || !strings.Contains(err.Error(), "MaxSet is 3") {
		t.Errorf("got %v", err)
	}
	p.Limits.MaxSet = 2
	if _, err := (Matching{Tol: math.NaN()}).Pack(context.Background(), p); err == nil || !strings.Contains(err.Error(), "Tol is NaN") {
		t.Errorf("got %v", err)
	}
}

// TestMatchingSizes: up to 16384 tasks are not too many for one kind of GPU, here with a
// fault that is found later; one more is, before anything else is looked at, unless nobody shares or
// no GPU is free.
func TestMatchingSizes(t *testing.T) {
	p := ofKinds(1<<14, 1, 2, true)
	p.Model = nil
	if _, err := (Matching{}).Pack(t.Context(), p); err == nil || !strings.Contains(err.Error(), "Model is nil") {
		t.Errorf("%d tasks: %v", len(p.Tasks), err)
	}
	p.Tasks = append(p.Tasks, packer.Task{ID: "more"})
	if _, err := (Matching{}).Pack(t.Context(), p); err == nil || !strings.Contains(err.Error(), "need a table") {
		t.Errorf("%d tasks: %v", len(p.Tasks), err)
	}
	for _, q := range []*packer.Problem{ofKinds(len(p.Tasks), 1, 1, true), ofKinds(len(p.Tasks), 1, 2, false)} {
		q.Model = nil
		if _, err := (Matching{}).Pack(t.Context(), q); err == nil || !strings.Contains(err.Error(), "Model is nil") {
			t.Errorf("%d tasks without pairs: %v", len(q.Tasks), err)
		}
	}
}

// brokenModel fails for one pair.
type brokenModel struct {
	packtest.HashModel
	A, B  string
	Speed float64
	Fail  bool
}

// errBroken is what a brokenModel says.
var errBroken = errors.New("no data")

// Speeds implements packer.Model.
func (m brokenModel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	if err := m.HashModel.Speeds(set, gpu, mech, dst); err != nil {
		return err
	}
	if len(set) == 2 && (set[0].ID == m.A && set[1].ID == m.B || set[0].ID == m.B && set[1].ID == m.A) {
		if m.Fail {
			return errBroken
		}
		dst[0] = m.Speed
	}
	return nil
}
