package nvmlx_test

import (
	"strings"
	"testing"

	"example.com/colloc/nvmlx"
)

// TestReplayKeepsItsInstances: who changes the list of MIG instances does not change
// what the next one gets.
func TestReplayKeepsItsInstances(t *testing.T) {
	var file strings.Builder
	src := &fake{n: 1, mig: func(id nvmlx.DeviceID) (nvmlx.MIGInventory, error) {
		return nvmlx.MIGInventory{Enabled: true, Instances: []nvmlx.MIGInstance{{ID: "MIG-" + id}}}, nil
	}}
	rec := nvmlx.Record(&file, src)
	if _, err := rec.Devices(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := rec.MIG(t.Context(), gpu(0)); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	replay, err := nvmlx.Replay(strings.NewReader(file.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := replay.MIG(t.Context(), gpu(0))
		if err != nil || len(got.Instances) != 1 || got.Instances[0].ID != "MIG-"+gpu(0) {
			t.Fatalf("instances %v, %v", got.Instances, err)
		}
		got.Instances[0].ID = "mine"
	}
}
