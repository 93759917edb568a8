package nvmlx_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/nvmlx"
)

// TestSamplerFullReadingOnce: after a failure the first reading is a full one, and the
// next ones are as often as before.
func TestSamplerFullReadingOnce(t *testing.T) {
	var asked []nvmlx.Fields
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	src := &fake{n: 1, read: func(id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
		if asked = append(asked, what); len(asked) == 7 {
			cancel()
		}
		if len(asked) == 2 {
			return nvmlx.Sample{}, nvmlx.ErrTransient
		}
		return nvmlx.Sample{Device: id}, nil
	}}
	const fast, full = nvmlx.FieldSMActive, nvmlx.FieldSMActive | nvmlx.FieldPower
	_, _, err := collect(ctx, src, nvmlx.SamplerConfig{
		Clock: nvmlx.NewVirtualClock(epoch), Slow: 4 * time.Second, Fast: time.Second,
		SlowFields: nvmlx.FieldPower, FastFields: nvmlx.FieldSMActive,
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run() = %v", err)
	}
	if want := []nvmlx.Fields{full, fast, full, full, fast, fast, fast}; !slices.Equal(asked, want) {
		t.Errorf("readings %v, want %v", asked, want)
	}
}

// TestSamplerEqualIntervals: a fast interval as long as the slow one is none.
func TestSamplerEqualIntervals(t *testing.T) {
	src := &fake{n: 1, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) { return nvmlx.Sample{Device: id}, nil }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := collect(ctx, src, nvmlx.SamplerConfig{Slow: time.Second, Fast: time.Second})
	if err == nil || !strings.Contains(err.Error(), "fast interval is 1s, want a part of the slow one, 1s") {
		t.Errorf("Run() = %v", err)
	}
}

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
