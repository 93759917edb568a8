package nvmlx

import (
	"encoding/json"
	"testing"
)

// The fast reader of rows and encoding/json must never disagree.
func FuzzRow(f *testing.F) {
	for _, seed := range []string{
		`{"device":"GPU-0","at":"2026-03-01T12:00:00.5Z","window":1000,"gpu_busy":0.93,"mem_used":11534336000,"throttle":36,"step_time":5}`,
		`{"device":"GPU-0","at":"2026-03-01T12:00:00+01:00","temp_celsius":-4.5e1,"sm_active":0}`,
		`{"device":"GPU-0","gpu_busy":1e999}`, `{"device":"GPU-0","gpu_busy":01}`, `{"device":"GPU-0","gpu_busy":1.}`,
		`{"device":"GPU-0","gpu_busy":0.1,"gpu_busy":0.2}`, `{"device":"GPU-0","mem_used":9007199254740993}`,
		`{"device":"GPU-0","error":"device lost"}`, `{"device":"GPU-0","GPU_BUSY":0.5}`, `{"device":"GPU-0","gpu_busy":null}`,
		`{"device":"GPU-0","throttle":1.5}`, `{"device":"GPU-0",}`, `{"device":"GPU-0"}}`, `{}`, `{"device":"GPU-9"}`, `{"window":-1,"device":"GPU-0"}`,
		`{"device":"GPU-0","at":"2026-02-30T12:00:00Z"}`, `{"device":"GPU-0","at":"2026-02-20T12:00:00,5Z"}`, `{"device":"GPU-0","mem_used":1e3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fast := rowScanner{ids: map[DeviceID]DeviceID{"GPU-0": "GPU-0"}}
		var got, want traceRow
		if !fast.scan(text, &got) {
			return
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("the fast reader takes what encoding/json refuses: %v", err)
		}
		if !got.At.Equal(want.At) {
			t.Fatalf("at %v, want %v", got.At, want.At)
		}
		got.At = want.At
		if got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// What Record writes takes the fast way; otherwise speed would be lost unseen.
func TestRowFastPath(t *testing.T) {
	fast := rowScanner{ids: map[DeviceID]DeviceID{"GPU-0": "GPU-0"}}
	text := []byte(`{"device":"GPU-0","at":"2026-03-01T12:00:00.123456789Z","window":1000000000,"sm_active":0.5,"gpu_busy":0.93,` +
		`"mem_used":11534336000,"power_watts":312.5,"energy_joules":1.5e+21,"temp_celsius":-1,"throttle":0}`)
	var row traceRow
	if !fast.scan(text, &row) {
		t.Error("a plain sample was left to encoding/json")
	}
	if n := testing.AllocsPerRun(100, func() { row = traceRow{}; fast.scan(text, &row) }); n != 0 {
		t.Errorf("%v allocations a row, want none", n)
	}
}
