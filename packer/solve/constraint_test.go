package solve

import (
	"context"
	"math"
	"strings"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

func TestConstraintReasons(t *testing.T) {
	heavy := func(task packer.Task) packer.Task {
		task.Weight = 2
		return task
	}
	for _, test := range []struct {
		name  string
		tasks []packer.Task
		gpu   packer.GPU
		want  packer.Reason
		text  string
	}{
		{
			"avoids",
			[]packer.Task{heavy(packer.Task{ID: "a", Labels: []string{"team-a"}}), {ID: "b", Avoid: []string{"team-a"}}},
			packer.GPU{},
			packer.Reason{Code: packer.GPUsTaken, Sharing: packer.Incompatible, Partner: "a"},
			"do not accept each other's labels",
		},
		{
			"only its own",
			[]packer.Task{heavy(packer.Task{ID: "a", Only: []string{"team-a"}}), {ID: "b"}},
			packer.GPU{},
			packer.Reason{Code: packer.GPUsTaken, Sharing: packer.Incompatible, Partner: "a"},
			"",
		},
		{
			"wrong GPU",
			[]packer.Task{heavy(packer.Task{ID: "a"}), {ID: "b", On: []string{"A100"}}},
			packer.GPU{Labels: []string{"rack7"}},
			packer.Reason{Code: packer.WrongGPU},
			"no GPU carries all the labels that it asks for",
		},
		{
			"gang of another size",
			[]packer.Task{heavy(packer.Task{ID: "a"}), {ID: "b", GPUs: 2}},
			packer.GPU{},
			packer.Reason{Code: packer.TooFewGPUs},
			"1 more would run it",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.gpu.ID, test.gpu.Memory = "g", profile.GiB
			p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Tasks: test.tasks, GPUs: []packer.GPU{test.gpu}, Model: packtest.Even{1, 0.9}}
			for _, m := range methods {
				s := packtest.Solve(t, m, p)
				r := s.Reasons[len(s.Reasons)-1]
				if r.ID != "b" || r.Code != test.want.Code || r.Sharing != test.want.Sharing || r.Partner != test.want.Partner {
					t.Errorf("%T: %+v", m, r)
				}
				if !strings.Contains(r.String(), test.text) {
					t.Errorf("%T: %q does not say %q", m, r, test.text)
				}
			}
		})
	}
}

func TestCheckFindsBrokenConstraints(t *testing.T) {
	type spoil func(p *packer.Problem, s *packer.Solution)
	for name, test := range map[string]struct {
		do   spoil
		want string
	}{
		"avoid": {func(p *packer.Problem, _ *packer.Solution) {
			p.Tasks[0].Avoid, p.Tasks[1].Labels = []string{"x"}, []string{"x"}
		}, `"a" does not accept`},
		"only":         {func(p *packer.Problem, _ *packer.Solution) { p.Tasks[1].Only = []string{"x"} }, `"b" does not accept`},
		"on":           {func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].On = []string{"x"} }, `"a" asks for label "x"`},
		"too few":      {func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].GPUs, p.Tasks[1].GPUs = 2, 2 }, "1 GPUs; \"a\" needs 2"},
		"other size":   {func(p *packer.Problem, _ *packer.Solution) { p.Tasks[1].GPUs = 2 }, "gangs share all or none"},
		"too many":     {func(_ *packer.Problem, s *packer.Solution) { s.Sets[0].Gang = []int{1} }, "2 GPUs"},
		"gang's index": {func(_ *packer.Problem, s *packer.Solution) { s.Sets[0].Gang = []int{0} }, "want ascending indices"},
		"saved":        {func(p *packer.Problem, _ *packer.Solution) { p.Tasks[0].Home, p.Tasks[0].MoveCost = "g", 1 }, "MoveCost at home"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Tasks: []packer.Task{{ID: "a"}, {ID: "b"}}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}}, Model: packtest.Even{1, 0.9}}
			s := packtest.Solve(t, Matching{}, p)
			test.do(p, s)
			if err := p.Check(s); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestValidateConstraints(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(p *packer.Problem)
		want  string
	}{
		{"unknown home", func(p *packer.Problem) { p.Tasks[0].Home = "x" }, `Home is "x"; no GPU has that ID`},
		{"resident's home", func(p *packer.Problem) { p.GPUs[0].Residents[0].Home = "g" }, "a resident stays"},
		{"move cost", func(p *packer.Problem) { p.Tasks[0].MoveCost = math.NaN() }, "MoveCost is NaN"},
		{"negative gang", func(p *packer.Problem) { p.Tasks[0].GPUs = -1 }, "GPUs is -1"},
		{"huge gang", func(p *packer.Problem) { p.Tasks[0].GPUs = math.MaxInt }, "GPUs is 9223372036854775807"},
		{"gang with a home", func(p *packer.Problem) { p.Tasks[0].GPUs, p.Tasks[0].Home = 2, "h" }, "no Home for more than one"},
		{"mixed residents", func(p *packer.Problem) {
			p.GPUs[0].Residents = append(p.GPUs[0].Residents, packer.Task{ID: "s", GPUs: 2})
		}, "gangs share all their GPUs or none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := small()
			test.spoil(p)
			if err := p.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := (Auto{}).Pack(context.Background(), p); err == nil {
				t.Error("Auto takes it")
			}
		})
	}
}

// TestTypeNameIsALabel: the name of a GPU's type need not be said twice.
func TestTypeNameIsALabel(t *testing.T) {
	p := &packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Tasks:  []packer.Task{{ID: "a", On: []string{"T4"}}, {ID: "b", On: []string{"A100", "rack7"}}},
		GPUs: []packer.GPU{
			{ID: "g", Type: &profile.GPUModel{Name: "T4"}, Memory: profile.GiB},
			{ID: "h", Type: &profile.GPUModel{Name: "A100"}, Memory: profile.GiB, Labels: []string{"rack7"}},
		},
		Model: packtest.Even{1, 0.9},
	}
	for _, m := range methods {
		s := packtest.Solve(t, m, p)
		if len(s.Sets) != 2 || s.Sets[0].Tasks[0] != 0 || s.Sets[1].Tasks[0] != 1 {
			t.Errorf("%T: %+v", m, s.Sets)
		}
	}
}
