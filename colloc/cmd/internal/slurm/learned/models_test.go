package learned

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// TestModelsKeepAll: what watch learned comes back whole, paces and co-runs too; the
// two files of older versions are read where there is no newer one, and a damaged file
// is refused by name.
func TestModelsKeepAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	m := Models{dir: dir}
	var err error
	if m.Planner, err = colloc.New(colloc.Config{}); err != nil {
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
		if err := m.Planner.Observe(colloc.Observation{GPU: gpu, Members: members}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Save(); err != nil {
		t.Fatal(err)
	}
	saved := func(p *colloc.Planner) string {
		var text bytes.Buffer
		if err := p.Save(&text); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	back, err := Load(dir, colloc.Config{})
	if err != nil || saved(back.Planner) != saved(m.Planner) {
		t.Errorf("%v: what was loaded is not what was saved", err)
	}

	old := t.TempDir()
	for name, write := range map[string]func(io.Writer) error{"interference.json": m.Planner.Config().Interference.Save, "memory.json": m.Planner.Config().Memory.Save} {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(old, name), text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from, err := Load(old, colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	task := colloc.Task{ID: "bert", Profile: &p}
	beside := colloc.GPU{ID: "g", Model: gpu, Residents: []colloc.Task{{ID: "other", Profile: &p}}}
	want, err := m.Planner.Fit(task, beside)
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
	if got, err := from.Planner.Fit(task, beside); err != nil || got.Speed != want.Speed || got.Memory != want.Memory {
		t.Errorf("by the files of an older version speed %+v and memory %+v, %v; want %+v and %+v", got.Speed, got.Memory, err, want.Speed, want.Memory)
	}
	if err := os.WriteFile(filepath.Join(old, "learned.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(old, colloc.Config{}); err == nil || !strings.Contains(err.Error(), "learned.json") {
		t.Errorf("a damaged file: %v", err)
	}
}
