package pairs

import (
	"context"
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
