package packer

import (
	"context"
	"testing"

	"example.com/colloc/profile"
)

// matcherOf prepares p as Matching does.
func matcherOf(t *testing.T, p *Problem) *matcher {
	t.Helper()
	in := newInstance(t, p)
	table, err := newTable(context.Background(), newEvaluator(in))
	if err != nil {
		t.Fatal(err)
	}
	return newMatcher(context.Background(), table)
}

// TestFitWidthsSeatsEachGangOnce: what matchings at prices leave is repaired to
// sets that fit, with no task in two of them.
func TestFitWidthsSeatsEachGangOnce(t *testing.T) {
	wide := func(gpus int) *Problem {
		p := &Problem{Model: duo{"ab": 0.9}, Tasks: []Task{{ID: "a", GPUs: 2}, {ID: "b", GPUs: 2}}}
		for g := range gpus {
			p.GPUs = append(p.GPUs, GPU{ID: string(rune('p' + g)), Memory: profile.GiB})
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
	const unit = 1.0 / resolution
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
		p := &Problem{Model: duo{}, GPUs: []GPU{{ID: "g", Memory: profile.GiB}, {ID: "h", Memory: profile.GiB}}}
		p.Tasks = []Task{{ID: "a", Home: "g", MoveCost: test.a * unit}, {ID: "b", Home: "h", MoveCost: test.b * unit}}
		if test.same {
			p.Tasks[1].Home = "g"
		}
		if test.a == 0 {
			p.Tasks[0].Home = ""
		}
		in := newInstance(t, p)
		if got := in.hope(0, 0, 1); got != test.want {
			t.Errorf("%s: %d units, want %d", test.name, got, test.want)
		}
	}
}

// TestStayHomeSharesOnlyForGain: of two tasks at home on one GPU that do less
// together than one of them alone, one waits.
func TestStayHomeSharesOnlyForGain(t *testing.T) {
	for _, test := range []struct {
		name  string
		speed float64
		both  bool
	}{
		{"a gain", 0.6, true},
		{"a loss", 0.4, false},
		{"neither", 0.5, false},
	} {
		p := &Problem{Model: duo{"ab": test.speed}, GPUs: []GPU{{ID: "g", Memory: profile.GiB}}}
		p.Tasks = []Task{{ID: "a", Home: "g"}, {ID: "b", Home: "g"}}
		in := newInstance(t, p)
		pl, err := stayHome(in, newEvaluator(in))
		if err != nil {
			t.Fatal(err)
		}
		if pl.gpu[0] != 0 || (pl.gpu[1] == 0) != test.both {
			t.Errorf("%s: GPUs %v, want both at home: %v", test.name, pl.gpu, test.both)
		}
	}
}
