package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/sim"
)

// TestTimelineMarks: a death is marked where the task was, a move where it goes on.
func TestTimelineMarks(t *testing.T) {
	line := newTimeline(2)
	for _, e := range []sim.Event{
		{At: 0, Kind: sim.Start, Task: "a", GPUs: []int{0}},
		{At: 1, Kind: sim.OutOfMemory, Task: "a", GPUs: []int{0}},
		{At: 2, Kind: sim.Recovery, Task: "a", GPUs: []int{1}},
		{At: 3, Kind: sim.Preemption, Task: "a", GPUs: []int{1}},
		{At: 4, Kind: sim.Start, Task: "a", GPUs: []int{0}},
	} {
		line.note(&e)
	}
	line.finish(9)
	if diff := cmp.Diff([]mark{{1, 0, "death", "a"}, {4, 0, "move", "a"}}, line.marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	want := [][]span{{{0, 1, []string{"a"}}, {4, 9, []string{"a"}}}, {{2, 3, []string{"a"}}}}
	if diff := cmp.Diff(want, line.spans); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// TestBest: whoever may be the best is marked, and nobody in a column without
// differences.
func TestBest(t *testing.T) {
	all := []summary{
		made("a", 1, 1.1, 1.2), made("b", 1.1, 1, 1.25), made("c", 1.2, 1.31, 1.42), made("d", 9, 9, 9), made("e", 9, 9, 9),
	}
	for k, c := range columns() {
		want := make([]bool, len(all))
		if c.Name == "mean JCT" || c.Name == "makespan" { // c is close, but always behind
			want = []bool{true, true, false, false, false}
		}
		if diff := cmp.Diff(want, best(all, k, c)); diff != "" {
			t.Errorf("%s: marked (-want +got):\n%s", c.Name, diff)
		}
	}
}

// TestShown: the baseline, the best peers and ours come first, six at most.
func TestShown(t *testing.T) {
	all := []summary{
		made("a", 5), made("b", 6), made("fifo", 9), made("peer", 1), made("x", 7), made("y", 7), made("colloc", 2), made("colloc-4", 3),
	}
	want := []string{"fifo", "peer", "colloc", "colloc-4", "a", "b"}
	if diff := cmp.Diff(want, shown(all, "fifo")); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// TestCompletion: the curve ends at all tasks, and is thinned to 200 points.
func TestCompletion(t *testing.T) {
	r := &sim.Result{}
	for i := range 1000 {
		r.Ends = append(r.Ends, sim.End{End: time.Duration(1000-i) * time.Hour, Finished: true})
	}
	points := completion([]outcome{{Result: r}})
	if n := len(points); n != 200 || points[n-1] != [2]float64{1000, 1} || points[0] != [2]float64{1, 0.001} {
		t.Errorf("%d points from %v to %v", n, points[0], points[n-1])
	}
}
