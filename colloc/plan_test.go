package colloc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

func TestPlanShares(t *testing.T) {
	p := shared(t)
	var tasks []colloc.Task
	for i := range 6 {
		tasks = append(tasks, seen(t, fmt.Sprintf("task%d", i), 0.15+0.1*float64(i), 0.05, 7*profile.GiB))
	}
	plan, err := p.Plan(t.Context(), tasks, []colloc.GPU{card(t, "g0"), card(t, "g1")})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Exclusive != 2 || plan.Throughput <= 3 || plan.Bound.Or(0) < plan.Throughput {
		t.Errorf("throughput %v, exclusive %v, bound %v; want more than 3, 2, and a bound above", plan.Throughput, plan.Exclusive, plan.Bound)
	}
	if len(plan.Placements) != 2 || len(plan.Notes) != 2 {
		t.Errorf("%d placements and %d notes, want 2 and 2 of 6 tasks on 2 GPUs", len(plan.Placements), len(plan.Notes))
	}
	for _, n := range plan.Notes {
		if n.Placed || n.Code != packer.GPUsTaken || n.GPUs < 1 {
			t.Errorf("note %+v; want GPUs taken and how many more would do", n)
		}
	}
}

// TestPlanKeepsResidents checks that residents stay, count and are listed.
func TestPlanKeepsResidents(t *testing.T) {
	p := shared(t)
	resident := seen(t, "resident", 0.2, 0.05, 15*profile.GiB)
	small, large := seen(t, "small", 0.2, 0.05, 4*profile.GiB), seen(t, "large", 0.2, 0.05, 15*profile.GiB)
	plan, err := p.Plan(t.Context(), []colloc.Task{large, small}, []colloc.GPU{card(t, "g0", resident)})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Placements) != 1 || plan.Exclusive != 1 {
		t.Fatalf("%d placements, exclusive %v; want 1 and the resident's 1", len(plan.Placements), plan.Exclusive)
	}
	var got []string
	for _, m := range plan.Placements[0].Members {
		got = append(got, fmt.Sprintf("%s resident=%v", m.Task, m.Resident))
	}
	if diff := cmp.Diff([]string{"resident resident=true", "small resident=false"}, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// TestPromiseSuffices checks that Plan and Judge take what Fit takes: a task of
// which nothing is known but what was reserved for it.
func TestPromiseSuffices(t *testing.T) {
	p := shared(t)
	task := colloc.Task{ID: "task", Profile: &profile.Profile{}, Reserved: 4 * profile.GiB}
	resident := task
	resident.ID = "resident"
	gpu := card(t, "g", resident)
	if v, err := p.Fit(task, gpu); err != nil || !v.Fits {
		t.Fatalf("Fit = %v, %v", v, err)
	}
	if _, err := p.Judge(task, gpu); err != nil {
		t.Errorf("Judge: %v", err)
	}
	plan, err := p.Plan(t.Context(), []colloc.Task{task}, []colloc.GPU{gpu})
	if err != nil {
		t.Fatal(err)
	}
	if d := plan.Tasks[0]; d.Reserved != task.Reserved || d.Memory.Confidence != 0 {
		t.Errorf("%+v; want what was promised, and no estimate", d)
	}
	var text strings.Builder
	if err := plan.Explain(&text); err != nil || !strings.Contains(text.String(), "unknown") {
		t.Errorf("%v: no word of an unknown peak in\n%s", err, &text)
	}
	task.Reserved = 0
	if _, err := p.Plan(t.Context(), []colloc.Task{task}, []colloc.GPU{gpu}); err == nil {
		t.Error("a task of which nothing is known, without a promise, gave no error")
	}
}

func TestPlanEmpty(t *testing.T) {
	p := shared(t)
	task := seen(t, "task", 0.2, 0.1, 4*profile.GiB)
	for _, tt := range []struct {
		name  string
		tasks []colloc.Task
		gpus  []colloc.GPU
		notes int
	}{
		{"nothing", nil, nil, 0},
		{"no tasks", nil, []colloc.GPU{card(t, "g")}, 0},
		{"no GPUs", []colloc.Task{task}, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := p.Plan(t.Context(), tt.tasks, tt.gpus)
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Notes) != tt.notes || plan.Throughput != 0 {
				t.Errorf("%d notes, throughput %v; want %d and 0", len(plan.Notes), plan.Throughput, tt.notes)
			}
		})
	}
}

