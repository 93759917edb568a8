package gather

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
)

// noLabels are those of a source that tells none.
func noLabels() map[string]string { return nil }

// push gives a collector rows that busy says, at times that at says, of one source.
func push(t *testing.T, c *Collector, key string, labels map[string]string, rows ...Row) *Source {
	t.Helper()
	s, err := c.Source([]byte(key), func() map[string]string { return labels })
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := c.Push(s, &rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestCollector: whatever the order in which rows come, each source has all of its own,
// in the order of their times, those of one time as they came, and is told of once where
// they had to be sorted.
func TestCollector(t *testing.T) {
	start := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	draw := rand.New(rand.NewPCG(29, 1))
	c := New(&Options{})
	want := map[string][]profile.Sample{}
	for i := range 9000 {
		key := []string{"tidy", "mixed", "other"}[draw.IntN(3)]
		at := start.Add(time.Duration(i/50) * time.Second)
		if key != "tidy" {
			at = start.Add(time.Duration(draw.IntN(100)) * time.Second)
		}
		var r Row
		r.At, r.MemBusy = at, profile.Some(float64(i)/9000)
		want[key] = append(want[key], r.Sample)
		push(t, c, key, map[string]string{LabelGPU: key}, r)
	}
	for i := range c.Sources {
		if n := len(c.Sources[i].blocks); n > 8 { // of 16 samples, 32 and so on
			t.Errorf("%d samples lie in %d blocks", c.Sources[i].count, n)
		}
	}
	for _, trace := range c.Traces() {
		key := trace.Labels[LabelGPU]
		slices.SortStableFunc(want[key], func(a, b profile.Sample) int { return a.At.Compare(b.At) })
		if !reflect.DeepEqual(trace.Samples, want[key]) {
			t.Errorf("%s: %d samples, want %d, or they are others", key, len(trace.Samples), len(want[key]))
		}
		delete(want, key)
	}
	if warnings := (reading.Warnings{{Text: "the times of 2 sources go backwards; their samples were sorted"}}); len(want) > 0 || !cmp.Equal(c.Warnings, warnings) {
		t.Errorf("without a trace are %d sources; warnings %v, want %v", len(want), c.Warnings, warnings)
	}
}

// TestRowsWithoutTime: rows without a time are as far apart as the options say, from the
// start that they say; without a start they have none.
func TestRowsWithoutTime(t *testing.T) {
	start := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, tt := range []struct {
		o      Options
		at     time.Time // of the third
		window time.Duration
	}{
		{Options{}, time.Time{}, time.Second},
		{Options{Start: start}, start.Add(2 * time.Second), time.Second},
		{Options{Start: start, Interval: time.Minute}, start.Add(2 * time.Minute), time.Minute},
	} {
		c := New(&tt.o)
		push(t, c, "", nil, Row{}, Row{}, Row{})
		samples := c.Traces()[0].Samples
		if !samples[2].At.Equal(tt.at) || samples[2].Window != tt.window {
			t.Errorf("%+v: the third is of %v, over %v; want %v and %v", tt.o, samples[2].At, samples[2].Window, tt.at, tt.window)
		}
		if len(c.Warnings) > 0 {
			t.Errorf("%+v: warnings %v", tt.o, c.Warnings)
		}
	}
	var told Row
	told.At = start
	c := New(&Options{Start: start.Add(time.Hour)})
	push(t, c, "", nil, told)
	if s := c.Traces()[0].Samples[0]; !s.At.Equal(start) || s.Window != 0 {
		t.Errorf("a row of %v became one of %v over %v", start, s.At, s.Window)
	}
}

// TestZones: a time without a zone is in the options' one, or UTC with a warning; a zone
// in one row changes nothing for the next, nor for one of the same second.
func TestZones(t *testing.T) {
	east := time.FixedZone("east", 3600)
	for _, zone := range []*time.Location{nil, east} {
		c := New(&Options{Location: zone})
		for _, tt := range []struct {
			text string
			want int // hour in UTC where there is no zone
		}{
			{"2026-02-03 04:05:06Z", 4},
			{"2026-02-03 04:05:06", 4},
			{"2026-02-03 04:05:06+02:00", 2},
			{"2026-02-03 04:05:06", 4},
			{"2026-02-03 04:05:06.5", 4},
		} {
			want := tt.want
			if zone != nil && !strings.ContainsAny(tt.text, "Z+") {
				want--
			}
			at, ok := c.Stamp([]byte(tt.text))
			if !ok || at.UTC().Hour() != want {
				t.Errorf("%q in zone %v is %v, %v; want hour %d", tt.text, zone, at.UTC(), ok, want)
			}
		}
		if c.Traces(); (len(c.Warnings) == 1 && c.Warnings[0].Line == 0) != (zone == nil) {
			t.Errorf("zone %v: warnings %v", zone, c.Warnings)
		}
	}
	c := New(&Options{})
	if _, ok := c.Stamp([]byte("2026-02-03 04:05:06Z")); !ok || c.Zoneless {
		t.Errorf("a time with a zone: %v, without one %v", ok, c.Zoneless)
	}
}

// TestWarnings: a warning tells its line; beyond so many one says that there are more.
func TestWarnings(t *testing.T) {
	c := New(&Options{})
	for i := range reading.MaxWarnings + 5 {
		c.Line = i + 1
		c.Warn("odd %d", i)
	}
	last := c.Warnings[len(c.Warnings)-1]
	if len(c.Warnings) != reading.MaxWarnings+1 || c.Warnings[6] != (reading.Warning{Line: 7, Text: "odd 6"}) || last != (reading.Warning{Line: reading.MaxWarnings + 1, Text: "further warnings are left out"}) {
		t.Errorf("%d warnings, the seventh %v, the last %v", len(c.Warnings), c.Warnings[6], last)
	}
}

// TestLines: lines come without the blanks around them and with their numbers, empty
// ones not at all.
func TestLines(t *testing.T) {
	c := New(&Options{})
	var got []string
	text := "  a b \r\n\n \t \nc\n\td"
	err := c.Each(bufio.NewReaderSize(strings.NewReader(text), MaxLine), func(line []byte) error {
		got = append(got, fmt.Sprintf("%d:%s", c.Line, line))
		return nil
	})
	if want := []string{"1:a b", "4:c", "5:d"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	broken := io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(errors.New("gone")))
	if err := New(&Options{}).Each(bufio.NewReader(broken), func([]byte) error { return nil }); err == nil || err.Error() != "line 3: gone" {
		t.Errorf("got %v, want the line that is not there", err)
	}
	var words []string
	for first, rest := Word([]byte(" ,a  bc,d,,")); first != nil; first, rest = Word(rest) {
		words = append(words, string(first))
	}
	if want := []string{"a", "bc", "d"}; !slices.Equal(words, want) {
		t.Errorf("words %q, want %q", words, want)
	}
	if first, rest := Word([]byte(" , ")); first != nil || rest != nil {
		t.Errorf("of blanks the first word is %q and the rest %q", first, rest)
	}
}

// TestDigits: one to nine digits are a number.
func TestDigits(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "007": 7, "123456789": 123456789, "": -1, "1234567890": -1, "1x": -1, "-1": -1} {
		if n, ok := Digits([]byte(text)); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q is %d, %v; want %d", text, n, ok, want)
		}
	}
}

