package packer_test

import (
	"errors"
	"fmt"
	"math"
	rand "math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/mig"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// TestValidateAtTheLimits: numbers at the limits of their ranges are no faults, and those
// beyond are.
func TestValidateAtTheLimits(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(p *packer.Problem)
		fault string
	}{
		{"all at the limits", func(*packer.Problem) {}, ""},
		{"memory", func(p *packer.Problem) { p.Tasks[0].Memory++ }, "Memory is"},
		{"weight", func(p *packer.Problem) { p.Tasks[0].Weight *= 1.1 }, "Weight is"},
		{"speed", func(p *packer.Problem) { p.Tasks[0].MinSpeed += 0.1 }, "MinSpeed is"},
		{"move", func(p *packer.Problem) { p.Tasks[0].MoveCost += 0.1 }, "MoveCost is"},
		{"no speed", func(p *packer.Problem) { p.Tasks[1].MinSpeed = -0.1 }, "MinSpeed is"},
		{"no move", func(p *packer.Problem) { p.Tasks[1].MoveCost = -0.1 }, "MoveCost is"},
		{"GPUs", func(p *packer.Problem) { p.Tasks[2].GPUs++ }, "GPUs is"},
		{"GPU", func(p *packer.Problem) { p.GPUs[0].Memory++ }, "memory is"},
		{"together", func(p *packer.Problem) { p.Limits.Together++ }, "Together is"},
		{"set", func(p *packer.Problem) { p.Limits.MaxSet++ }, "MaxSet is"},
		{"gain", func(p *packer.Problem) { p.Limits.MinGain += 0.1 }, "MinGain is"},
		{"no gain", func(p *packer.Problem) { p.Limits.MinGain = -0.1 }, "MinGain is"},
		{"no model", func(p *packer.Problem) { p.Model = nil }, "Model is nil"},
		{"all headroom", func(p *packer.Problem) { p.Limits.Headroom = profile.Some(1.0) }, "Headroom is"},
		{"negative headroom", func(p *packer.Problem) { p.Limits.Headroom = profile.Some(-0.1) }, "Headroom is"},
		{"negative together", func(p *packer.Problem) { p.Limits.Together = -1 }, "Together is"},
		{"negative set", func(p *packer.Problem) { p.Limits.MaxSet = -1 }, "MaxSet is"},
		{"objective", func(p *packer.Problem) { p.Objective = 1 }, "Objective 1 is unknown"},
		{"no ID", func(p *packer.Problem) { p.Tasks[1].ID = "" }, "Tasks[1]: ID is empty"},
		{"an ID twice", func(p *packer.Problem) { p.Tasks[1].ID = "most" }, `Tasks[1]: ID "most" is also that of Tasks[0]`},
		{"a resident's ID", func(p *packer.Problem) { p.GPUs[0].Residents = []packer.Task{{ID: "most"}} }, `GPUs[0].Residents[0]: ID "most" is also that of Tasks[0]`},
		{"negative memory", func(p *packer.Problem) { p.Tasks[1].Memory = -1 }, "Memory is"},
		{"negative weight", func(p *packer.Problem) { p.Tasks[1].Weight = -1 }, "Weight is"},
		{"negative GPUs", func(p *packer.Problem) { p.Tasks[1].GPUs = -1 }, "GPUs is"},
		{"home of a gang", func(p *packer.Problem) { p.Tasks[2].Home = "g" }, "no Home for more than one"},
		{"home of a resident", func(p *packer.Problem) { p.GPUs[0].Residents = []packer.Task{{ID: "r", Home: "g"}} }, "a resident stays"},
		{"no home", func(p *packer.Problem) { p.Tasks[1].Home = "h" }, `Home is "h"; no GPU has that ID`},
		{"a resident's numbers", func(p *packer.Problem) { p.GPUs[0].Residents = []packer.Task{{ID: "r", MinSpeed: 2}} }, "MinSpeed is"},
		{"a GPU without ID", func(p *packer.Problem) { p.Tasks[0].Home, p.GPUs[0].ID = "", "" }, "GPUs[0]: ID is empty"},
		{"a GPU without memory", func(p *packer.Problem) { p.GPUs[0].Memory = 0 }, "memory is 0 bytes"},
		{"a mechanism", func(p *packer.Problem) { p.GPUs[0].Mechanisms = []profile.Mechanism{-1} }, "Mechanisms[0] is -1"},
		{"another", func(p *packer.Problem) {
			p.GPUs[0].Mechanisms = []profile.Mechanism{profile.Mechanism(profile.Mechanisms)}
		}, "no such mechanism"},
		{"instances of none", func(p *packer.Problem) { p.GPUs[0].Instances = make([]mig.Placement, 1) }, "Instances:"},
	} {
		p := &packer.Problem{
			Model:  packtest.Even{1},
			Limits: packer.Limits{MaxSet: 64, MinGain: 16, Together: 1 << 56, Headroom: profile.Some(0.0)},
			GPUs:   []packer.GPU{{ID: "g", Memory: 1 << 56}},
			Tasks: []packer.Task{
				{ID: "most", Memory: 1 << 56, Weight: packer.MaxWeight, MinSpeed: 1, Home: "g", MoveCost: packer.MaxMoveCost},
				{ID: "least"},
				{ID: "wide", GPUs: 1 << 16},
			},
		}
		test.spoil(p)
		if err := p.Validate(); (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %v, want %q", test.name, err, test.fault)
		}
		if test.fault != "" {
			continue
		}
		for i := range p.Tasks {
			if n := testing.AllocsPerRun(10, func() { _ = p.Tasks[i].Validate() }); n > 0 {
				t.Errorf("%s: %v allocations for a task without faults", p.Tasks[i].ID, n)
			}
		}
	}
	for faults, more := range map[int]string{20: "", 21: "and 1 more faults"} {
		err := (&packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.Even{1}, Tasks: make([]packer.Task, faults)}).Validate()
		if err == nil || strings.Contains(err.Error(), "more faults") != (more != "") || !strings.Contains(err.Error(), more) {
			t.Errorf("%d faults: %v", faults, err)
		}
	}
}

