package smi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.com/colloc/examples/measure/internal/rigtest"
	"example.com/colloc/examples/measure/internal/smi"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

func TestMain(m *testing.M) {
	rigtest.Play()
	goleak.VerifyTestMain(m)
}

// reader is all that nvidia-smi can do.
type reader interface {
	nvmlx.Source
	nvmlx.ProcessReader
}

func open(t *testing.T) reader {
	t.Helper()
	s, ok := smi.Open().(reader)
	if !ok {
		t.Fatal("no nvidia-smi that lists processes")
	}
	return s
}

func TestSMI(t *testing.T) {
	rigtest.SMI(t, rigtest.Shared)
	s, ctx := open(t), t.Context()
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

func TestSMIFails(t *testing.T) {
	rigtest.SMI(t, rigtest.Broken)
	s := open(t)
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
	if smi.Open() != nil {
		t.Error("found an nvidia-smi where there is none")
	}
}