// TestPut: each quantity has its own place, in our unit; a share that rounding took above
// the whole is the whole, and what cannot be is refused.
func TestPut(t *testing.T) {
	for quantity, want := range map[Quantity]Row{
		Ignored: {}, GraphicsActive: {graphics: profile.Some(0.5)}, PCIeSent: {sent: profile.Some(0.5)}, PCIeReceived: {received: profile.Some(0.5)},
		GPUBusy: {Sample: profile.Sample{GPUBusy: profile.Some(0.5)}}, MemBusy: {Sample: profile.Sample{MemBusy: profile.Some(0.5)}},
		SMActive: {Sample: profile.Sample{SMActive: profile.Some(0.5)}}, SMOccupancy: {Sample: profile.Sample{SMOccupancy: profile.Some(0.5)}},
		TensorActive: {Sample: profile.Sample{TensorActive: profile.Some(0.5)}}, DRAMActive: {Sample: profile.Sample{DRAMActive: profile.Some(0.5)}},
		FP32Active: {Sample: profile.Sample{FP32Active: profile.Some(0.5)}}, MemUsed: {Sample: profile.Sample{MemUsed: profile.Some[profile.Bytes](0)}},
		Power: {Sample: profile.Sample{PowerWatts: profile.Some(0.5)}}, Energy: {Sample: profile.Sample{EnergyJoules: profile.Some(0.5)}},
		SMClock: {Sample: profile.Sample{SMClockMHz: profile.Some(0.5)}}, Temperature: {Sample: profile.Sample{TempCelsius: profile.Some(0.5)}},
	} {
		var got Row
		if ok := got.Put(quantity.In(Percent), 50); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("quantity %d: %v, %+v; want %+v", quantity, ok, got, want)
		}
		share := quantity >= GPUBusy && quantity <= FP32Active
		for v, can := range map[float64]bool{-0.01: quantity == Temperature, 0: true, 1: true, 1.05: true, 1.06: !share} {
			r := Row{}
			if ok := r.Put(quantity.In(One), v); ok != can {
				t.Errorf("quantity %d of %v: %v, want %v", quantity, v, ok, can)
			}
		}
	}
	r := Row{}
	r.Put(GPUBusy.In(Percent), 104)
	r.Put(FP32Active.In(One), 1.04)
	r.Put(Power.In(One), 1.04)
	if r.GPUBusy != profile.Some(1.0) || r.FP32Active != profile.Some(1.0) || r.PowerWatts != profile.Some(1.04) {
		t.Errorf("104 %% became %v and %v, 1.04 W %v", r.GPUBusy, r.FP32Active, r.PowerWatts)
	}
	if r.Put(MemUsed.In(One), 1<<50+1) || !r.Put(MemUsed.In(One), 1<<50) {
		t.Error("a pebibyte is the most memory")
	}
}

