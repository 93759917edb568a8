package slurm

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// TestModelsKeepAll: what watch learned comes back whole, paces and co-runs too; a damaged file is refused by name.
func TestModelsKeepAll(t *testing.T) {
	t.Chdir(t.TempDir())
	const dir = "models"
	if err := os.WriteFile("sweep.json", []byte(`{"format": "colloc-tasks", "version": 1, "tasks": [{"id": "a", "command": ["x"], "training": {"batch_size": 1}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func() (*desk, error) {
		f := flag.NewFlagSet("plan", flag.ContinueOnError)
		in := inputFlags(f)
		if err := f.Parse([]string{"-sweep", "sweep.json", "-models", dir}); err != nil {
			t.Fatal(err)
		}
		return (&program{}).open(in)
	}
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	gpu, _ := profile.LookupGPU("RTX 3090")
	p, err := profile.New(profile.Spec{Model: profile.Model{Name: "bert"}, Training: profile.Training{BatchSize: 32}}, profile.Trace{}, gpu)
	if err != nil {
		t.Fatal(err)
	}
	alone := colloc.Measurement{Profile: &p, Throughput: profile.Some(40.0), Peak: profile.Some(9 * profile.GiB)}
	shared := colloc.Measurement{Profile: &p, Speed: profile.Some(0.3)}
	for _, members := range [][]colloc.Measurement{{alone}, {shared, shared}} {
		if err := m.planner.Observe(colloc.Observation{GPU: gpu, Members: members}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.keepModels(); err != nil {
		t.Fatal(err)
	}
	saved := func(p *colloc.Planner) string {
		var text bytes.Buffer
		if err := p.Save(&text); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	back, err := load()
	if err != nil || saved(back.planner) != saved(m.planner) {
		t.Errorf("%v: what was loaded is not what was saved", err)
	}

	task := colloc.Task{ID: "bert", Profile: &p}
	beside := colloc.GPU{ID: "g", Model: gpu, Residents: []colloc.Task{{ID: "other", Profile: &p}}}
	want, err := m.planner.Fit(task, beside)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := fresh.Fit(task, beside); err != nil || plain.Speed == want.Speed {
		t.Fatalf("nothing was learned: %+v, %v", plain, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "learned.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(); err == nil || !strings.Contains(err.Error(), "learned.json") {
		t.Errorf("a damaged file: %v", err)
	}
}
