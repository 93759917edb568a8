package colloc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestFaultsNameTheirPlace: every fault of a round comes at once, each with task
// or GPU, place and field, in a line that stands for itself.
func TestFaultsNameTheirPlace(t *testing.T) {
	good := seen(t, "good", 0.5, 0.2, profile.GiB)
	bad := colloc.Task{ID: "bad", Weight: -1}
	stranger := colloc.Task{ID: "stranger", Profile: &profile.Profile{}}
	gpu := card(t, "g", colloc.Task{ID: "r\x00", Profile: good.Profile})
	_, err := shared(t).Plan(t.Context(), []colloc.Task{good, bad, good, stranger, {}}, []colloc.GPU{card(t, "h"), gpu, {ID: "g"}})
	type key struct {
		task, gpu           string
		taskIndex, gpuIndex int
		field               string
	}
	want := map[key]string{
		{"good", "", 2, -1, "ID"}:          `colloc: task 2 "good": ID is that of another task; want IDs that differ`,
		{"bad", "", 1, -1, "Profile"}:      `colloc: task 1 "bad": Profile is nil, want what profile.New returns, or a task that carries its Reserved`,
		{"bad", "", 1, -1, "Weight"}:       `colloc: task 1 "bad": Weight is -1, want 0 to 1e+09`,
		{"stranger", "", 3, -1, "Profile"}: ``,
		{"", "", 4, -1, "ID"}:              `colloc: task 4 "": ID is empty, want a name`,
		{"", "", 4, -1, "Profile"}:         ``,
		{"r\x00", "g", 0, 1, "ID"}:         `colloc: GPU 1 "g": resident 0 "r\x00": ID holds a control character, want a name that can be printed`,
		{"", "g", -1, 2, "ID"}:             `colloc: GPU 2 "g": ID is that of another GPU; want IDs that differ`,
		{"", "g", -1, 2, "Memory"}:         `colloc: GPU 2 "g": Memory is not known; set it, or Model from profile.LookupGPU`,
	}
	for _, f := range colloc.Faults(fmt.Errorf("round 7: %w", err)) {
		k := key{f.Task, f.GPU, f.TaskIndex, f.GPUIndex, f.Field}
		text, ok := want[k]
		if !ok || text != "" && f.Error() != text || !strings.HasPrefix(f.Error(), "colloc: ") {
			t.Errorf("fault %+v: %q, want %q", k, f, text)
		}
		delete(want, k)
	}
	for k := range want {
		t.Errorf("no fault %+v in %v", k, err)
	}
	var one *colloc.FaultError
	if _, err := shared(t).Fit(bad, card(t, "h")); !errors.As(err, &one) || one.Task != "bad" || one.TaskIndex != -1 {
		t.Errorf("Fit: %v", err)
	}
	if colloc.Faults(nil) != nil || colloc.Faults(errors.New("other")) != nil {
		t.Error("faults of what has none")
	}
}

// TestFaultReadBack: what is written of a fault as JSON says the same when it is read.
func TestFaultReadBack(t *testing.T) {
	gpu := card(t, "")
	gpu.Residents = []colloc.Task{{ID: "r"}}
	_, err := shared(t).Plan(t.Context(), []colloc.Task{{}}, []colloc.GPU{gpu})
	_, alone := shared(t).Fit(colloc.Task{ID: "t", Reserved: 1}, gpu)
	faults := colloc.Faults(errors.Join(err, alone))
	if len(faults) < 6 {
		t.Fatalf("%v, want faults of a task, a resident and a GPU, from a plan and from one fit", faults)
	}
	for _, f := range faults {
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var back colloc.FaultError
		if err := json.Unmarshal(data, &back); err != nil || back.Error() != f.Error() {
			t.Errorf("read back: %q, %v; was %q", back.Error(), err, f)
		}
	}
}

// TestZeroValues: what was not made with New says so.
func TestZeroValues(t *testing.T) {
	var zero colloc.Planner
	task, gpu := seen(t, "a", 0.5, 0.2, profile.GiB), card(t, "g")
	for _, p := range []*colloc.Planner{nil, &zero} {
		_, fit := p.Fit(task, gpu)
		_, score := p.Score(task, gpu)
		_, judge := p.Judge(task, gpu)
		_, plan := p.Plan(t.Context(), []colloc.Task{task}, []colloc.GPU{gpu})
		_, _, memory := p.Memory(task)
		observe := p.Observe(colloc.Observation{GPU: gpu.Model, Members: []colloc.Measurement{{Profile: task.Profile}}})
		for i, err := range []error{fit, score, judge, plan, memory, observe} {
			if err == nil || !strings.Contains(err.Error(), "make one with New") {
				t.Errorf("call %d: %v", i, err)
			}
		}
	}
	if err := (*colloc.Plan)(nil).Explain(io.Discard); err == nil {
		t.Error("no plan is explained")
	}
	if got := (colloc.Verdict{}).String(); got != "no verdict" {
		t.Errorf("the zero Verdict prints %q", got)
	}
}

