package solve

import (
	"fmt"
	"math"
	rand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// sliceModel makes up speeds on instances: a task needs so much of a GPU.
type sliceModel struct{ packtest.HashModel }

func (m sliceModel) SliceSpeeds(t *packer.Task, gpu *packer.GPU, dst []float64) error {
	need := 0.1 + 0.9*m.Hash(t.ID, "need")
	for p, profile := range gpu.Type.MIG {
		dst[p] = min(1, float64(profile.Compute)/7/need)
	}
	return nil
}

// a100 is a GPU that can be cut up.
func a100(tb testing.TB, id string) packer.GPU {
	tb.Helper()
	model, ok := profile.LookupGPU("A100-40GB")
	if !ok {
		tb.Fatal("no A100")
	}
	return packer.GPU{ID: id, Type: &model, Mechanisms: []profile.Mechanism{profile.MIG}}
}

// slowCut tries every layout and every way to hand out its instances.
func slowCut(t *testing.T, p *packer.Problem, gpu *packer.GPU, tasks []*packer.Task) float64 {
	t.Helper()
	table, err := mig.New(gpu.Type)
	if err != nil {
		t.Fatal(err)
	}
	running := mig.Layout(slices.Clone(gpu.Instances))
	slices.SortFunc(running, func(a, b mig.Placement) int { return a.Start - b.Start })
	layouts, err := table.Reachable(running)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := p.Model.(packer.SliceModel)
	if !ok {
		t.Fatal("no SliceModel")
	}
	best := 0.0
	for _, l := range layouts {
		var try func(i, used int, value float64)
		try = func(i, used int, value float64) {
			if i == len(tasks) {
				best = max(best, value)
				return
			}
			speed := make([]float64, len(gpu.Type.MIG))
			if err := m.SliceSpeeds(tasks[i], gpu, speed); err != nil {
				t.Fatal(err)
			}
			for n, at := range l {
				room := 0.9 * float64(gpu.Type.MIG[at.Profile].Memory)
				if used>>n&1 == 0 && !slices.Contains(gpu.Instances, at) && float64(tasks[i].Memory) <= room && speed[at.Profile] >= tasks[i].MinSpeed {
					try(i+1, used|1<<n, value+tasks[i].EffectiveWeight()*speed[at.Profile])
				}
			}
		}
		try(0, 0, 0)
	}
	return best
}

func TestLayoutsAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	for range 60 {
		p := &packer.Problem{Model: sliceModel{packtest.HashModel{Seed: rng.Uint64(), Steps: 100, Low: 0.3}}, Limits: packer.Limits{MaxSet: 7}}
		gpu := a100(t, "g")
		if rng.IntN(2) == 0 {
			gpu.Residents = []packer.Task{{ID: "r", Memory: 4 * profile.GiB}}
			gpu.Instances = []mig.Placement{{Profile: 0, Start: rng.IntN(7)}}
		}
		p.GPUs = []packer.GPU{gpu}
		for i := range 1 + rng.IntN(3) {
			p.Tasks = append(p.Tasks, packer.Task{
				ID: fmt.Sprint("t", i), Memory: profile.Bytes(rng.IntN(12)) * profile.GiB,
				Weight: float64(1 + rng.IntN(3)), MinSpeed: rng.Float64() / 3,
			})
		}
		in := packtest.NewInstance(t, p)
		c := &in.Classes[0]
		set, tasks := slices.Clone(c.Residents), []*packer.Task(nil)
		for i, o := range in.Origin {
			set, tasks = append(set, int32(i)), append(tasks, &p.Tasks[o])
		}
		dst := make([]float64, len(set))
		if err := instance.NewEvaluator(in).Ask(c, set, profile.MIG, dst); err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for i, task := range tasks {
			got += task.EffectiveWeight() * dst[len(c.Residents)+i]
		}
		if want := slowCut(t, p, &gpu, tasks); math.Abs(got-want) > 1e-9 {
			t.Fatalf("speeds %v are worth %v, want %v", dst, got, want)
		}
	}
}

