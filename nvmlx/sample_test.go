package nvmlx_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// full is a sample in which every counter has a value.
func full() nvmlx.Sample {
	one := profile.Some(1.0)
	s := nvmlx.Sample{Device: "GPU-1", MemClockMHz: one, Throttle: profile.Some(nvmlx.ThrottleThermal)}
	s.SMActive, s.SMOccupancy, s.TensorActive, s.DRAMActive, s.GPUBusy, s.MemBusy = one, one, one, one, one, one
	s.FP32Active, s.CPUBusy, s.PowerWatts, s.EnergyJoules, s.SMClockMHz, s.TempCelsius = one, one, one, one, one, one
	s.PCIeBytesPerSec, s.MemUsed, s.StepTime = one, profile.Some(profile.GiB), profile.Some(time.Second)
	return s
}

func TestSampleKeep(t *testing.T) {
	whole := full()
	if got := whole.Present(); got != nvmlx.FieldsAll {
		t.Fatalf("present %v, want all: a counter was forgotten in the test or in Present", got)
	}
	for f := nvmlx.FieldGPUBusy; f <= nvmlx.FieldsAll; f <<= 1 {
		s := full()
		s.Missing.Set(nvmlx.FieldsAll, nvmlx.ErrPermission)
		s.Keep(f)
		if s.Present() != f || s.Missing.Fields(nvmlx.ErrPermission) != f {
			t.Errorf("Keep(%v) leaves %v, with reasons for %v", f, s.Present(), s.Missing.Fields(nvmlx.ErrPermission))
		}
		// A counter has the same name in Fields and in JSON.
		s.Missing = nvmlx.Missing{}
		text, err := json.Marshal(s)
		var keys map[string]json.RawMessage
		if err := errors.Join(err, json.Unmarshal(text, &keys)); err != nil {
			t.Fatal(err)
		}
		if _, ok := keys[f.String()]; !ok || len(keys) != 2 {
			t.Errorf("%v is written as %s", f, text)
		}
	}
}

func TestMissing(t *testing.T) {
	var m nvmlx.Missing
	if !m.IsZero() || m.Why(nvmlx.FieldPower) != nil {
		t.Error("the zero value knows reasons")
	}
	m.Set(nvmlx.FieldPower|nvmlx.FieldEnergy, fmt.Errorf("deep below: %w", nvmlx.ErrNotSupported))
	m.Set(nvmlx.FieldTemp, errors.New("something else"))
	m.Set(nvmlx.FieldEnergy, nil)
	m.Set(^nvmlx.FieldsAll, nvmlx.ErrPermission) // no such counters
	if got := m.Why(nvmlx.FieldPower); !errors.Is(got, nvmlx.ErrNotSupported) {
		t.Errorf("power: %v", got)
	}
	if got := m.Why(nvmlx.FieldTemp); !errors.Is(got, nvmlx.ErrTransient) {
		t.Errorf("temperature: %v", got)
	}
	if m.Why(nvmlx.FieldEnergy) != nil || m.Why(0) != nil || m.Why(^nvmlx.FieldsAll) != nil {
		t.Error("a reason where there is none")
	}
	text, err := json.Marshal(m)
	if want := `{"power_watts":"not supported","temp_celsius":"failed for the moment"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	var back nvmlx.Missing
	if err := json.Unmarshal(text, &back); err != nil || back != m {
		t.Errorf("read back %v, %v", back, err)
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		nvmlx.Fields(0).String():                                  "none",
		(nvmlx.FieldPower | nvmlx.FieldGPUBusy).String():          "gpu_busy+power_watts",
		nvmlx.Fields(1 << 20).String():                            "fields(0x100000)",
		nvmlx.Throttle(0).String():                                "none",
		(nvmlx.ThrottlePowerCap | nvmlx.Throttle(0x400)).String(): "power cap+0x400",
		nvmlx.ComputeExclusiveProcess.String():                    "exclusive process",
		nvmlx.ComputeMode(1).String():                             "compute mode(1)",
		nvmlx.MPSProcess.String():                                 "mps",
		nvmlx.EventKind(99).String():                              "event kind(99)",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, err := json.Marshal(nvmlx.Process{Kind: 9}); err == nil {
		t.Error("an undefined kind was written")
	}
}

func TestDeviceInfoGPU(t *testing.T) {
	d := nvmlx.DeviceInfo{Name: "NVIDIA A100-SXM4-40GB", Memory: profile.Some(40536 * profile.MiB)}
	if model, ok := d.GPU(); !ok || model.Memory != 40536*profile.MiB || model.SMs != 108 {
		t.Errorf("got %+v, %v", model, ok)
	}
	if _, ok := (nvmlx.DeviceInfo{Name: "Voodoo 2"}).GPU(); ok {
		t.Error("the catalogue knows a Voodoo 2")
	}
}
