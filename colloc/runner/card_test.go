//go:build linux

package runner

import (
	"context"
	"strings"
	"testing"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// modes is a source whose devices are in the modes of a real host.
type modes struct {
	nvmlx.Source
	devices []nvmlx.DeviceInfo
}

func (m modes) Devices(context.Context) ([]nvmlx.DeviceInfo, error) { return m.devices, nil }

// TestExclusiveMode shares a GPU that takes one process at a time by MPS, where
// that is allowed, whatever else is preferred.
func TestExclusiveMode(t *testing.T) {
	for _, tt := range []struct {
		mechanisms []profile.Mechanism
		want       profile.Mechanism
	}{
		{nil, profile.Exclusive},
		{[]profile.Mechanism{profile.TimeSlice}, profile.Exclusive},
		{[]profile.Mechanism{profile.TimeSlice, profile.MPS}, profile.MPS},
	} {
		g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) {
			c.Source = modes{c.Source, []nvmlx.DeviceInfo{{
				ID: "GPU-fake-0", Name: "A100-40GB", Memory: profile.Some(40 * profile.GiB), ComputeMode: profile.Some(nvmlx.ComputeExclusiveProcess),
			}}}
			c.Mechanisms = tt.mechanisms
		})
		g.submit(t, shell("true"))
		if r := g.finish(t)[0]; r.State != Succeeded || r.Mechanism != tt.want {
			t.Errorf("allowed %v: %v by %v, want %v: %s", tt.mechanisms, r.State, r.Mechanism, tt.want, r.Err)
		}
	}
}

// TestModes warns, once, of what the modes of GPUs keep tasks from.
func TestModes(t *testing.T) {
	g := newRig(t, t.TempDir(), gpuFile(1), func(c *Config) {
		c.Source = modes{c.Source, []nvmlx.DeviceInfo{
			{ID: "GPU-fake-0", Name: "A100-40GB", ComputeMode: profile.Some(nvmlx.ComputeExclusiveProcess)},
			{ID: "GPU-closed", ComputeMode: profile.Some(nvmlx.ComputeProhibited)},
		}}
	})
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range g.events {
		got = append(got, e.Text)
	}
	text := strings.Join(got, "\n")
	if len(got) != 2 || !strings.Contains(text, "GPU-closed is left out") || !strings.Contains(text, "GPU-fake-0 takes one process at a time") {
		t.Errorf("events:\n%s", text)
	}
}
