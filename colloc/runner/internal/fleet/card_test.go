package fleet

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

func TestFind(t *testing.T) {
	mode := profile.Some[nvmlx.ComputeMode]
	has := profile.Some(gib)
	devices := []nvmlx.DeviceInfo{
		{ID: "GPU-whole", Memory: has},
		{ID: "GPU-cut", MIGEnabled: profile.Some(true)},
		{ID: "MIG-1", Parent: "GPU-cut", Memory: has},
		{ID: "GPU-uncut", MIGEnabled: profile.Some(true)},
		{ID: "GPU-closed", ComputeMode: mode(nvmlx.ComputeProhibited)},
	}
	for _, tt := range []struct {
		name    string
		gpus    []nvmlx.DeviceID
		devices []nvmlx.DeviceInfo
		want    string
		leftOut int
		err     string
	}{
		{"all", nil, devices, "GPU-whole MIG-1", 1, ""},
		{"a GPU that is cut", []nvmlx.DeviceID{"GPU-cut"}, devices, "MIG-1", 0, ""},
		{"one that is to be cut", []nvmlx.DeviceID{"GPU-uncut"}, devices, "", 0, "GPU-uncut is in MIG mode and has no instance"},
		{"a closed one", []nvmlx.DeviceID{"GPU-closed", "GPU-whole"}, devices, "GPU-whole", 0, "GPU-closed is closed to programs: its compute mode is prohibited"},
		{"nobody", []nvmlx.DeviceID{"GPU-x"}, devices, "", 0, "no such device: GPU-x"},
		{"of an unknown size", nil, []nvmlx.DeviceInfo{devices[0], {ID: "GPU-new"}}, "GPU-whole", 1, ""},
		{"only closed ones", nil, devices[4:], "", 1, "no such device: GPU GPU-closed is left out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cards, leftOut, err := Find(t.Context(), modes{devices: tt.devices}, tt.gpus)
			var got []string
			for _, c := range cards {
				got = append(got, string(c.Info.ID))
			}
			if strings.Join(got, " ") != tt.want || len(leftOut) != tt.leftOut {
				t.Errorf("got %q, left out %q", got, leftOut)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}
