package rig

import (
	"errors"
	"os"
	"strings"
	"testing"

	"example.com/colloc/internal/filelock"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func TestChooseDevice(t *testing.T) {
	devices := []nvmlx.DeviceInfo{
		{ID: "GPU-1", ComputeMode: profile.Some(nvmlx.ComputeDefault)},
		{ID: "GPU-2", Index: 1, MIGEnabled: profile.Some(true)},
		{ID: "GPU-3", Index: 2, ComputeMode: profile.Some(nvmlx.ComputeExclusiveProcess)},
	}
	for _, tt := range []struct{ flag, visible, want, err string }{
		{"GPU-1", "-", "GPU-1", ""},
		{"0", "2", "GPU-1", ""},
		{"1", "-", "", "MIG mode: choose one of its instances"},
		{"GPU-3", "-", "", `compute mode "exclusive process"`},
		{"GPU-3", "-", "", "nvidia-smi -i GPU-3 -c DEFAULT"},
		{"7", "-", "", "no such GPU here: -gpu 7; there are: 0 (GPU-1), 1 (GPU-2), 2 (GPU-3)"},
		{"", "-", "GPU-1", ""},
		{"", "GPU-1,2", "GPU-1", ""},
		{"", "1", "", "GPU GPU-2 is in MIG mode"},
		{"", "", "", "no such GPU here: CUDA_VISIBLE_DEVICES=; there are: 0"},
	} {
		t.Setenv("CUDA_VISIBLE_DEVICES", tt.visible)
		if tt.visible == "-" {
			if err := os.Unsetenv("CUDA_VISIBLE_DEVICES"); err != nil {
				t.Fatal(err)
			}
		}
		d, err := chooseDevice(devices, tt.flag)
		if tt.err == "" && (err != nil || string(d.ID) != tt.want) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("-gpu %q, visible %q: %s, %v", tt.flag, tt.visible, d.ID, err)
		}
	}
	if _, err := chooseDevice(nil, "0"); err == nil || !strings.Contains(err.Error(), "there are: none") {
		t.Errorf("without GPUs: %v", err)
	}
}

func TestLockDevice(t *testing.T) {
	dir := t.TempDir()
	f, err := lockDevice(dir, "GPU-7/../x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockDevice(dir, "GPU-7/../x"); !errors.Is(err, filelock.ErrInUse) {
		t.Errorf("locked twice: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(f.Name(), 0o444); err != nil { // as another user's
		t.Fatal(err)
	}
	again, err := lockDevice(dir, "GPU-7/../x")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
