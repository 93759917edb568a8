package colloc_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// tenant gives a task a label that it insists on.
func tenant(task colloc.Task, name string) colloc.Task {
	task.Labels, task.Only = []string{name}, []string{name}
	return task
}

// TestFitLabels: which label binds, on which side, and who bears it.
func TestFitLabels(t *testing.T) {
	light, other := seen(t, "light", 0.2, 0.1, 4*profile.GiB), seen(t, "other", 0.2, 0.1, 4*profile.GiB)
	avoids, on, labelled := other, light, light
	avoids.Avoid, labelled.Labels = []string{"noisy"}, []string{"noisy"}
	on.On = []string{"node-1"}
	byName, byAlias := light, light
	byName.On, byAlias.On = []string{"RTX3090"}, []string{"NVIDIA GeForce RTX 3090"}
	node, nvml := card(t, "g"), card(t, "g")
	node.Labels, nvml.Model.Name = []string{"rack", "node-1"}, "NVIDIA GeForce RTX 3090"
	foreign, err := colloc.Foreign("foreign", gpuModel(t, "RTX 3090"), profile.Sample{MemUsed: profile.Some(2 * profile.GiB)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		task   colloc.Task
		gpu    colloc.GPU
		code   packer.ReasonCode
		other  string
		relief colloc.ReliefKind
	}{
		{"two of one tenant", tenant(light, "red"), card(t, "g", tenant(other, "red")), 0, "", 0},
		{"two tenants", tenant(light, "red"), card(t, "g", tenant(other, "blue")), packer.Incompatible, "other", colloc.OtherLabels},
		{"a tenant beside nobody's", light, card(t, "g", tenant(other, "blue")), packer.Incompatible, "other", colloc.OtherLabels},
		{"nobody's beside a tenant", tenant(light, "red"), card(t, "g", other), packer.Incompatible, "other", colloc.OtherLabels},
		{"a resident avoids it", labelled, card(t, "g", avoids), packer.Incompatible, "other", colloc.OtherLabels},
		{"avoided labels that nobody has", light, card(t, "g", avoids), 0, "", 0},
		{"its node", on, node, 0, "", 0},
		{"another node", on, card(t, "g"), packer.WrongGPU, "", colloc.LabelGPU},
		{"the product by its one name", byName, nvml, 0, "", 0},
		{"the product as the GPU is called", byAlias, nvml, 0, "", 0},
		{"a foreign process", light, card(t, "g", foreign), packer.MustBeAlone, "foreign", colloc.AllowSharing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := shared(t).Fit(tt.task, tt.gpu)
			if err != nil || v.Code != tt.code || v.Other != tt.other || (v.Label != "") != (tt.code == packer.WrongGPU) {
				t.Fatalf("got %+v, %v", v, err)
			}
			score, err := shared(t).Score(tt.task, tt.gpu)
			if err != nil || (score > 0) != (tt.code == 0) {
				t.Errorf("score %v, %v", score, err)
			}
			plan, err := shared(t).Plan(t.Context(), []colloc.Task{tt.task}, []colloc.GPU{tt.gpu})
			if err != nil {
				t.Fatal(err)
			}
			placed := false
			for _, p := range plan.Placements {
				placed = placed || p.Members[len(p.Members)-1].Task == "light"
			}
			if placed != (tt.code == 0) {
				t.Errorf("the plan places it: %v; Fit says %v", placed, v)
			}
			reliefs := v.Reliefs(tt.task, tt.gpu)
			if tt.code == 0 {
				return
			}
			if len(reliefs) == 0 || reliefs[0].Kind != tt.relief {
				t.Errorf("reliefs %+v, want %v", reliefs, tt.relief)
			}
			if named := v.Other + v.Label; named == "" || !strings.Contains(v.String(), named) {
				t.Errorf("%q does not name %q", v, named)
			}
			note := plan.Notes[0]
			if note.Code != tt.code && note.Sharing != tt.code {
				t.Errorf("the plan says %v, %v: %s", note.Code, note.Sharing, note.Text)
			}
			var text strings.Builder
			if err := plan.Explain(&text); err != nil || !strings.Contains(text.String(), note.Text) {
				t.Errorf("%v: %s", err, text.String())
			}
		})
	}
}

