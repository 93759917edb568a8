package tracefile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

const recordingHead = `{"format":"nvmlx-trace","version":1,"devices":[{"id":"GPU-a","index":0,"name":"A100"},{"id":"GPU-b","index":1}]}` + "\n"

// TestReadRecording: what is no sample is passed over, and a device without labels is
// known by its uuid and the name in the header.
func TestReadRecording(t *testing.T) {
	const at = `"device":"GPU-a","at":"2026-03-01T12:00:00Z"`
	f, err := Read(strings.NewReader(recordingHead+
		`{`+at+`,"error":"lost"}`+"\n"+`{`+at+`,"processes":[]}`+"\n"+`{`+at+`,"mig":{}}`+"\n"+`{`+at+`,"event":{}}`+"\n"+
		`{`+at+`,"gpu_busy":0.5}`+"\n"+`{"device":"GPU-b","at":"2026-03-01T12:00:01Z","gpu_busy":0.25}`+"\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := []profile.Trace{
		{Labels: map[string]string{LabelUUID: "GPU-a", LabelName: "A100"}, Samples: []profile.Sample{{At: noon, GPUBusy: f64(0.5)}}},
		{Labels: map[string]string{LabelUUID: "GPU-b"}, Samples: []profile.Sample{{At: noon.Add(time.Second), GPUBusy: f64(0.25)}}},
	}
	if diff := cmp.Diff(want, traces(f), cmpOpts); diff != "" || len(f.Warnings) != 0 {
		t.Errorf("(-want +got):\n%s%v", diff, f.Warnings)
	}
}

func TestRecordingHeaders(t *testing.T) {
	for _, head := range []string{
		`{"format":"nvmlx-trace"}`, `{"format":"nvmlx-trace","version":0}`, `{"format":"nvmlx-trace","version":2}`,
		`{"format":"other","version":1,"like":"nvmlx-trace"}`,
	} {
		if _, err := Read(strings.NewReader(head+"\n"), nil); err == nil || !strings.Contains(err.Error(), `versions 1 to 1 of "nvmlx-trace" are read`) {
			t.Errorf("%s: got %v", head, err)
		}
	}
}

// TestRecordingSamples: ratios lie in [0, 1], amounts are not negative, and what is
// beyond costs the row.
func TestRecordingSamples(t *testing.T) {
	for fields, want := range map[string]string{
		`"gpu_busy":0,"sm_active":1,"mem_used":0,"power_watts":0,"window":0,"step_time":1`: "",
		`"gpu_busy":-0.01`: "a ratio of -0.01", `"gpu_busy":1.01`: "a ratio of 1.01", `"cpu_busy":1.01`: "a ratio of 1.01",
		`"mem_used":-1`: "not a row: ", `"power_watts":-0.5`: "a negative amount", `"window":-1`: "a negative amount",
		`"step_time":-1`: "a negative amount", `"step_time":0`: "a negative amount", `"at":"0001-01-01T00:00:00Z"`: "a row without time",
	} {
		f, err := Read(strings.NewReader(recordingHead+`{"device":"GPU-a","at":"2026-03-01T12:00:00Z"}`+"\n"+
			`{"device":"GPU-b","at":"2026-03-01T12:00:00Z",`+fields+"}\n"), nil)
		if err != nil {
			t.Errorf("%s: %v", fields, err)
			continue
		}
		if want == "" {
			if len(f.Warnings) != 0 || len(f.Traces) != 2 {
				t.Errorf("%s: got %d traces, %v", fields, len(f.Traces), f.Warnings)
			}
		} else if len(f.Traces) != 1 || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0].Error(), "line 3: "+want) {
			t.Errorf("%s: got %d traces, %v, want %q", fields, len(f.Traces), f.Warnings, want)
		}
	}
}
