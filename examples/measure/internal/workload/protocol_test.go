package workload

import (
	"strings"
	"testing"
)

func TestParseEvent(t *testing.T) {
	tests := []struct{ name, line, fault string }{
		{"hello", `{"event":"hello","torch":"2.9.0","total_bytes":1}`, ""},
		{"ready", `{"event":"ready","spec":{"model":{"name":"x","layers":[{"kind":"linear"}]},"training":{"batch_size":1}}}`, ""},
		{"done", `{"event":"done","times":[1.5,2.5],"counts":[0,3],"cpu_seconds":0.5}`, ""},
		{"oom", `{"event":"oom","phase":"go","message":"CUDA out of memory","free_bytes":0}`, ""},
		{"text", `Traceback (most recent call last):`, "not an event"},
		{"empty", ``, "not an event"},
		{"unknown", `{"event":"party"}`, `unknown event "party"`},
		{"no steps", `{"event":"done"}`, "0 times"},
		{"one moment", `{"event":"done","times":[1],"counts":[0]}`, "1 times"},
		{"uneven", `{"event":"done","times":[1,2],"counts":[0]}`, "2 times and 1 counts"},
		{"back in time", `{"event":"done","times":[2,1],"counts":[0,1]}`, "moment 1"},
		{"undone steps", `{"event":"done","times":[1,2],"counts":[5,1]}`, "moment 1"},
		{"kind of layer", `{"event":"ready","spec":{"model":{"layers":[{"kind":"magic"}]}}}`, "magic"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseEvent([]byte(tt.line))
			if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("got %v, want %q", err, tt.fault)
			}
		})
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add(`{"event":"done","times":[1.5,2.5],"counts":[0,3]}`)
	f.Add(`{"event":"hello","total_bytes":-1}`)
	f.Fuzz(func(t *testing.T, line string) {
		e, err := parseEvent([]byte(line))
		if err == nil && e.Event == EventDone && len(e.Times) < 2 {
			t.Errorf("accepted %q", line)
		}
	})
}
