package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// smiEnv makes the test binary play nvidia-smi; its value is how.
const smiEnv = "COLLOC_MEASURE_FAKE_SMI"

func playSMI(args []string) int {
	query := strings.Join(args, " ")
	switch {
	case os.Getenv(smiEnv) == "broken":
		fmt.Println("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
		return 9
	case strings.Contains(query, "compute-apps="):
		fmt.Println("4711, python3, 1500\n4712, [Not Found], [N/A]")
	case strings.Contains(query, "=driver_version"):
		fmt.Println("580.95.05")
	case strings.Contains(query, "=uuid,"):
		fmt.Println("GPU-1, 0, NVIDIA A100-SXM4-40GB, 40960, Disabled, Default")
		fmt.Println("GPU-2, 1, NVIDIA A100-SXM4-40GB, 40960, Enabled, Default")
		fmt.Println("GPU-3, 2, Tesla T4, 15360, [N/A], Exclusive_Process")
	default:
		fmt.Println("87, 40, 1536, [N/A], 1410, 1215, 61")
	}
	return 0
}

// fakeSMI returns a source on the test binary.
func fakeSMI(t *testing.T, how string) smi {
	t.Helper()
	t.Setenv(smiEnv, how)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return smi{program}
}

func TestSMI(t *testing.T) {
	s, ctx := fakeSMI(t, "well"), t.Context()
	info, err := s.Info(ctx)
	if err != nil || info.Driver != "580.95.05" {
		t.Errorf("Info() = %+v, %v", info, err)
	}
	devices, err := s.Devices(ctx)
	if err != nil || len(devices) != 3 {
		t.Fatalf("Devices() = %+v, %v", devices, err)
	}
	if d := devices[0]; d.ID != "GPU-1" || d.Memory.Or(0) != 40*profile.GiB || d.MIGEnabled.Or(true) {
		t.Errorf("device 0: %+v", d)
	}
	if !devices[2].MIGEnabled.IsZero() {
		t.Error("[N/A] became a value")
	}
	sample, err := s.Read(ctx, "GPU-1", nvmlx.FieldsAll)
	if err != nil {
		t.Fatal(err)
	}
	if got := sample.GPUBusy.Or(0); got != 0.87 || sample.MemUsed.Or(0) != 1536*profile.MiB {
		t.Errorf("sample %+v", sample)
	}
	if !sample.PowerWatts.IsZero() || !errors.Is(sample.Missing.Why(nvmlx.FieldPower), nvmlx.ErrNotSupported) {
		t.Errorf("power is %v because %v, want it missing", sample.PowerWatts, sample.Missing.Why(nvmlx.FieldPower))
	}
	list, err := s.Processes(ctx, "GPU-1")
	want := []nvmlx.Process{
		{PID: 4711, Name: "python3", MemUsed: profile.Some(1500 * profile.MiB)},
		{PID: 4712, Name: "[Not Found]"},
	}
	if diff := cmp.Diff(want, list, cmp.Comparer(func(a, b profile.Opt[profile.Bytes]) bool { return a == b }),
		cmp.Comparer(func(a, b profile.Opt[float64]) bool { return a == b }),
		cmp.Comparer(func(a, b profile.Opt[int]) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("processes: %v (-want +got)\n%s", err, diff)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestChooseDevice(t *testing.T) {
	devices, err := fakeSMI(t, "well").Devices(t.Context())
	if err != nil {
		t.Fatal(err)
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

func TestSMIFails(t *testing.T) {
	s := fakeSMI(t, "broken")
	if _, err := s.Read(t.Context(), "GPU-1", nvmlx.FieldsAll); !errors.Is(err, nvmlx.ErrTransient) || !strings.Contains(err.Error(), "communicate with the NVIDIA driver") {
		t.Errorf("Read: %v", err)
	}
	if _, err := s.Devices(t.Context()); err == nil {
		t.Error("Devices: no error")
	}
	if _, err := s.Processes(t.Context(), "GPU-1"); err == nil {
		t.Error("Processes: no error")
	}
	t.Setenv("PATH", t.TempDir())
	if openSMI() != nil {
		t.Error("found an nvidia-smi where there is none")
	}
}

// TestScripts checks that the workloads can be written where Python finds them.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, scripts); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "workloads", "worker.py")); err != nil {
		t.Error(err)
	}
}
