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
	} {
		if _, err := (&Table{Runs: []row{one}}).Unpack(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
