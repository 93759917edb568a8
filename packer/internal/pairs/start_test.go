package pairs

import (
	"context"
	"slices"
	"testing"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/internal/packtest"
	"example.com/colloc/profile"
)

// matcherOf prepares p as Matching does.
func matcherOf(t *testing.T, p *packer.Problem) *matcher {
	t.Helper()
	in := packtest.NewInstance(t, p)
	table, err := newTable(context.Background(), instance.NewEvaluator(in))
	if err != nil {
		t.Fatal(err)
	}
	return newMatcher(context.Background(), table)
}

// TestFitWidthsSeatsEachGangOnce: what matchings at prices leave is repaired to
// sets that fit, with no task in two of them.
func TestFitWidthsSeatsEachGangOnce(t *testing.T) {
	wide := func(gpus int) *packer.Problem {
		p := &packer.Problem{Model: packtest.Duo{"ab": 0.9}, Tasks: []packer.Task{{ID: "a", GPUs: 2}, {ID: "b", GPUs: 2}}}
		for g := range gpus {
			p.GPUs = append(p.GPUs, packer.GPU{ID: string(rune('p' + g)), Memory: profile.GiB})
		}
		return p
	}
	for _, test := range []struct {
		name   string
		gpus   int
		groups []placed
		want   int
	}{
		{"a pair leaves no one to seat", 4, []placed{{0, 0, 1}}, 1},
		{"room for one of two that wait", 3, nil, 1},
		{"room for both", 4, nil, 2},
		{"room for one of two at once", 3, []placed{{0, 0, none}, {0, 1, none}}, 1},
	} {
		if got := matcherOf(t, wide(test.gpus)).fitWidths(test.groups); len(got) != test.want {
			t.Errorf("%s: %+v, want %d sets", test.name, got, test.want)
		}
	}
}

// TestFitWidthsKeepsTheWorthier: of more sets than there is room for, those stay that are
// worth most for each GPU.
func TestFitWidthsKeepsTheWorthier(t *testing.T) {
	p := &packer.Problem{Model: packtest.Duo{}, Tasks: []packer.Task{{ID: "a", GPUs: 2, Weight: 3}, {ID: "b", Weight: 2}, {ID: "c", Weight: 2}}}
	for _, id := range []string{"p", "q"} {
		p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: profile.GiB})
	}
	got := matcherOf(t, p).fitWidths([]placed{{0, 0, none}, {0, 1, none}, {0, 2, none}})
	if want := []placed{{0, 1, none}, {0, 2, none}}; !slices.Equal(got, want) {
		t.Errorf("sets %+v, want %+v", got, want)
	}
}

// TestHomesKeepTheMatching: three pairs that exchanges do not reach from Greedy's plan, nor
// from that in which all stay at home, are the plan all the same.
func TestHomesKeepTheMatching(t *testing.T) {
	p := &packer.Problem{Model: packtest.Duo{
		"ab": 0.95, "cd": 0.85, "ef": 0.85, // which Greedy begins with, and exchanges keep
		"bc": 0.9, "de": 0.9, "af": 0.9,
	}, Limits: packer.Limits{MaxSet: 2}}
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		p.Tasks = append(p.Tasks, packer.Task{ID: id})
	}
	for _, id := range []string{"p", "q", "r"} {
		p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: profile.GiB})
	}
	for _, home := range []string{"a", "b"} {
		for i := range p.Tasks {
			if p.Tasks[i].Home, p.Tasks[i].MoveCost = "", 0; p.Tasks[i].ID == home {
				p.Tasks[i].Home, p.Tasks[i].MoveCost = "q", 0.01
			}
		}
		in := packtest.NewInstance(t, p)
		pl, _, _, err := Pack(t.Context(), in, 0)
		if err != nil {
			t.Fatal(err)
		}
		if g := pl.Gpu; g[0] != g[5] || g[1] != g[2] || g[3] != g[4] {
			t.Errorf("%s is at home: the tasks are on %v, want a beside f, b beside c and d beside e", home, g)
		}
	}
}

// TestHopeCountsOneHome: two tasks with different homes cannot both save by
// staying, however little they save.
func TestHopeCountsOneHome(t *testing.T) {
	const unit = 1.0 / instance.Resolution
	for _, test := range []struct {
		name string
		a, b float64 // units that a and b save
		same bool
		want int64
	}{
		{"one unit each, apart", 1, 1, false, 1},
		{"one and five, apart", 1, 5, false, 5},
		{"five and one, apart", 5, 1, false, 5},
		{"one unit each, together", 1, 1, true, 2},
		{"one of them saves", 0, 3, false, 3},
	} {
		p := &packer.Problem{Model: packtest.Duo{}, GPUs: []packer.GPU{{ID: "g", Memory: profile.GiB}, {ID: "h", Memory: profile.GiB}}}
		p.Tasks = []packer.Task{{ID: "a", Home: "g", MoveCost: test.a * unit}, {ID: "b", Home: "h", MoveCost: test.b * unit}}
		if test.same {
			p.Tasks[1].Home = "g"
		}
		if test.a == 0 {
			p.Tasks[0].Home = ""
		}
		in := packtest.NewInstance(t, p)
		if got := in.Hope(0, 0, 1); got != test.want {
			t.Errorf("%s: %d units, want %d", test.name, got, test.want)
		}
	}
}
