package simulate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
)

// small simulates a few tasks on two GPUs under two policies.
func small(t *testing.T, seeds int) []outcome {
	t.Helper()
	cluster, err := sim.ParseCluster("2xA100-40GB")
	if err != nil {
		t.Fatal(err)
	}
	s := study{
		cluster: cluster, seeds: seeds, timeline: true,
		policies: []sim.Policy{policy.FIFO{}, policy.Shortest{}},
		draw: func(seed uint64) (day, error) {
			var tasks []sim.Task
			for i := range 12 {
				tasks = append(tasks, sim.Task{
					ID: fmt.Sprint("t", i), Arrival: time.Duration(i) * time.Minute,
					Work: time.Duration((12-i)*5+int(seed)) * time.Minute,
				})
			}
			return day{tasks: tasks}, nil
		},
	}
	out, err := s.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReportIsTheSameTwice(t *testing.T) {
	var pages [2]bytes.Buffer
	for i := range pages {
		if err := writeReport(&pages[i], "t", &study{world: "w", seeds: 2, baseline: "fifo"}, "c", summarise(small(t, 2))); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(pages[0].String(), pages[1].String()); diff != "" {
		t.Errorf("-first +second:\n%s", diff)
	}
	if page := pages[0].String(); strings.Contains(page, "http://") && !strings.Contains(page, "http://www.w3.org/") || strings.Contains(page, "src=") {
		t.Error("the page asks for something from elsewhere")
	}
}

func TestSummary(t *testing.T) {
	all := summarise(small(t, 3))
	if len(all) != 2 || all[0].Policy != "fifo" || len(all[0].Runs) != 3 {
		t.Fatalf("summaries %+v, want two policies of three runs", all)
	}
	makespan := all[0].Figures[0]
	var sum float64
	for _, r := range all[0].Runs {
		sum += r.Makespan.Hours()
	}
	// Makespans of equally spaced seeds d apart: the half-width is t(2) d / √3 = 4.3027 d / 1.7320.
	d := all[0].Runs[1].Makespan.Hours() - all[0].Runs[0].Makespan.Hours()
	if got, want := makespan.Half, 4.302653*d/1.7320508; d <= 0 || got < want*0.999 || got > want*1.001 {
		t.Errorf("half-width %v, want %v", got, want)
	}
	if got, want := makespan.Mean, sum/3; got < want*0.999999 || got > want*1.000001 {
		t.Errorf("mean %v, want %v", got, want)
	}
}

// TestTimeline checks the spans against the GPU time that the run used.
func TestTimeline(t *testing.T) {
	for _, o := range small(t, 1) {
		var busy time.Duration
		for g, spans := range o.Timeline.spans {
			for i, s := range spans {
				if len(s.Tasks) != 1 || s.To <= s.From || i > 0 && s.From < spans[i-1].To {
					t.Errorf("%s: GPU %d has span %+v", o.Policy, g, s)
				}
				busy += s.To - s.From
			}
		}
		var work time.Duration
		for i := range 12 {
			work += time.Duration((12-i)*5) * time.Minute
		}
		if busy != work {
			t.Errorf("%s: the GPUs were busy for %v, the tasks are %v long", o.Policy, busy, work)
		}
	}
}

// TestTimelineLoss: a GPU that fails takes a gang off its other GPUs, too, and
// leaves those alone that share them.
func TestTimelineLoss(t *testing.T) {
	line := newTimeline(2)
	for _, e := range []sim.Event{
		{At: 0, Kind: sim.Start, Task: "gang", GPUs: []int{0, 1}},
		{At: 1, Kind: sim.Start, Task: "alone", GPUs: []int{1}},
		{At: 3, Kind: sim.GPULoss, Index: -1, GPUs: []int{0}},
		{At: 3, Kind: sim.GPULoss, Task: "gang", GPUs: []int{0, 1}},
		{At: 5, Kind: sim.Finish, Task: "alone", GPUs: []int{1}},
	} {
		line.note(&e)
	}
	line.finish(9)
	if diff := cmp.Diff([][]span{{{0, 3, []string{"gang"}}}, {{0, 1, []string{"gang"}}, {1, 3, []string{"gang", "alone"}}, {3, 5, []string{"alone"}}}}, line.spans); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]mark{{At: 3, Kind: "loss"}}, line.marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

func TestWriteJSON(t *testing.T) {
	var b bytes.Buffer
	if err := writeJSON(&b, "made-up", 1, small(t, 1)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"trace", "policy", "seed", "makespan_s", "mean_jct_s", "p50_jct_s", "p99_jct_s", "mean_wait_s", "energy_j", "oom", "recoveries", "allocated_pct",
	} {
		if got := strings.Count(b.String(), `"`+key+`":`); got != 2 {
			t.Errorf("%s appears %d times in two lines", key, got)
		}
	}
}
