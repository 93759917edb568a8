package tracefile

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"example.com/colloc/profile"
)

const xmlText = `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Mon Apr  4 16:11:51 2026</timestamp>
	<gpu id="00000000:00:1E.0">
		<product_name>NVIDIA A10G</product_name>
		<uuid>GPU-1</uuid>
		<fb_memory_usage><total>23028 MiB</total><used>22 MiB</used></fb_memory_usage>
		<bar1_memory_usage><used>1 MiB</used></bar1_memory_usage>
		<utilization><gpu_util>35 %</gpu_util><memory_util>N/A</memory_util></utilization>
		<gpu_power_readings><power_draw>25.50 W</power_draw><instant_power_draw>99.0 W</instant_power_draw></gpu_power_readings>
		<clocks><sm_clock>210 MHz</sm_clock></clocks>
		<max_clocks><sm_clock>1710 MHz</sm_clock></max_clocks>
	</gpu>
</nvidia_smi_log>
`

// TestXML reads two documents of nvidia-smi -q -x, one after the other.
func TestXML(t *testing.T) {
	f, err := Read(strings.NewReader(xmlText+strings.Replace(xmlText, "16:11:51", "16:11:52", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != XML || len(f.Traces) != 1 || len(f.Traces[0].Samples) != 2 || f.Traces[0].Labels[LabelName] != "NVIDIA A10G" {
		t.Fatalf("got %+v", f)
	}
	s := f.Traces[0].Samples[1]
	if s.GPUBusy != profile.Some(0.35) || !s.MemBusy.IsZero() || s.MemUsed != profile.Some(22*profile.MiB) || s.PowerWatts != profile.Some(25.5) ||
		s.SMClockMHz != profile.Some(210.0) || !s.At.Equal(time.Date(2026, 4, 4, 16, 11, 52, 0, time.UTC)) {
		t.Errorf("got %+v", s)
	}
	for text, want := range map[string]string{
		xmlText[:300]: "the document ends inside",
		"<?xml version=\"1.0\"?>" + strings.Repeat("<a>", 100): "nest deeper than 64",
		"<nvidia_smi_log></b>":                                 "</b> ends what did not begin",
	} {
		if _, err := Read(strings.NewReader(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text[:20], err, want)
		}
	}
}

// TestReadToNothing: a log from which nothing comes is an error that says what it
// held.
func TestReadToNothing(t *testing.T) {
	for text, want := range map[string]string{
		"# TYPE node_load1 gauge\nnode_load1{host=\"a\"} 0.5\n":                 "2 lines, with metrics that are not read, such as node_load1",
		"timestamp, utilization.gpu [%]\nyesterday, 5 %\n":                      `2 lines; line 2: timestamp "yesterday" is not`,
		"pid, process_name, used_gpu_memory [MiB]\n":                            "the log holds no sample: a header and no row",
		"timestamp, utilization.gpu [%]\n2025-09-08T17:26:50+99:00, 5 %\n":      "is not YYYY/MM/DD",
		"timestamp, utilization.gpu [%]\n2025-09-08T17:26:50.1234+0800x, 5 %\n": "is not YYYY/MM/DD",
	} {
		if _, err := Read(strings.NewReader(text), nil); !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// TestCornersOfLogs reads what users have: exporters, zones, two byte orders of
// UTF-16, several columns of power, blanks of pmon.
func TestCornersOfLogs(t *testing.T) {
	const plain = "timestamp, utilization.gpu [%]\r\n2026/03/01 12:00:00.000, 50 %\r\n"
	encode := func(order binary.AppendByteOrder) string {
		out := order.AppendUint16(nil, 0xfeff)
		for _, unit := range utf16.Encode([]rune(plain)) {
			out = order.AppendUint16(out, unit)
		}
		return string(out)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		text string
		busy []float64
		at   time.Time
		watt float64
	}{
		"exporter":         {"nvidia_smi_utilization_gpu_ratio{uuid=\"a\"} 0.25\nnvidia_smi_power_draw_watts{uuid=\"a\"} 144.97\nnvidia_smi_clocks_current_sm_clock_hz{uuid=\"a\"} 2.52e+09\n", []float64{0.25}, time.Time{}, 144.97},
		"zone":             {"timestamp, utilization.gpu [%]\n2026-03-01T20:00:00+08:00, 50 %\n2026-03-01T12:00:01Z, 60 %\n", []float64{0.5, 0.6}, noon, 0},
		"little endian":    {encode(binary.LittleEndian), []float64{0.5}, noon, 0},
		"big endian":       {encode(binary.BigEndian), []float64{0.5}, noon, 0},
		"columns of power": {"utilization.gpu [%], power.draw.average [W], power.draw [W], power.draw.instant [W]\n5 %, 1 W, 144.97 W, 127.67 W\n", []float64{0.05}, time.Time{}, 144.97},
		"pmon":             {"# gpu pid type sm mem command\n# Idx # C/G % % name\n0 7 C - - hog\n0 7 C 19 - hog\n0 7 C - - hog\n", []float64{0, 0.19, 0}, time.Time{}, 0},
	} {
		f, err := Read(strings.NewReader(c.text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		samples := f.Traces[0].Samples
		if len(samples) != len(c.busy) || !samples[0].At.Equal(c.at) || samples[0].PowerWatts.Or(0) != c.watt {
			t.Errorf("%s: got %+v", name, samples)
			continue
		}
		for i, want := range c.busy {
			if got, ok := samples[i].GPUBusy.Get(); !ok || got != want {
				t.Errorf("%s: sample %d is %v %t, want %v", name, i, got, ok, want)
			}
		}
	}
}

func FuzzReadXML(f *testing.F) { fuzz(f, xmlText, "\xff\xfe<\x00?\x00x\x00m\x00l\x00") }