// TestAlikeLooksAtEveryField: tasks that differ in any field but ID, Kind, Weight and Home
// are not alike.
func TestAlikeLooksAtEveryField(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[packer.Task]()) {
		var a, b packer.Task
		to := reflect.ValueOf(&b).Elem().FieldByIndex(field.Index)
		switch to.Kind() {
		case reflect.String:
			to.SetString("x")
		case reflect.Bool:
			to.SetBool(true)
		case reflect.Int, reflect.Int64:
			to.SetInt(2)
		case reflect.Float64:
			to.SetFloat(0.5)
		case reflect.Slice:
			to.Set(reflect.ValueOf([]string{"x"}))
		case reflect.Pointer:
			to.Set(reflect.ValueOf(&profile.Profile{}))
		default:
			t.Fatalf("%s is a %v", field.Name, to.Kind())
		}
		free := map[string]bool{"ID": true, "Kind": true, "Weight": true, "Home": true}[field.Name]
		if got := a.Alike(&b); got != free || b.Alike(&a) != free || !b.Alike(&b) {
			t.Errorf("tasks that differ in %s: alike %v, want %v", field.Name, got, free)
		}
	}
}

// TestUnit: the unit is 2^-20 of the largest weight times pace that counts, rounded up to a
// power of two.
func TestUnit(t *testing.T) {
	slow := packer.GPU{ID: "g", Memory: profile.GiB, Labels: []string{"slow"}}
	slow.Residents = []packer.Task{{ID: "r", Weight: 2}}
	for _, test := range []struct {
		name string
		p    packer.Problem
		want float64
	}{
		{"nothing", packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.Even{1}}, 1},
		{"a task", packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.Even{1}, GPUs: []packer.GPU{{ID: "h", Memory: 1}}, Tasks: []packer.Task{{ID: "t", Weight: 5}}}, 8},
		{"a power of two", packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.Even{1}, GPUs: []packer.GPU{{ID: "h", Memory: 1}}, Tasks: []packer.Task{{ID: "t", Weight: 4}}}, 4},
		{"a slow resident", packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.PaceTable{"slow": 0.125}, GPUs: []packer.GPU{slow}}, 0.25},
		{"a resident", packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.Even{1}, GPUs: []packer.GPU{slow}}, 2},
	} {
		if got := test.p.Unit() * (1 << 20); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestCheckTogether: what members of a set need beyond their memory counts for each but
// the first, to the byte.
func TestCheckTogether(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		for over := range 2 {
			p := &packer.Problem{Model: packtest.Even{1}, Limits: packer.Limits{MaxSet: 3, Headroom: profile.Some(0.0), Together: 1000}}
			p.GPUs = []packer.GPU{{ID: "g", Memory: profile.Bytes(100*n + 1000*(n-1) - over)}}
			set := packer.Set{Mechanism: profile.TimeSlice}
			if n == 1 {
				set.Mechanism, p.GPUs[0].Memory = profile.Exclusive, 100
			}
			for i := range n {
				p.Tasks = append(p.Tasks, packer.Task{ID: strconv.Itoa(i), Memory: 100})
				set.Tasks, set.Speeds, set.Value = append(set.Tasks, i), append(set.Speeds, 1), set.Value+1
			}
			err := p.Check(&packer.Solution{Sets: []packer.Set{set}, Throughput: set.Value, Bound: set.Value})
			if refused := n > 1 && over > 0; (err != nil) != refused || refused && !strings.Contains(err.Error(), "beyond") {
				t.Errorf("%d tasks, %d bytes short: %v", n, over, err)
			}
		}
	}
}

