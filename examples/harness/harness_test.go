package harness_test

import (
	"os"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/examples/harness"
	"example.com/colloc/profile"
)

// pickFirstFit is the scheduler under test: it looks at memory alone, as most do.
func pickFirstFit(need profile.Bytes, gpus []colloc.GPU) string {
	for _, g := range gpus {
		free := g.Memory
		for _, r := range g.Residents {
			free -= r.Reserved
		}
		if need <= free {
			return g.ID
		}
	}
	return ""
}

// TestFirstFitIsNotGoodEnough plays a recorded host and shows what the harness
// is for: the scheduler's choice is legal, and not the best.
func TestFirstFitIsNotGoodEnough(t *testing.T) {
	file, err := os.Open("testdata/two-3090.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	gpus, tasks, err := harness.Recorded(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if len(gpus) != 2 || gpus[0].Memory != 24*profile.GiB {
		t.Fatalf("got %d GPUs, the first with %v; want 2 with 24 GiB", len(gpus), gpus[0].Memory)
	}
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// The busy task runs on the first GPU, the calm one on the second.
	calm, busy := tasks[0], tasks[1]
	for i, resident := range []colloc.Task{busy, calm} {
		v, err := planner.Fit(resident, gpus[i])
		if err != nil || !v.Fits {
			t.Fatalf("%s on an empty GPU: %v, %v", resident.ID, v, err)
		}
		resident.Reserved = v.Reserved
		gpus[i].Residents = []colloc.Task{resident}
	}
	next := calm
	next.ID = "next" // another seed of the calm task
	chosen, best, bestScore := pickFirstFit(4*profile.GiB, gpus), "", -1.0
	for _, g := range gpus {
		v, err := planner.Fit(next, g)
		if err != nil {
			t.Fatal(err)
		}
		if !v.Fits && g.ID == chosen {
			t.Errorf("first fit chose %s, where a limit forbids it: %v", chosen, v)
		}
		score, err := planner.Score(next, g)
		if err != nil {
			t.Fatal(err)
		}
		if score > bestScore {
			best, bestScore = g.ID, score
		}
	}
	if chosen != "GPU-a" || best != "GPU-b" {
		t.Errorf("first fit chose %s and colloc %s; want GPU-a beside the busy task, and GPU-b", chosen, best)
	}
}

// TestUnknownDevice checks that a recording of unknown hardware is told apart.
func TestUnknownDevice(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(`{"format":"nvmlx-trace","version":1,"system":{},"devices":[{"id":"GPU-x","index":0,"name":"Voodoo 2"}]}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := harness.Recorded(t.Context(), file); err == nil {
		t.Error("an unknown product gave no error")
	}
}
