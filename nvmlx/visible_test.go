package nvmlx_test

import (
	"fmt"
	"slices"
	"testing"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func TestVisible(t *testing.T) {
	devices := []nvmlx.DeviceInfo{
		{ID: "GPU-aa11", Index: 0},
		{ID: "GPU-aa22", Index: 1},
		{ID: "MIG-c1", Parent: "GPU-aa22", Index: 0},
		{ID: "GPU-bb", Index: 2},
	}
	for list, want := range map[string][]nvmlx.DeviceID{
		"":                   nil,
		"0":                  {"GPU-aa11"},
		"2, 0":               {"GPU-bb", "GPU-aa11"},
		"GPU-bb,MIG-c1":      {"GPU-bb", "MIG-c1"},
		"GPU-aa2":            {"GPU-aa22"},
		"GPU-aa":             nil,
		"0,7,1":              {"GPU-aa11"},
		"-1":                 nil,
		"NoDevFiles":         nil,
		"MIG-GPU-aa22/1/0":   nil,
		"GPU-aa11,GPU-aa,0":  {"GPU-aa11"},
		"GPU-aa11000,GPU-bb": nil,
	} {
		if got := ids(nvmlx.Visible(devices, list)); !slices.Equal(got, want) {
			t.Errorf("%q shows %q, want %q", list, got, want)
		}
	}
}

func ids(devices []nvmlx.DeviceInfo) (ids []nvmlx.DeviceID) {
	for _, d := range devices {
		ids = append(ids, d.ID)
	}
	return ids
}

func TestRunnable(t *testing.T) {
	got := ids(nvmlx.Runnable([]nvmlx.DeviceInfo{
		{ID: "GPU-whole", MIGEnabled: profile.Some(false)},
		{ID: "GPU-cut", Index: 1, MIGEnabled: profile.Some(true)},
		{ID: "MIG-a", Parent: "GPU-cut"},
		{ID: "GPU-told-nothing", Index: 2},
		{ID: "GPU-uncut", Index: 3, MIGEnabled: profile.Some(true)},
		{ID: "GPU-cut-untold", Index: 4},
		{ID: "MIG-b", Parent: "GPU-cut-untold"},
	}))
	if want := []nvmlx.DeviceID{"GPU-whole", "MIG-a", "GPU-told-nothing", "MIG-b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func ExampleVisible() {
	devices := []nvmlx.DeviceInfo{{ID: "GPU-7c1a", Index: 0}, {ID: "GPU-93f0", Index: 1}}
	for _, d := range nvmlx.Visible(devices, "1") { // as in CUDA_VISIBLE_DEVICES=1
		fmt.Println(d.ID)
	}
	// Output:
	// GPU-93f0
}
