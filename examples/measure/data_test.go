package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"example.com/colloc/examples/measure/internal/table"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// learn reads a table as package predict does.
func learn(t *testing.T, name string) []interference.Observation {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := dataset.ReadMeasured(name, f)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]interference.Observation, len(rows))
	for i := range rows {
		list[i] = rows[i].Observation
	}
	return list
}

// specs reads the descriptions beside a table.
func specs(t *testing.T, name string) map[string]*profile.Spec {
	t.Helper()
	text, err := os.ReadFile(tasksFile(name))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]*profile.Spec
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDataFolder checks that nothing in the folder of measurements was
// simulated, and that it can be read.
func TestDataFolder(t *testing.T) {
	files, err := filepath.Glob("data/*.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		rows, err := table.Load(name)
		if err != nil {
			t.Error(err)
		}
		for i := range rows {
			if rows[i].Simulated != "false" {
				t.Fatalf("%s: row %d is simulated", name, i+1)
			}
		}
		if len(learn(t, name)) == 0 || len(specs(t, name)) == 0 {
			t.Errorf("%s: no pairs, or no descriptions", name)
		}
	}
	if _, err := os.Stat("data/README.md"); err != nil {
		t.Error(err)
	}
}

// TestLearned goes from simulated runs to a fitted predictor, which must know more
// than its prior.
func TestLearned(t *testing.T) {
	dir := t.TempDir()
	raw, name := filepath.Join(dir, "raw.jsonl"), filepath.Join(dir, "table.csv")
	for _, args := range [][]string{
		{"-fake", "-out", raw, "-tasks", "resnet50-mixed,bert-mini,lstm,dlrm", "-repeats", "1", "-triples", "0", "-quadruples", "0", "-keep", "40", "-warmup", "1s", "-measure", "2s"},
		{"-out", raw, "-csv", name},
	} {
		if code, _, stderr := program(t, args...); code != 0 {
			t.Fatalf("%q: exit status %d:\n%s", args, code, stderr)
		}
	}
	pairs := learn(t, name)
	if len(pairs) != 2*10+3*2 { // all under both, and a quarter again
		t.Errorf("%d pairs", len(pairs))
	}
	fitted, err := interference.Fit(pairs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if learned, prior := score(t, fitted, pairs), score(t, &interference.Predictor{}, pairs); learned >= prior {
		t.Errorf("mean error %.3f after fitting, %.3f before", learned, prior)
	}
}

// score is the mean absolute error of predicted speeds.
func score(t *testing.T, m *interference.Predictor, speeds []interference.Observation) float64 {
	t.Helper()
	sum, n := 0.0, 0
	for _, o := range speeds {
		got, err := m.Speeds(&o.Set[0].GPU, o.Mechanism, o.Set, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			sum += math.Abs(got[i].Value - o.Speeds[i].Or(0))
			n++
		}
	}
	return sum / float64(n)
}
