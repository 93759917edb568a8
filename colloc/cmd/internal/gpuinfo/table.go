package gpuinfo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/profile"
)

// printer is one form of output.
type printer interface {
	begin()
	tick(samples []nvmlx.Sample) // of one moment, in the order of the devices
	event(e nvmlx.Event)
	diagnosis(d diagnosis)
}

// table prints for people.
type table struct {
	out  *bufio.Writer
	host *host
}

func (t *table) printf(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format, args...) } // Flush reports errors

func (t *table) begin() {
	t.printf("driver %s, CUDA %s\n", orDash(t.host.info.Driver), orDash(t.host.info.CUDA))
	for _, d := range t.host.devices {
		kind := "GPU"
		if d.Parent != "" {
			kind = "  instance"
		}
		t.printf("%s %d  %s  %s  %s\n", kind, d.Index, d.Name, text(d.Memory, "%v"), d.ID)
		if d.Parent == "" {
			t.printf("  %s\n", strings.Join(facts(t.host.info, d.DeviceInfo), ", "))
		}
		if d.MIG != nil {
			t.printf("  MIG: %d of %s instances\n", len(d.MIG.Instances), text(d.MIG.MaxInstances, "%d"))
			for _, i := range d.MIG.Instances {
				t.printf("    %d: %s compute slices, %s SMs, %s\n", i.Index, text(i.ComputeSlices, "%d"), text(i.SMs, "%d"), text(i.Memory, "%v"))
			}
		}
		for _, p := range d.Processes {
			t.printf("    process %d  %s  %s  %s\n", p.PID, p.Kind, text(p.MemUsed, "%v"), p.Name)
		}
	}
	t.printf("\n%-8s %5s %5s %5s %5s %10s %6s %6s %6s %5s  %s\n", "time", "GPU", "SM", "busy", "DRAM", "memory", "used", "power", "clock", "CPU", "held back by")
}

// facts are what matters for sharing a GPU.
func facts(system nvmlx.SystemInfo, d nvmlx.DeviceInfo) []string {
	var list []string
	if model, ok := d.GPU(); ok {
		list = append(list, fmt.Sprintf("%s in the catalogue, %d SMs", model.Name, model.SMs))
	}
	if mode, ok := d.ComputeMode.Get(); ok {
		list = append(list, "compute mode "+mode.String())
	}
	for _, f := range []struct {
		value   profile.Opt[bool]
		yes, no string
	}{
		{d.MIGEnabled, "MIG on", "MIG off"},
		{d.MPSActive, "MPS in use", "MPS not in use"},
		{d.GPM, "SM counters", "no SM counters"},
	} {
		if yes, ok := f.value.Get(); ok && yes {
			list = append(list, f.yes)
		} else if ok {
			list = append(list, f.no)
		}
	}
	return append(list, fmt.Sprintf("MPS takes up to %d tasks", mps.MaxClients(system, d)))
}

func (t *table) tick(samples []nvmlx.Sample) {
	for _, s := range samples {
		d := t.host.devices[t.host.index[s.Device]]
		held := ""
		if reasons, ok := s.Throttle.Get(); ok && reasons&^nvmlx.ThrottleIdle != 0 {
			held = (reasons &^ nvmlx.ThrottleIdle).String()
		}
		t.printf("%s\n", strings.TrimRight(fmt.Sprintf("%-8s %5s %5s %5s %5s %10s %6s %6s %6s %5s  %s",
			s.At.Format("15:04:05"), label(d.DeviceInfo), percent(s.SMActive), percent(s.GPUBusy), percent(s.DRAMActive),
			text(s.MemUsed, "%v"), percent(usedShare(s, d.DeviceInfo)), text(s.PowerWatts, "%.0f W"), text(s.SMClockMHz, "%.0f"),
			percent(s.CPUBusy), held), " "))
	}
}

func (t *table) event(e nvmlx.Event) {
	t.printf("GPU %s: %s", label(t.host.devices[t.host.index[e.Device]].DeviceInfo), e.Kind)
	if e.Count > 0 {
		t.printf(" (%d)", e.Count)
	}
	if e.Err != nil {
		t.printf(": %v", e.Err)
	}
	t.printf("\n")
}

func (t *table) diagnosis(d diagnosis) { t.printf("GPU %s: %s\n", d.GPU, d.Text) }

// lines prints for programs.
type lines struct {
	out  *json.Encoder
	host *host
}

func (l *lines) put(key string, v any) { _ = l.out.Encode(map[string]any{key: v}) } // Flush reports errors

func (l *lines) begin() {
	l.put("info", l.host.info)
	for _, d := range l.host.devices {
		l.put("device", d)
	}
}

func (l *lines) tick(samples []nvmlx.Sample) {
	for _, s := range samples {
		l.put("sample", s)
	}
}

func (l *lines) event(e nvmlx.Event) {
	row := struct {
		nvmlx.Event

		Error string `json:"error,omitempty"`
	}{Event: e}
	if e.Err != nil {
		row.Error = e.Err.Error()
	}
	l.put("event", row)
}

func (l *lines) diagnosis(d diagnosis) { l.put("diagnosis", d) }

// label is a GPU's number, with that of the instance behind a colon.
func label(d nvmlx.DeviceInfo) string {
	if d.Parent != "" {
		return fmt.Sprintf("mig%d", d.Index)
	}
	return strconv.Itoa(d.Index)
}

// usedShare is the used share of a device's memory.
func usedShare(s nvmlx.Sample, d nvmlx.DeviceInfo) profile.Opt[float64] {
	used, ok1 := s.MemUsed.Get()
	total, ok2 := d.Memory.Get()
	if !ok1 || !ok2 || total <= 0 {
		return profile.Opt[float64]{}
	}
	return profile.Some(float64(used) / float64(total))
}

func percent(x profile.Opt[float64]) string {
	v, ok := x.Get()
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}

func text[T any](x profile.Opt[T], format string) string {
	v, ok := x.Get()
	if !ok {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