// TestFinish: use comes from graphics where it is not told, but not of a MIG instance's
// GPU; traffic is told if both ways are; power is what the counter of energy grew by.
func TestFinish(t *testing.T) {
	start := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	row := func(at int, put map[Quantity]float64) Row {
		r := Row{}
		r.At = start.Add(time.Duration(at) * time.Second)
		for q, v := range put {
			r.Put(q.In(One), v)
		}
		return r
	}
	c := New(&Options{})
	push(t, c, "card", nil,
		row(0, map[Quantity]float64{GraphicsActive: 0.3, Energy: 100, PCIeSent: 5}),
		row(2, map[Quantity]float64{GraphicsActive: 0.3, GPUBusy: 0.4, Energy: 400, PCIeSent: 5, PCIeReceived: 7}),
		row(4, map[Quantity]float64{Energy: 50}),
		row(6, map[Quantity]float64{Energy: 70, Power: 33}),
		row(5, map[Quantity]float64{Energy: 90}),
	)
	push(t, c, "part", map[string]string{LabelInstance: "1"}, row(0, map[Quantity]float64{GPUBusy: 0.4, GraphicsActive: 0.3}))
	traces := c.Traces()
	type brief struct{ busy, traffic, watts profile.Opt[float64] }
	var got []brief
	for _, s := range append(traces[0].Samples, traces[1].Samples...) {
		got = append(got, brief{s.GPUBusy, s.PCIeBytesPerSec, s.PowerWatts})
	}
	some, none := profile.Some[float64], profile.Opt[float64]{}
	want := []brief{{some(0.3), none, none}, {some(0.4), some(12), some(150)}, {none, none, none}, {none, none, none}, {none, none, some(33)}, {some(0.3), none, none}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestIdle: what is blank of a process that is told of in another second is 0; of one that
// never is, and of what is no process, it stays missing.
func TestIdle(t *testing.T) {
	var busy, blank Row
	busy.GPUBusy = profile.Some(0.5)
	c := New(&Options{})
	for key, labels := range map[string]map[string]string{"process": {LabelPID: "7"}, "card": nil} {
		s := push(t, c, key, labels, blank, busy, blank)
		s.Idle()
		for i, x := range []int{0, 2} {
			got := s.blocks[0][x]
			if want := (profile.Opt[float64]{}); labels != nil {
				want = profile.Some(0.0)
				if got.GPUBusy != want {
					t.Errorf("%s, row %d: busy %v, want %v", key, i, got.GPUBusy, want)
				}
			} else if got.GPUBusy != want {
				t.Errorf("%s, row %d: busy %v, want missing", key, i, got.GPUBusy)
			}
			if !got.MemBusy.IsZero() {
				t.Errorf("%s: memory's busy %v was never told", key, got.MemBusy)
			}
		}
	}
}

// TestSources: a log may have so many sources with names of such length, and no more.
func TestSources(t *testing.T) {
	c := New(&Options{})
	if _, err := c.Source(make([]byte, MaxKey+1), noLabels); err == nil {
		t.Error("a key of any length is taken")
	}
	push(t, c, strings.Repeat("k", MaxKey), nil, Row{})
	for i := 1; i < MaxTraces; i++ {
		push(t, c, strconv.Itoa(i), nil)
	}
	if _, err := c.Source([]byte("more"), noLabels); err == nil || !strings.Contains(err.Error(), "more than 16384 GPUs") {
		t.Errorf("one source too many: %v", err)
	}
	if traces := c.Traces(); len(traces) != 1 {
		t.Errorf("%d traces, want one: the others have no samples", len(traces))
	}
	c.samples = MaxSamples - 1
	s := push(t, c, "1", nil, Row{})
	if err := c.Push(s, &Row{}); err == nil {
		t.Error("one sample too many is taken")
	}
}