// TestStranger: a task that carries its reservation needs no profile, as task and
// as resident.
func TestStranger(t *testing.T) {
	stranger := colloc.Task{ID: "stranger", Reserved: 3 * profile.GiB}
	task := seen(t, "a", 0.5, 0.2, profile.GiB)
	for _, tt := range []struct {
		task colloc.Task
		gpu  colloc.GPU
	}{{stranger, card(t, "g")}, {stranger, card(t, "g", task)}, {task, card(t, "g", stranger)}} {
		v, err := shared(t).Fit(tt.task, tt.gpu)
		if err != nil || len(tt.gpu.Residents) > 0 && v.Speed.Source.Kind != predict.Prior {
			t.Errorf("Fit: %+v, %v", v, err)
		}
		if _, err := shared(t).Score(tt.task, tt.gpu); err != nil {
			t.Error(err)
		}
		if _, err := shared(t).Judge(tt.task, tt.gpu); err != nil {
			t.Error(err)
		}
		plan, err := shared(t).Plan(t.Context(), []colloc.Task{tt.task}, []colloc.GPU{tt.gpu})
		if err != nil || len(plan.Placements) != 1 {
			t.Errorf("Plan: %+v, %v", plan, err)
		}
	}
}

// TestNoSlowdownLimit: +Inf bears any company, in a task and in a Config.
func TestNoSlowdownLimit(t *testing.T) {
	heavy, other := seen(t, "heavy", 1, 0.9, 4*profile.GiB), seen(t, "other", 1, 0.9, 4*profile.GiB)
	heavy.MaxSlowdown, other.MaxSlowdown = 1, 1
	if v, err := shared(t).Fit(heavy, card(t, "g", other)); err != nil || v.Code != packer.SpeedLimit {
		t.Fatalf("with limits: %v, %v", v, err)
	}
	heavy.MaxSlowdown, other.MaxSlowdown = math.Inf(1), math.Inf(1)
	v, err := shared(t).Fit(heavy, card(t, "g", other))
	if err != nil || !v.Fits || v.Slowest < 0 || v.SlowestLimit != 0 || v.SlowestSpeed <= 0 {
		t.Errorf("without: %+v, %v", v, err)
	}
	heavy.MaxSlowdown, other.MaxSlowdown = 0, 0
	p := newPlanner(t, colloc.Config{MaxSlowdown: math.Inf(1)})
	if v, err := p.Fit(heavy, card(t, "g", other)); err != nil || !v.Fits {
		t.Errorf("by the Config: %+v, %v", v, err)
	}
}

// TestMechanismZeroValue: time-slicing for several members, as for a GPU.
func TestMechanismZeroValue(t *testing.T) {
	a, b := seen(t, "a", 0.5, 0.2, profile.GiB), seen(t, "b", 0.5, 0.2, profile.GiB)
	var verdicts []colloc.Verdict
	for _, m := range []profile.Mechanism{0, profile.TimeSlice} {
		p := newPlanner(t, colloc.Config{})
		err := p.Observe(colloc.Observation{GPU: gpuModel(t, "RTX 3090"), Mechanism: m, Members: []colloc.Measurement{
			{Profile: a.Profile, Speed: profile.Some(0.4)}, {Profile: b.Profile, Speed: profile.Some(0.4)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Fit(a, card(t, "g", b))
		if err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, v)
	}
	if verdicts[0] != verdicts[1] {
		t.Errorf("learned %+v without a mechanism, %+v with time-slicing", verdicts[0], verdicts[1])
	}
}

// TestNoAdviceOfNothing: a GPU without memory left is not offered to a
// reservation of nothing.
func TestNoAdviceOfNothing(t *testing.T) {
	big := seen(t, "big", 0.5, 0.2, profile.GiB)
	big.Reserved = 30 * profile.GiB
	task := seen(t, "a", 0.5, 0.2, profile.GiB)
	gpu := card(t, "g", big)
	plan, err := shared(t).Plan(t.Context(), []colloc.Task{task}, []colloc.GPU{gpu})
	if err != nil || len(plan.Notes) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	v, err := shared(t).Fit(task, gpu)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]colloc.Relief{plan.Notes[0].Reliefs, v.Reliefs(task, gpu)} {
		if len(list) != 1 || list[0].Kind != colloc.LargerGPU {
			t.Errorf("reliefs %+v, want a larger GPU alone", list)
		}
	}
	if strings.Contains(plan.Notes[0].Text, "0 B") {
		t.Error(plan.Notes[0].Text)
	}
}

// TestScoreIsInUnitsOfTheTask: two tasks of equal weight score alike, whatever
// that weight is.
func TestScoreIsInUnitsOfTheTask(t *testing.T) {
	a, b := seen(t, "a", 0.5, 0.2, profile.GiB), seen(t, "b", 0.5, 0.2, profile.GiB)
	var scores []float64
	for _, w := range []float64{1, 100} {
		a.Weight, b.Weight = w, w
		s, err := shared(t).Score(a, card(t, "g", b))
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, s)
	}
	if math.Abs(scores[0]-scores[1]) > 1e-12 || scores[0] <= 0 || scores[0] >= 1 {
		t.Errorf("scores %v", scores)
	}
}

// TestServerLimit: a server shares where it keeps its latency, whatever Config bears.
func TestServerLimit(t *testing.T) {
	training, server := seen(t, "training", 0.95, 0.3, profile.GiB), seen(t, "server", 0.3, 0.1, profile.GiB)
	p := *server.Profile
	p.Spec.Server = &profile.Server{Rate: 30, Capacity: 100, Even: true}
	server.Profile = &p
	if v, err := shared(t).Fit(server, card(t, "g", training)); err != nil || !v.Fits || v.Speed.Value > 0.5 {
		t.Errorf("without a limit: %+v, %v", v, err) // takes turns, answers in twice the time
	}
	hasty := *p.Spec.Server
	hasty.Limit = 12 * time.Millisecond
	p.Spec.Server = &hasty
	if v, err := shared(t).Fit(server, card(t, "g", training)); err != nil || v.Code != packer.SpeedLimit {
		t.Errorf("of 10 ms alone and 12 at most: %+v, %v", v, err)
	}
}
