package gather

import (
	"testing"
	"time"
)

func FuzzNumber(f *testing.F) {
	f.Add("12.345")
	f.Add("140737488355329")
	f.Add("999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		fast, state := Number([]byte(text))
		slow, slowState := slowNumber([]byte(text), 0)
		if fast != slow || state != slowState {
			t.Errorf("%q: got %v %v, strconv %v %v", text, fast, state, slow, slowState)
		}
	})
}

// TestNumber: what tools write for a number, and the many ways in which they say that
// there is none.
func TestNumber(t *testing.T) {
	for text, want := range map[string]struct {
		value   float64
		reading Reading
	}{
		"0": {0, Known}, "42": {42, Known}, "12.5": {12.5, Known}, ".5": {0.5, Known}, "-5": {-5, Known}, "1e3": {1000, Known},
		"999999999999999": {999999999999999, Known}, "1234567890123456": {1234567890123456, Known}, "0.1234567890123456": {0.1234567890123456, Known},
		"": {0, Missing}, "-": {0, Missing}, "N/A": {0, Missing}, "[N/A]": {0, Missing}, "[GPU is lost]": {0, Missing}, "ERR!": {0, Missing}, "NaN": {0, Missing}, "Not Supported": {0, Missing},
		"nan": {0, Missing}, "+Inf": {0, Missing}, "[": {0, Garbled}, "[N/A": {0, Garbled}, "N": {0, Garbled}, "E1": {0, Garbled}, "1.2.3": {0, Garbled}, "1 W": {0, Garbled}, "5-": {0, Garbled},
		// DCGM's blanks
		"140737488355327": {140737488355327, Known}, "140737488355328": {0, Missing}, "140737488355331": {0, Missing}, "140737488355332": {140737488355332, Known},
		"9223372036854775792": {0, Missing}, "9223372036854775807": {0, Missing},
	} {
		value, reading := Number([]byte(text))
		if value != want.value || reading != want.reading {
			t.Errorf("%q: %v %v, want %v %v", text, value, reading, want.value, want.reading)
		}
	}
}

// TestUnits: each unit is what its name says, to the last bit.
func TestUnits(t *testing.T) {
	for unit, want := range map[Unit]float64{One: 95, Percent: 0.95, Milli: 0.095, Micro: 95e-6, Mega: 95e6, Kibi: 95 << 10, Mebi: 95 << 20, Gibi: 95 << 30} {
		if got := unit.of(95); got != want {
			t.Errorf("95 of unit %d is %v, want %v", int(unit), got, want)
		}
	}
}

// TestStamp: times as logs write them, and what is none.
func TestStamp(t *testing.T) {
	day := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026/02/03 04:05:06": day, "2026-02-03T04:05:06": day, "2026-02-03 04:05:06.5": day.Add(time.Second / 2), "2026-02-03 04:05:06.000000001": day.Add(1),
		"2026-02-03T04:05:06Z": day, "2026-02-03T05:35:06+01:30": day, "2026-02-03T03:05:06-0100": day, "2026-12-31 23:59:60": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, ok := (&Collector{Zone: time.UTC}).Stamp([]byte(text)); !ok || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "2026-02-03", "2026/02-03 04:05:06", "2026.02.03 04:05:06", "2026-02-03_04:05:06", "2026-02-03 04.05:06", "2026-02-03 04:05.06",
		"x026-02-03 04:05:06", "2026-x2-03 04:05:06", "2026-02-x3 04:05:06", "2026-02-03 x4:05:06", "2026-02-03 04:x5:06", "2026-02-03 04:05:x6",
		"0000-02-03 04:05:06", "2026-00-03 04:05:06", "2026-13-03 04:05:06", "2026-02-00 04:05:06", "2026-02-32 04:05:06",
		"2026-02-03 24:05:06", "2026-02-03 04:60:06", "2026-02-03 04:05:61", "2026-02-03 04:05:06.", "2026-02-03 04:05:06,5", "2026-02-03 04:05:06.x",
		"2026-02-03 04:05:06.0000000001", "2026-02-03T04:05:06+16:00", "2026-02-03T04:05:06+01:60", "2026-02-03T04:05:06+x1:00", "2026-02-03T04:05:06+01:x0",
	} {
		if got, ok := (&Collector{Zone: time.UTC}).Stamp([]byte(text)); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
