package colloc_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// blind makes a task of which only parameters are known.
func blind(tb testing.TB, id string, params int64) colloc.Task {
	tb.Helper()
	spec := profile.Spec{
		Model:    profile.Model{Name: id, Layers: []profile.Layer{{Kind: profile.Linear, Params: params, Unknown: profile.ActivationCounts}}},
		Training: profile.Training{BatchSize: 8, Optimizer: profile.Adam},
		Warnings: []string{"print(model) tells no activations"},
	}
	p, err := profile.New(spec, profile.Trace{}, gpuModel(tb, "RTX 3090"))
	if err != nil {
		tb.Fatal(err)
	}
	return colloc.Task{ID: id, Profile: &p}
}

// TestBlindTaskTakesWholeGPU: a task that may need any amount runs alone on a GPU
// that holds what is known of it, and nobody joins it.
func TestBlindTaskTakesWholeGPU(t *testing.T) {
	p := shared(t)
	unknown, light := blind(t, "unknown", 1_000_000), seen(t, "light", 0.2, 0.05, 2*profile.GiB)
	usable := colloc.Usable(24*profile.GiB, 0.1)
	for _, c := range []struct {
		name string
		task colloc.Task
		gpu  colloc.GPU
		code packer.ReasonCode
	}{
		{"empty GPU", unknown, card(t, "g"), 0},
		{"beside another", unknown, card(t, "g", light), packer.MemoryLimit},
		{"another beside it", light, card(t, "g", unknown), packer.MemoryLimit},
		{"too large for any", blind(t, "huge", 10_000_000_000), card(t, "g"), packer.MemoryLimit},
	} {
		v, err := p.Fit(c.task, c.gpu)
		if err != nil || v.Code != c.code || v.Fits != (c.code == 0) {
			t.Errorf("%s: %+v, %v; want %v", c.name, v, err, c.code)
		}
		if c.name == "empty GPU" && v.Reserved != usable {
			t.Errorf("reserves %v, want %v", v.Reserved, usable)
		}
	}
	plan, err := p.Plan(t.Context(), []colloc.Task{unknown, light}, []colloc.GPU{card(t, "a"), card(t, "b")})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Placements) != 2 || plan.Tasks[0].Reserved != memory.Whole {
		t.Fatalf("%d placements, %v reserved; want 2 and a whole GPU", len(plan.Placements), plan.Tasks[0].Reserved)
	}
	for _, pl := range plan.Placements {
		if len(pl.Members) != 1 || pl.Members[0].Task == "unknown" && (pl.Reserved != usable || pl.Members[0].Reserved != usable) {
			t.Errorf("placement %+v", pl)
		}
	}
	told := false
	for _, n := range plan.Notes {
		told = told || n.ID == "unknown" && n.Code == packer.UnknownNeed && reflect.DeepEqual(n.Reliefs, []colloc.Relief{{Kind: colloc.TellNeed, Task: "unknown"}})
	}
	if !told {
		t.Errorf("no note says that the need of unknown is not known, and to tell it: %+v", plan.Notes)
	}
	var text bytes.Buffer
	if err := plan.Explain(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"whole GPU", "- unknown", "unknown: print(model) tells no activations", "unknown: its description does not tell what it keeps",
		"unknown runs alone: it reserves the whole GPU, as its need is not known; give its measured peak or describe the model.",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// TestBlindWaits: the need of a task that waits because it must have a GPU to itself is told
// as unknown, too.
func TestBlindWaits(t *testing.T) {
	light := seen(t, "light", 0.2, 0.05, profile.GiB)
	light.Weight = 2
	plan, err := shared(t).Plan(t.Context(), []colloc.Task{blind(t, "unknown", 1000), light}, []colloc.GPU{card(t, "g")})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range plan.Notes {
		if n.ID == "unknown" && n.Code == packer.GPUsTaken && n.Sharing == packer.UnknownNeed &&
			strings.Contains(n.Text, "as its need is not known; give its measured peak or describe the model. 1 more GPU would run it.") {
			return
		}
	}
	t.Errorf("got %+v", plan.Notes)
}

// TestNoTasks: a plan of nothing has lists for those who read its JSON, not null.
func TestNoTasks(t *testing.T) {
	plan, err := shared(t).Plan(t.Context(), nil, []colloc.GPU{card(t, "g")})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(plan)
	if err != nil || strings.Contains(string(text), "null") || !strings.Contains(string(text), `"tasks":[]`) {
		t.Errorf("got %s, %v", text, err)
	}
}

// TestBlindResidentsTogether: two residents of which nothing is known share a GPU
// already; the planner lets nobody else in, and is not upset.
func TestBlindResidentsTogether(t *testing.T) {
	p := shared(t)
	gpu := card(t, "g", blind(t, "one", 1000), blind(t, "two", 1000))
	light := seen(t, "light", 0.2, 0.05, profile.GiB)
	if v, err := p.Fit(light, gpu); err != nil || v.Fits {
		t.Errorf("got %+v, %v", v, err)
	}
	plan, err := p.Plan(t.Context(), []colloc.Task{light}, []colloc.GPU{gpu})
	if err != nil {
		t.Fatal(err)
	}
	for _, pl := range plan.Placements {
		for _, m := range pl.Members {
			if m.Task == "light" {
				t.Errorf("placed: %+v", pl)
			}
		}
	}
}

// TestFaultShowsWhatWasGiven: a number out of range is shown as it was given.
func TestFaultShowsWhatWasGiven(t *testing.T) {
	negative := seen(t, "negative", 0.2, 0.05, profile.GiB)
	negative.GPUs = -1
	if _, err := shared(t).Fit(negative, card(t, "g")); err == nil || !strings.Contains(err.Error(), "GPUs is -1, want 0") {
		t.Error(err)
	}
}
