package gpuinfo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/nvmlx"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// oneGPU is a source whose memory in use is 500 MiB, and with a probe that runs
// what that holds.
type oneGPU struct {
	holds  func() profile.Bytes
	others []nvmlx.Process // on the first of two GPUs; without any there is one
}

func (oneGPU) Info(context.Context) (nvmlx.SystemInfo, error) { return nvmlx.SystemInfo{}, nil }

func (g oneGPU) Devices(context.Context) ([]nvmlx.DeviceInfo, error) {
	devices := []nvmlx.DeviceInfo{{ID: "GPU-1", Name: "Made-up GPU"}}
	if g.others != nil {
		devices = []nvmlx.DeviceInfo{{ID: "GPU-0", Name: "Another"}, {ID: "GPU-1", Index: 1, Name: "Made-up GPU"}}
	}
	return devices, nil
}

func (g oneGPU) Read(context.Context, nvmlx.DeviceID, nvmlx.Fields) (nvmlx.Sample, error) {
	var s nvmlx.Sample
	s.MemUsed = profile.Some(500*profile.MiB + g.holds())
	return s, nil
}

func (g oneGPU) Processes(_ context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	switch {
	case g.others == nil:
		return nil, nvmlx.ErrNotSupported // as in a container
	case id == "GPU-0":
		return g.others, nil
	}
	return []nvmlx.Process{{PID: 7, Kind: nvmlx.GraphicsProcess}}, nil
}

func (oneGPU) Close() error { return nil }

// pretend is a probe in sh: it holds memory, as the marker tells the source, from
// getting ready to its end.
func pretend(t *testing.T, script string) (command []string, holds func() profile.Bytes) {
	t.Helper()
	marker := filepath.Join(t.TempDir(), "held")
	return []string{"sh", "-c", script, "sh", marker}, func() profile.Bytes {
		if _, err := os.Stat(marker); err != nil {
			return 0
		}
		return 600 * profile.MiB
	}
}

func TestMeasureContext(t *testing.T) {
	command, holds := pretend(t, `test "$CUDA_VISIBLE_DEVICES" = GPU-1 && touch "$1" && echo "ready 2.4.1+cu121" && cat && rm "$1"`)
	for _, others := range [][]nvmlx.Process{nil, {{PID: 1}}} { // then GPU-1 is the first that is idle
		got, err := measureContext(t.Context(), oneGPU{holds, others}, command)
		if err != nil {
			t.Fatal(err)
		}
		want := predict.Host{Name: "Made-up GPU 2.4.1+cu121", Context: profile.Some(600 * profile.MiB)}
		if got != want {
			t.Errorf("host %+v, want %+v", got, want)
		}
	}
	if holds() != 0 {
		t.Error("the probe still runs")
	}
}

func TestMeasureContextRefuses(t *testing.T) {
	tests := []struct {
		name, script, want string
		visible            string
		others             []nvmlx.Process
	}{
		{name: "no framework", script: "echo no module named torch >&2; exit 1", want: "no module named torch"},
		{name: "nothing held", script: "echo ready 2.4; cat", want: "500 MiB after"},
		{name: "no version", script: `touch "$1"; echo "ready "; cat`, want: "did not get ready"},
		{name: "not idle", script: "exit 1", want: "no idle GPU among 1: 1 processes compute there", visible: "0", others: []nvmlx.Process{{PID: 1}}},
		{name: "hidden", script: "exit 1", want: "CUDA_VISIBLE_DEVICES=7 names no GPU", visible: "7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			command, holds := pretend(t, tt.script)
			if tt.visible != "" {
				t.Setenv("CUDA_VISIBLE_DEVICES", tt.visible)
			}
			_, err := measureContext(t.Context(), oneGPU{holds, tt.others}, command)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("no interpreter", func(t *testing.T) {
		_, holds := pretend(t, "")
		_, err := measureContext(t.Context(), oneGPU{holds: holds}, []string{filepath.Join(t.TempDir(), "python")})
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want that there is no such file", err)
		}
	})
}
