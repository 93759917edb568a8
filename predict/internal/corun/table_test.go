package corun

import (
	"encoding/json"
	"reflect"
	"testing"

	"example.com/colloc/profile"
)

// TestPack: a table holds each task once and gives back what Strip left.
func TestPack(t *testing.T) {
	var runs []Run
	for i := range 6 {
		p := &profile.Profile{Spec: profile.Spec{Model: profile.Model{Name: "net", Layers: make([]profile.Layer, 2)}}}
		if err := p.Vector.Set(profile.MeanGPUBusy, float64(i%2)); err != nil { // a use of 0 is one, too
			t.Fatal(err)
		}
		runs = append(runs, Strip(Run{
			Set: []*profile.Profile{p, nil}, Speeds: []profile.Opt[float64]{profile.Some(0.5), {}}, Groups: []string{"a", "b"},
		}))
	}
	table := Pack(runs)
	if len(table.Tasks) != 2 || len(table.Runs) != 6 {
		t.Fatalf("%d tasks and %d co-runs, want 2 and 6", len(table.Tasks), len(table.Runs))
	}
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var read Table
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	back, err := read.Unpack()
	if err != nil || !reflect.DeepEqual(back, runs) {
		t.Errorf("%+v, %v; want %+v", back, err, runs)
	}
	if runs[0].Set[0].Spec.Model.Layers != nil {
		t.Error("Strip keeps layers")
	}
}

// TestUnpackChecks: a place that no task has is an error, and so are lengths that differ.
func TestUnpackChecks(t *testing.T) {
	for name, one := range map[string]row{
		"before the first": {Set: []int{-2, -1}, Speeds: []float64{1, 1}},
		"after the last":   {Set: []int{0, -1}, Speeds: []float64{1, 1}},
		"lengths":          {Set: []int{-1, -1}, Speeds: []float64{1}},
		"families":         {Set: []int{-1, -1}, Speeds: []float64{1, 1}, Groups: []string{"a"}},
	} {
		if _, err := (&Table{Runs: []row{one}}).Unpack(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestStripKeepsTheTask: what a fit reads of a task is kept in memory and in a table, and a
// feature that was not measured stays so.
func TestStripKeepsTheTask(t *testing.T) {
	p := &profile.Profile{GPU: profile.GPUModel{Name: "T4", Memory: 16 * profile.GiB}}
	p.Spec.Model.Name, p.Spec.Dataset.Name = "net", "set"
	p.Spec.Training.BatchSize, p.Spec.Training.Precision = 32, profile.Mixed
	for f, v := range map[profile.Feature]float64{profile.MeanGPUBusy: 0.5, profile.BatchSize: 32, profile.PeakMemory: 1e9} {
		if err := p.Vector.Set(f, v); err != nil {
			t.Fatal(err)
		}
	}
	want := &profile.Profile{Vector: p.Vector, GPU: profile.GPUModel{Memory: p.GPU.Memory}}
	want.Spec.Model.Name, want.Spec.Dataset.Name, want.Spec.Training = "net", "set", profile.Training{BatchSize: 32, Precision: profile.Mixed}
	run := Strip(Run{Set: []*profile.Profile{p}, Speeds: make([]profile.Opt[float64], 1)})
	if !reflect.DeepEqual(run.Set[0], want) {
		t.Errorf("stripped %+v, want %+v", run.Set[0], want)
	}
	table := Pack([]Run{run})
	back, err := table.Unpack()
	if err != nil || len(back) != 1 || !reflect.DeepEqual(back[0], run) {
		t.Errorf("%+v, %v, want %+v", back, err, run)
	}
	table.Tasks[0].Use[1] = -1
	if _, err := table.Unpack(); err == nil {
		t.Error("a share below 0: no error")
	}
}
