package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// TestNarrow draws a table of GPUs with the IDs that real ones have: 80 columns hold
// all of it.
func TestNarrow(t *testing.T) {
	v := &View{Now: time.Unix(1e9, 0)}
	var devices []nvmlx.DeviceInfo
	for i := range 2 {
		d := nvmlx.DeviceInfo{ID: nvmlx.DeviceID(fmt.Sprintf("GPU-8a5c21f0-5c4d-4b7e-9f1e-0123456789a%d", i)), Index: i}
		devices = append(devices, d)
		v.GPUs = append(v.GPUs, runner.GPUState{
			Device: d, Used: profile.Some(33500 * profile.MiB), Reserved: 35 * profile.GiB, Usable: 36 * profile.GiB, Busy: profile.Some(1.0), Tasks: []string{"a", "b"},
		})
		r := runner.Record{Task: runner.Task{ID: fmt.Sprintf("lr=0.0001,layers=64-64-64,model=resnet50,seed=%d", i)}, State: runner.Running, GPU: d.ID, Reserved: 12345 * profile.MiB}
		r.Peak, r.Step, r.Total, r.Speed = profile.Some(11111*profile.MiB), profile.Some[int64](99999), profile.Some[int64](100000), profile.Some(0.98)
		r.Predicted.Confidence, r.Predicted.Value, r.Started = 0.9, 0.97, v.Now.Add(-47*time.Hour)
		v.Records = append(v.Records, r)
	}
	names := NewNames(append(devices, nvmlx.DeviceInfo{ID: "MIG-8a5c21f0-5c4d-4b7e-9f1e-0123456789ab", Parent: devices[0].ID, Index: 2}))
	text := string(v.table(80, 40, names))
	for _, want := range []string{"\n0    ", "\n1    ", "TASKS\n", "TIME\n", "47h0m0s\n", "seed=0 ", "seed=1 "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) >= 80 {
			t.Errorf("cut off: %s", line)
		}
	}
	if got, want := names.in("run-0 started on "+string(devices[1].ID)+"; GPU "+string(devices[0].ID)+" is lost, MIG-8a5c21f0-5c4d-4b7e-9f1e-0123456789ab is not"),
		"run-0 started on GPU 1; GPU 0 is lost, mig2 is not"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