func TestPlanFaults(t *testing.T) {
	p := shared(t)
	task := seen(t, "task", 0.2, 0.1, 4*profile.GiB)
	bad := task
	bad.ID, bad.Weight = "bad", math.Inf(1)
	gang := task
	gang.ID, gang.GPUs = "gang", 3
	for _, tt := range []struct {
		name  string
		tasks []colloc.Task
		gpus  []colloc.GPU
		want  string
	}{
		{"duplicate task", []colloc.Task{task, task}, nil, `"task"`},
		{"duplicate GPU", nil, []colloc.GPU{card(t, "g"), card(t, "g")}, `"g"`},
		{"resident is also a task", []colloc.Task{task}, []colloc.GPU{card(t, "g", task)}, `"task"`},
		{"gang is a resident and also a task", []colloc.Task{gang}, []colloc.GPU{card(t, "g", gang), card(t, "h", gang)}, `GPU 0 "g": resident 0 "gang": ID is that of another task`},
		{"bad weight", []colloc.Task{bad}, nil, "Weight is +Inf"},
		{"all faults at once", []colloc.Task{bad, {}}, nil, "ID is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := p.Plan(t.Context(), tt.tasks, tt.gpus)
			if err == nil || plan != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Plan = %v, %v; want no plan and an error with %q", plan, err, tt.want)
			}
		})
	}
}

func TestPlanCancelled(t *testing.T) {
	p := shared(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	plan, err := p.Plan(ctx, []colloc.Task{seen(t, "task", 0.2, 0.1, profile.GiB)}, []colloc.GPU{card(t, "g")})
	if !errors.Is(err, context.Canceled) || plan == nil {
		t.Errorf("Plan = %v, %v; want the best plan so far and context.Canceled", plan, err)
	}
}

func TestPlanSameBytes(t *testing.T) {
	var tasks []colloc.Task
	for i := range 9 {
		tasks = append(tasks, seen(t, fmt.Sprintf("task%d", i), 0.1*float64(i+1), 0.1, profile.Bytes(i+1)*profile.GiB))
	}
	var first []byte
	for range 3 {
		plan, err := newPlanner(t, colloc.Config{}).Plan(t.Context(), tasks, []colloc.GPU{card(t, "g0"), card(t, "g1"), card(t, "g2")})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if string(data) != string(first) {
			t.Fatalf("two plans of the same question differ:\n%s\n%s", first, data)
		}
	}
}

// TestPlanKeepsLimits draws problems and checks every limit on the answer by
// hand, and that Fit agrees with what Plan did.
func TestPlanKeepsLimits(t *testing.T) {
	p := shared(t)
	rapid.Check(t, func(rt *rapid.T) {
		var tasks []colloc.Task
		byID := make(map[string]colloc.Task)
		for i := range rapid.IntRange(0, 8).Draw(rt, "tasks") {
			task := seen(t, fmt.Sprintf("t%d", i), rapid.Float64Range(0, 1).Draw(rt, "busy"),
				rapid.Float64Range(0, 1).Draw(rt, "memBusy"), profile.Bytes(rapid.IntRange(1, 30).Draw(rt, "GiB"))*profile.GiB)
			task.Weight = rapid.Float64Range(0, 5).Draw(rt, "weight")
			task.MaxSlowdown = rapid.Float64Range(1, 3).Draw(rt, "slowdown")
			task.Alone = rapid.Bool().Draw(rt, "alone")
			tasks = append(tasks, task)
			byID[task.ID] = task
		}
		var gpus []colloc.GPU
		for i := range rapid.IntRange(0, 4).Draw(rt, "gpus") {
			gpus = append(gpus, card(t, fmt.Sprintf("g%d", i)))
		}
		plan, err := p.Plan(t.Context(), tasks, gpus)
		if err != nil {
			rt.Fatal(err)
		}
		placed := make(map[string]bool)
		for _, pl := range plan.Placements {
			checkPlacement(rt, p, pl, byID, placed, card(t, pl.GPU))
		}
		for _, n := range plan.Notes {
			if n.Placed != placed[n.ID] {
				rt.Errorf("note says placed=%v for %s", n.Placed, n.ID)
			}
			placed[n.ID] = true
		}
		if len(placed) != len(tasks) {
			rt.Errorf("%d of %d tasks are placed or explained", len(placed), len(tasks))
		}
		if plan.Throughput < plan.Exclusive-1e-6 || plan.Bound.Or(0) < plan.Throughput {
			rt.Errorf("exclusive %v, throughput %v, bound %v", plan.Exclusive, plan.Throughput, plan.Bound)
		}
	})
}

func checkPlacement(rt *rapid.T, p *colloc.Planner, pl colloc.Placement, byID map[string]colloc.Task, placed map[string]bool, gpu colloc.GPU) {
	if pl.Reserved > pl.Usable || len(pl.Members) > colloc.DefaultMaxSet {
		rt.Errorf("GPU %s: %v of %v reserved by %d tasks", pl.GPU, pl.Reserved, pl.Usable, len(pl.Members))
	}
	for i, m := range pl.Members {
		task := byID[m.Task]
		if placed[m.Task] || (task.Alone && len(pl.Members) > 1) {
			rt.Errorf("task %s is placed twice or not alone", m.Task)
		}
		placed[m.Task] = true
		if m.Speed.Value < 1/task.MaxSlowdown-1e-9 {
			rt.Errorf("task %s runs at %v, limit %v", m.Task, m.Speed.Value, 1/task.MaxSlowdown)
		}
		if i > 0 {
			gpu.Residents = append(gpu.Residents, byID[pl.Members[i-1].Task])
		}
		v, err := p.Fit(task, gpu)
		if err != nil || !v.Fits {
			rt.Errorf("Fit refuses what Plan did: %v, %v", v, err)
		}
	}
}

// TestPlanWithoutProof uses a method that proves nothing: the plan says so, in
// words and as data.
func TestPlanWithoutProof(t *testing.T) {
	p := newPlanner(t, colloc.Config{Method: solve.Greedy{}, MaxSet: 3})
	tasks := []colloc.Task{
		seen(t, "a", 0.1, 0.05, profile.GiB), seen(t, "b", 0.1, 0.05, profile.GiB), seen(t, "c", 0.1, 0.05, profile.GiB),
	}
	plan, err := p.Plan(t.Context(), tasks, []colloc.GPU{card(t, "g")})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Placements) != 1 || len(plan.Placements[0].Members) != 3 {
		t.Fatalf("placements %+v; want three light tasks on one GPU", plan.Placements)
	}
	var text strings.Builder
	if err := plan.Explain(&text); err != nil || !strings.Contains(text.String(), "not proven") {
		t.Errorf("Explain = %v; want it to say that nothing is proven:\n%s", err, &text)
	}
	data, err := json.Marshal(plan)
	if err != nil || !strings.Contains(string(data), `"bound":null`) {
		t.Errorf("JSON = %s, %v; want a bound of null", data, err)
	}
}