// TestMethodsCutUp lets every method pack GPUs that can be cut up; Check looks at
// the layouts.
func TestMethodsCutUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	for range 4 {
		p := &packer.Problem{Model: sliceModel{packtest.HashModel{Seed: rng.Uint64(), Steps: 100, Low: 0.3}}, Limits: packer.Limits{MaxSet: 2}}
		occupied := a100(t, "h")
		occupied.Residents = []packer.Task{{ID: "r", Memory: 4 * profile.GiB}, {ID: "s", Memory: 15 * profile.GiB}}
		occupied.Instances = []mig.Placement{{Profile: 0, Start: 6}, {Profile: 3, Start: 0}}
		p.GPUs = []packer.GPU{a100(t, "g"), occupied, {ID: "old", Memory: 16 * profile.GiB}}
		p.GPUs[0].Mechanisms = []profile.Mechanism{profile.MPS, profile.MIG}
		for i := range 6 {
			p.Tasks = append(p.Tasks, packer.Task{ID: fmt.Sprint("t", i), Memory: profile.Bytes(1+rng.IntN(8)) * profile.GiB})
		}
		for _, m := range methods {
			packtest.Solve(t, m, p)
		}
		p.Limits.MaxSet = 5
		cut := false
		for _, m := range []packer.Method{Greedy{}, LocalSearch{Steps: 50}, ColumnGen{}} {
			for _, set := range packtest.Solve(t, m, p).Sets {
				cut = cut || len(set.Instances) > 2
			}
		}
		if !cut {
			t.Error("nobody runs beside the residents")
		}
	}
}

func TestCheckLooksAtLayouts(t *testing.T) {
	p := &packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Model:  sliceModel{packtest.HashModel{Seed: 1, Steps: 100, Low: 0.3}}, GPUs: []packer.GPU{a100(t, "g")},
		Tasks: []packer.Task{{ID: "a", Memory: 4 * profile.GiB}, {ID: "b", Memory: 15 * profile.GiB}},
	}
	p.GPUs[0].Residents = []packer.Task{{ID: "r", Memory: 4 * profile.GiB}}
	p.GPUs[0].Instances = []mig.Placement{{Profile: 0, Start: 6}}
	p.Limits.MaxSet = 3
	s := packtest.Solve(t, ColumnGen{}, p)
	good := slices.Clone(s.Sets[0].Instances)
	if len(good) != 3 {
		t.Fatalf("instances %v", good)
	}
	for _, test := range []struct {
		name string
		set  []mig.Placement
		want string
	}{
		{"none", nil, "0 Instances for 3 members"},
		{"resident moved", []mig.Placement{{Profile: 0, Start: 5}, good[1], good[2]}, ""},
		{"overlap", []mig.Placement{good[0], good[0], good[2]}, "packer/mig"},
		{"too small", []mig.Placement{good[0], {Profile: 0, Start: 4}, {Profile: 0, Start: 5}}, `"b" needs 15 GiB`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.Sets[0].Instances = test.set
			if err := p.Check(s); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	s.Sets[0].Instances = good
	if err := p.Check(s); err != nil {
		t.Error(err)
	}
}

func TestInstancesAreValidated(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(g *packer.GPU)
		want  string
	}{
		{"good", func(*packer.GPU) {}, ""},
		{"too many", func(g *packer.GPU) { g.Instances = append(g.Instances, mig.Placement{Start: 1}) }, "2 Instances for 1 Residents"},
		{"no profile", func(g *packer.GPU) { g.Instances[0].Profile = 99 }, "no profile 99"},
		{"no start", func(g *packer.GPU) { g.Instances[0].Start = -1 }, "cannot start at slice -1"},
		{"other mechanism", func(g *packer.GPU) { g.Mechanisms = append(g.Mechanisms, profile.MPS) }, "Mechanisms is not MIG alone"},
		{"no type", func(g *packer.GPU) { g.Type, g.Memory = nil, profile.GiB }, "no MIG profiles"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: sliceModel{}, GPUs: []packer.GPU{a100(t, "g")}}
			p.GPUs[0].Residents = []packer.Task{{ID: "r"}}
			p.GPUs[0].Instances = []mig.Placement{{}}
			test.spoil(&p.GPUs[0])
			if err := p.Validate(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestSolutionJSONTellsInstances(t *testing.T) {
	p := &packer.Problem{Limits: packer.Limits{MaxSet: 2}, Model: sliceModel{packtest.HashModel{Seed: 1, Steps: 100, Low: 0.3}}, GPUs: []packer.GPU{a100(t, "g")}, Tasks: []packer.Task{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	s := packtest.Solve(t, ColumnGen{}, p)
	data, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var got packer.Solution
	if err := got.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*s, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}
