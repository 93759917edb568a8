package colloc_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// TestSummarize: some ten lines, whatever the plan.
func TestSummarize(t *testing.T) {
	busy, light := seen(t, "busy", 0.95, 0.9, profile.GiB), func(i int) colloc.Task {
		return seen(t, fmt.Sprint("light", i), 0.05, 0.02, profile.GiB)
	}
	alone, huge := busy, busy
	alone.ID, alone.Alone = "hermit", true
	huge.ID, huge.Reserved = "huge", 90*profile.GiB
	for _, test := range []struct {
		name  string
		tasks []colloc.Task
		gpus  int
		want  []string
		not   string
	}{
		{"nothing", nil, 0, []string{"0 GPUs: 0.00 tasks' worth", "Proven"}, "wait"},
		{"one", []colloc.Task{busy}, 1, []string{"1 GPU: 1.00", "gpu0  busy 1.00  exclusive", "Nobody waits: 1 task."}, "share,"},
		{"crowd", []colloc.Task{light(0), light(1), light(2), light(3), light(4)}, 1, []string{"4 tasks share", "1 of 5 tasks waits", "Limit: on 1 GPU no more tasks may share", "Try: "}, ""},
		{"hermit", []colloc.Task{alone, light(0)}, 1, []string{"1 of 2 tasks waits", "Try: "}, ""},
		{"huge", []colloc.Task{huge}, 1, []string{"huge (larger than every GPU)", "Try: "}, ""},
		{"many", append([]colloc.Task{huge}, busy, light(0), light(1), light(2), light(3), light(4)), 9, []string{"more GPU"}, ""},
	} {
		var gpus []colloc.GPU
		for i := range test.gpus {
			gpus = append(gpus, card(t, fmt.Sprint("gpu", i)))
		}
		plan, err := shared(t).Plan(t.Context(), test.tasks, gpus)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := plan.Summarize(&out); err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", test.name, want, &out)
			}
		}
		if n := strings.Count(out.String(), "\n"); n > 12 || test.not != "" && strings.Contains(out.String(), test.not) {
			t.Errorf("%s: %d lines, or %q in\n%s", test.name, n, test.not, &out)
		}
	}
	if err := (*colloc.Plan)(nil).Summarize(&strings.Builder{}); err == nil {
		t.Error("there is no plan, and no error")
	}
}

// TestSummarizeMixed: what all intervals come to at worst is at most what the GPUs do, also
// where they differ; it is not said where a task counts more than others.
func TestSummarizeMixed(t *testing.T) {
	tasks := []colloc.Task{seen(t, "a", 0.2, 0.1, profile.GiB), seen(t, "b", 0.2, 0.1, profile.GiB), seen(t, "c", 0.2, 0.1, profile.GiB), seen(t, "d", 0.2, 0.1, profile.GiB)}
	slow, ok := profile.LookupGPU("T4")
	if !ok {
		t.Fatal("no T4")
	}
	gpus := []colloc.GPU{card(t, "fast"), {ID: "slow", Model: slow}}
	text := func() string {
		plan, err := shared(t).Plan(t.Context(), tasks, gpus)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := plan.Summarize(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	got := text()
	var does, worst float64
	_, line, found := strings.Cut(got, "of its speed alone; ")
	if _, err := fmt.Sscanf(got, "2 GPUs: %f", &does); err != nil || !found {
		t.Fatalf("%v: %s", err, got)
	}
	if _, err := fmt.Sscanf(line, "%f at the lower ends", &worst); err != nil || worst <= 0 || worst >= does {
		t.Errorf("%v, %v at worst: %s", err, worst, got)
	}
	tasks[0].Weight = 3
	if got := text(); strings.Contains(got, "lower ends") {
		t.Errorf("a weight is in the sum: %s", got)
	}
}

// TestWarnings: each once, with all whom it is about.
func TestWarnings(t *testing.T) {
	plan := colloc.Plan{Tasks: []colloc.Demand{{Task: "a", Warnings: []string{"x", "y"}}, {Task: "b"}, {Task: "c", Warnings: []string{"y"}}}}
	if got := strings.Join(plan.Warnings(), "; "); got != "a: x; a, c: y" {
		t.Errorf("got %q", got)
	}
}

// TestHelp: the cheapest thing comes first, and every kind of relief has its words.
func TestHelp(t *testing.T) {
	note := func(kinds ...colloc.ReliefKind) colloc.Note {
		n := colloc.Note{Reason: packer.Reason{ID: "a"}}
		for _, k := range kinds {
			n.Reliefs = append(n.Reliefs, colloc.Relief{Kind: k, Task: "a", Count: 1, Bytes: profile.GiB, Factor: 2})
		}
		return n
	}
	for k := colloc.ReserveLess; k <= colloc.ForgetMeasured; k++ {
		p := colloc.Plan{Notes: []colloc.Note{note(colloc.LargerGPU, k)}}
		if help := p.Help(); help == "" || k != colloc.LargerGPU && strings.HasPrefix(help, "a GPU that offers") {
			t.Errorf("%v: %q", k, help)
		}
	}
	if help := (&colloc.Plan{}).Help(); help != "" {
		t.Errorf("nobody waits: %q", help)
	}
}