// TestNotesSayWhatToChange checks that each refusal comes with a change that a
// program can act on.
func TestNotesSayWhatToChange(t *testing.T) {
	huge := seen(t, "huge", 0.2, 0.1, 30*profile.GiB)
	hermit := seen(t, "hermit", 0.2, 0.1, profile.GiB)
	hermit.Alone = true
	slow := seen(t, "slow", 1, 1, profile.GiB)
	slow.MaxSlowdown = 1.01
	other := slow
	other.ID = "other"
	for _, tt := range []struct {
		name  string
		tasks []colloc.Task
		gpus  int
		kind  colloc.ReliefKind
		of    string
	}{
		{"too large", []colloc.Task{huge}, 1, colloc.LargerGPU, "huge"},
		{"no GPU", []colloc.Task{hermit}, 0, colloc.MoreGPUs, "hermit"},
		{"alone", []colloc.Task{hermit, slow}, 1, colloc.AllowSharing, "hermit"},
		{"slowdown", []colloc.Task{slow, other}, 1, colloc.AllowSlowdown, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var gpus []colloc.GPU
			for i := range tt.gpus {
				gpus = append(gpus, card(t, fmt.Sprintf("g%d", i)))
			}
			plan, err := shared(t).Plan(t.Context(), tt.tasks, gpus)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range plan.Notes {
				for _, c := range n.Reliefs {
					if c.Kind == tt.kind && (tt.of == "" || c.Task == tt.of) {
						return
					}
				}
			}
			t.Errorf("notes %+v; want a change of kind %v for %q", plan.Notes, tt.kind, tt.of)
		})
	}
}

// TestExplainsSources: what was fitted far from its data is said to be extrapolated, and nothing
// else.
func TestExplainsSources(t *testing.T) {
	for want, source := range map[string]predict.Source{
		"fitted": {Kind: predict.Fitted, Distance: 1}, "extrapolated": {Kind: predict.Fitted, Distance: 2}, "prior": {Kind: predict.Prior, Distance: 9},
	} {
		plan := colloc.Plan{Tasks: []colloc.Demand{{Task: "a", Memory: predict.Estimate{Value: 1 << 30, Lo: 1 << 30, Hi: 1 << 30, Confidence: 0.9, Source: source}, Reserved: profile.GiB, Use: predict.Measured}}}
		var text bytes.Buffer
		if err := plan.Explain(&text); err != nil || !strings.Contains(text.String(), want) || want != "extrapolated" && strings.Contains(text.String(), "extrapolated") {
			t.Errorf("%+v: %v\n%s", source, err, text.String())
		}
	}
}
