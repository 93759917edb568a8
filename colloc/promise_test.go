package colloc_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// TestGainThatIsAsked: two tasks whose sharing is worth less than MinGain do not share, and
// the plan says by how much sharing would be worth more.
func TestGainThatIsAsked(t *testing.T) {
	tasks := []colloc.Task{seen(t, "a", 0.7, 0.5, profile.GiB), seen(t, "b", 0.7, 0.5, profile.GiB)}
	gpus := []colloc.GPU{card(t, "g")}
	free, err := newPlanner(t, colloc.Config{MaxSlowdown: 4}).Plan(t.Context(), tasks, gpus)
	if err != nil || len(free.Placements) != 1 || len(free.Placements[0].Members) != 2 {
		t.Fatalf("without MinGain: %+v, %v", free, err)
	}
	together := free.Placements[0].Throughput
	plan, err := newPlanner(t, colloc.Config{MaxSlowdown: 4, MinGain: 2 * together}).Plan(t.Context(), tasks, gpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range plan.Notes {
		if n.Sharing == packer.NoGain && len(n.Reliefs) > 0 {
			if r := n.Reliefs[len(n.Reliefs)-1]; r.Kind != colloc.AcceptLess || math.Abs(r.Factor-n.Shared/n.Apart) > 1e-9 || math.Abs(n.Shared-together) > 1e-3 {
				t.Errorf("%+v, want to accept a set that does %v", n, together)
			}
			return
		}
	}
	t.Errorf("no task is refused for want of gain: %+v", plan.Notes)
}

// TestLabelsOfNobody: labels that no task asks for change nothing of a plan.
func TestLabelsOfNobody(t *testing.T) {
	var tasks []colloc.Task
	for i := range 12 {
		tasks = append(tasks, seen(t, fmt.Sprint("t", i), 0.3+0.05*float64(i), 0.2, profile.Bytes(1+i)*profile.GiB))
	}
	plan := func(labelled bool) string {
		var gpus []colloc.GPU
		for i := range 5 {
			g := card(t, fmt.Sprint("g", i))
			if labelled {
				g.Labels = []string{fmt.Sprint("rack", i)}
			}
			gpus = append(gpus, g)
		}
		plan, err := shared(t).Plan(t.Context(), tasks, gpus)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if plain, labelled := plan(false), plan(true); plain != labelled {
		t.Errorf("with labels of nobody the plan is\n%s\nand not\n%s", labelled, plain)
	}
}

// TestPaceInterval: where a task's own profiles decide how fast it is, too, its pace lies
// between the bounds, which are as far from it on both sides where both runs were timed.
func TestPaceInterval(t *testing.T) {
	task := colloc.Task{ID: "odd", Profile: trained(t, "odd", "V100", profile.CNN, profile.FP32, time.Second)}
	task.Elsewhere = []*profile.Profile{trained(t, "odd", "K80", profile.CNN, profile.FP32, time.Second/2)}
	p := newPlanner(t, colloc.Config{Reference: gpuModel(t, "V100")})
	for _, product := range []string{"V100", "K80"} {
		v, err := p.Fit(task, empty(t, "g", product))
		if err != nil {
			t.Fatal(err)
		}
		if e := v.Pace; !(e.Lo < e.Value && e.Value < e.Hi) || math.Abs(e.Lo*e.Hi/e.Value/e.Value-1) > 1e-9 {
			t.Errorf("%s: pace %v", product, e)
		}
	}
}

// TestPlanRoundsDistance: a plan tells how far an estimate is from its data to the thousandth.
func TestPlanRoundsDistance(t *testing.T) {
	p := newPlanner(t, colloc.Config{Reference: gpuModel(t, "V100")})
	task, gpu := colloc.Task{ID: "t", Profile: trained(t, "net", "RTX 3090", profile.CNN, profile.FP32, 0)}, empty(t, "g", "RTX-PRO-6000")
	v, err := p.Fit(task, gpu)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(t.Context(), []colloc.Task{task}, []colloc.GPU{gpu, empty(t, "h", "V100")})
	if err != nil || len(plan.Placements) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	d := v.Pace.Source.Distance
	if got := plan.Placements[0].Members[0].Pace.Source.Distance; d < 1 || got != math.Round(d*1000)/1000 {
		t.Errorf("distance %v, of the estimate %v", got, d)
	}
}