// TestHomesOfCompiled: a task has the GPU of its home, and one without has none.
func TestHomesOfCompiled(t *testing.T) {
	d, err := packer.Compile(&packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Model:  packtest.Even{1}, GPUs: []packer.GPU{{ID: "g", Memory: 1}, {ID: "h", Memory: 1}},
		Tasks: []packer.Task{{ID: "a"}, {ID: "b", Home: "h"}, {ID: "c", Home: "g"}},
	})
	if err != nil || fmt.Sprint(d.Home) != "[-1 1 0]" {
		t.Errorf("homes %v, %v", d.Home, err)
	}
}

// TestNoReasonBesideResidents: a task that shares, if only with a resident, needs no reason.
func TestNoReasonBesideResidents(t *testing.T) {
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: packtest.Even{1, 0.9}, Tasks: []packer.Task{{ID: "t"}}}
	p.GPUs = []packer.GPU{{ID: "g", Memory: 1, Residents: []packer.Task{{ID: "r"}}}}
	if s := packtest.Solve(t, solve.Greedy{}, p); len(s.Sets[0].Tasks) != 1 || len(s.Reasons) != 0 {
		t.Errorf("sets %+v, reasons %+v", s.Sets, s.Reasons)
	}
}

// idle runs no task on the first kind of slice.
type idle struct{ packtest.Even }

func (idle) SliceSpeeds(_ *packer.Task, gpu *packer.GPU, dst []float64) error {
	for i := range dst {
		dst[i] = min(1, float64(i))
	}
	return nil
}

// TestNoSpeedOnASlice: a task may be too large for a kind of slice, which is a speed of 0.
func TestNoSpeedOnASlice(t *testing.T) {
	gpu, ok := profile.LookupGPU("A100-40GB")
	if !ok {
		t.Fatal("no A100")
	}
	p := &packer.Problem{Model: idle{packtest.Even{1}}, Limits: packer.Limits{MaxSet: 2}, Tasks: []packer.Task{{ID: "a"}, {ID: "b"}}}
	p.GPUs = []packer.GPU{{ID: "g", Type: &gpu, Mechanisms: []profile.Mechanism{profile.MIG}}}
	s := packtest.Solve(t, solve.ColumnGen{}, p)
	if len(s.Sets) != 1 || len(s.Sets[0].Instances) != 2 || s.Throughput != 2 {
		t.Errorf("%+v, want both tasks at full speed on %v", s.Sets, []mig.Placement{})
	}
}

// fitting is a model that fails if asked about a set which the limits forbid.
type fitting struct {
	packer.Model
	p *packer.Problem
}

var errForbidden = errors.New("the limits forbid this set")

func (m fitting) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	used := profile.Bytes(0)
	for _, t := range set {
		used += t.Memory
		if t.Alone && len(set) > 1 && len(set) > len(gpu.Residents) {
			return errForbidden
		}
	}
	if len(set) > len(gpu.Residents) && float64(used) > float64(gpu.Total())*(1-packer.DefaultHeadroom) {
		return errForbidden
	}
	return m.Model.Speeds(set, gpu, mech, dst)
}

// TestVerifyAsksForWhatFits: to prove a bound the model is asked about no set that memory or
// a member that must be alone rules out, with prices at which many sets are worth a look. At
// no prices the bound on one GPU is the best plan, however little some tasks weigh.
func TestVerifyAsksForWhatFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(163, 164))
	for n := range 100 {
		p := packtest.Draw(rng, packtest.DrawOptions{Tasks: 7, GPUs: 3, Kinds: 2, Residents: 1, MaxSet: 2 + rng.IntN(3)})
		one := n%2 == 0
		if one {
			p.GPUs = p.GPUs[:min(1, len(p.GPUs))]
		}
		c := &packer.Certificate{U: make([]float64, len(p.Tasks))}
		for i := range p.Tasks {
			switch {
			case !one:
				c.U[i] = math.Floor(4*rng.Float64()) / 4
			case rng.IntN(2) == 0:
				p.Tasks[i].Weight = 1e-9
			}
		}
		if n%4 == 0 {
			p.Model = packtest.Even{1}
		}
		best := packtest.SlowBest(p)
		p.Model = fitting{p.Model, p}
		bound, err := c.Verify(t.Context(), p)
		if err != nil || packtest.Units(p, bound) < best || one && packtest.Units(p, bound) > best {
			t.Fatalf("problem %d: %v, %v; the best plan has %d units", n, bound, err, best)
		}
	}
}