// TestForeign: memory counts whatever the policy; with ShareForeign what is known of
// it decides its speed, and what is not is a prior with a wide interval.
func TestForeign(t *testing.T) {
	gpu := gpuModel(t, "RTX 3090")
	blind, err := colloc.Foreign("foreign", gpu, profile.Sample{MemUsed: profile.Some(20 * profile.GiB)})
	if err != nil {
		t.Fatal(err)
	}
	idle, err := colloc.Foreign("foreign", gpu, profile.Sample{MemUsed: profile.Some(20 * profile.GiB), GPUBusy: profile.Some(0.02), DRAMActive: profile.Some(0.01)})
	if err != nil {
		t.Fatal(err)
	}
	large, small := seen(t, "large", 0.5, 0.2, 4*profile.GiB), seen(t, "small", 0.5, 0.2, profile.GiB)
	if v, err := shared(t).Fit(large, card(t, "g", blind)); err != nil || v.Code != packer.MemoryLimit {
		t.Errorf("without room: %+v, %v", v, err)
	}
	p := newPlanner(t, colloc.Config{ShareForeign: true})
	atRest, err := p.Fit(small, card(t, "g", idle))
	if err != nil || !atRest.Fits {
		t.Fatalf("beside one at rest: %v, %v", atRest, err)
	}
	unknown, err := p.Fit(small, card(t, "g", blind))
	if err != nil || unknown.Speed.Value >= atRest.Speed.Value || unknown.Speed.Source.Kind != predict.Prior {
		t.Errorf("beside one of which nothing is known: %+v, %v; at rest %+v", unknown, err, atRest)
	}
	for name, s := range map[string]profile.Sample{"none": {}, "nothing": {MemUsed: profile.Some(profile.Bytes(0))}, "negative": {MemUsed: profile.Some(profile.Bytes(-1))}} {
		var fault *colloc.FaultError
		if _, err := colloc.Foreign("foreign", gpu, s); !errors.As(err, &fault) || fault.Task != "foreign" || fault.Field != "MemUsed" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConstraintFaults: each field that cannot be is a fault of its own.
func TestConstraintFaults(t *testing.T) {
	for _, tt := range []struct {
		field string
		set   func(*colloc.Task)
	}{
		{"Labels", func(t *colloc.Task) { t.Labels = []string{"a", ""} }},
		{"Avoid", func(t *colloc.Task) { t.Avoid = []string{"\n"} }},
		{"Only", func(t *colloc.Task) { t.Only = []string{""} }},
		{"On", func(t *colloc.Task) { t.On = []string{""} }},
		{"MoveCost", func(t *colloc.Task) { t.MoveCost = -1 }},
		{"Home", func(t *colloc.Task) { t.Home = "elsewhere" }},
		{"Home", func(t *colloc.Task) { t.Home, t.GPUs = "g", 2 }},
	} {
		task := seen(t, "task", 0.2, 0.1, profile.GiB)
		tt.set(&task)
		_, err := shared(t).Plan(t.Context(), []colloc.Task{task}, []colloc.GPU{card(t, "g"), card(t, "h")})
		if faults := colloc.Faults(err); len(faults) != 1 || faults[0].Field != tt.field || faults[0].Task != "task" || faults[0].TaskIndex != 0 {
			t.Errorf("%s: %v", tt.field, err)
		}
	}
	gpu := card(t, "g")
	gpu.Labels = []string{""}
	_, err := shared(t).Fit(seen(t, "task", 0.2, 0.1, profile.GiB), gpu)
	if faults := colloc.Faults(err); len(faults) != 1 || faults[0].Field != "Labels" || faults[0].GPU != "g" {
		t.Errorf("labels of a GPU: %v", err)
	}
}

// TestPlanServesClasses: a task of a high class gets the GPU that a heavier one of a
// lower class holds, and the lower one joins it where it may.
func TestPlanServesClasses(t *testing.T) {
	low, high := seen(t, "low", 0.3, 0.1, 4*profile.GiB), seen(t, "high", 0.3, 0.1, 4*profile.GiB)
	low.Weight, low.Home, low.MoveCost = 100, "g", 16
	high.Alone = true
	gpus := []colloc.GPU{card(t, "g")}
	runs := func(tasks ...colloc.Task) string {
		t.Helper()
		plan, err := shared(t).Plan(t.Context(), tasks, gpus)
		if err != nil || len(plan.Placements) != 1 {
			t.Fatalf("%+v, %v", plan, err)
		}
		var ids []string
		for _, m := range plan.Placements[0].Members {
			ids = append(ids, m.Task)
		}
		return strings.Join(ids, "+")
	}
	if got := runs(low, high); got != "low" {
		t.Errorf("without classes %s runs", got)
	}
	high.Priority = 1
	if got := runs(low, high); got != "high" {
		t.Errorf("of the higher class, alone: %s runs", got)
	}
	high.Alone, high.Weight = false, 100
	if got := runs(low, high); got != "low+high" {
		t.Errorf("of the higher class: %s run", got)
	}
}

// TestScoreHome: at home a task scores more by what a move costs.
func TestScoreHome(t *testing.T) {
	task, other := seen(t, "task", 0.9, 0.5, profile.GiB), seen(t, "other", 0.9, 0.5, profile.GiB)
	task.Home, task.MoveCost = "home", 2
	gpus := []colloc.GPU{card(t, "empty"), card(t, "home", other)}
	if i, v, err := shared(t).Best(task, gpus); err != nil || i != 1 || !v.Fits {
		t.Errorf("a costly move: %d, %v, %v", i, v, err)
	}
	task.MoveCost = 0
	if i, _, err := shared(t).Best(task, gpus); err != nil || i != 0 {
		t.Errorf("a free move: %d, %v", i, err)
	}
}
