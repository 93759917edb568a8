package profiler

import (
	"encoding/json"
	"testing"
)

func TestNanoseconds(t *testing.T) {
	for text, want := range map[string]int64{"12": 12_000, "12.5": 12_500, "12.3456": 12_345, "0.001": 1} {
		if got, ok := nanoseconds(json.Number(text)); !ok || got != want {
			t.Errorf("%s: got %d %t, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1", "1e9", "99999999999999999999", "1.x"} {
		if got, ok := nanoseconds(json.Number(text)); ok {
			t.Errorf("%q: got %d", text, got)
		}
	}
}
