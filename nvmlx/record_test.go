package nvmlx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// call is one question to a Source and its answer.
type call struct {
	Kind   string
	Device nvmlx.DeviceID
	What   nvmlx.Fields
	Sample nvmlx.Sample
	Procs  []nvmlx.Process
	MIG    nvmlx.MIGInventory
	Lost   bool
	Failed bool
}

// whole is a Source with every ability.
type whole interface {
	nvmlx.Source
	nvmlx.ProcessReader
	nvmlx.MIGReader
}

// ask puts the question of c to src and fills in the answer.
func ask(src whole, c call) call {
	ctx := context.Background()
	var err error
	switch c.Kind {
	case "read":
		c.Sample, err = src.Read(ctx, c.Device, c.What)
	case "processes":
		c.Procs, err = src.Processes(ctx, c.Device)
	case "mig":
		c.MIG, err = src.MIG(ctx, c.Device)
	}
	c.Lost, c.Failed = errors.Is(err, nvmlx.ErrDeviceLost), err != nil
	return c
}

func drawSample(t *rapid.T) nvmlx.Sample {
	ratio := func(name string) profile.Opt[float64] {
		if !rapid.Bool().Draw(t, "has "+name) {
			return profile.Opt[float64]{}
		}
		return profile.Some(rapid.Float64Range(0, 1).Draw(t, name))
	}
	var s nvmlx.Sample
	s.At = epoch.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "at")))
	s.Window = time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "window"))
	s.GPUBusy, s.MemBusy, s.SMActive, s.CPUBusy = ratio("gpu"), ratio("mem"), ratio("sm"), ratio("cpu")
	if rapid.Bool().Draw(t, "more") {
		s.MemUsed = profile.Some(profile.Bytes(rapid.Int64Range(0, 1<<50).Draw(t, "used")))
		s.EnergyJoules = profile.Some(rapid.Float64Range(0, 1e300).Draw(t, "energy"))
		s.TempCelsius = profile.Some(rapid.Float64Range(-40, 120).Draw(t, "temp"))
		s.MemClockMHz = profile.Some(rapid.Float64Range(0, 1e4).Draw(t, "clock"))
		s.Throttle = profile.Some(nvmlx.Throttle(rapid.Uint64().Draw(t, "throttle")))
		s.StepTime = profile.Some(time.Duration(rapid.Int64Min(0).Draw(t, "step")))
		s.Missing.Set(nvmlx.FieldSMOccupancy|nvmlx.FieldPCIe, nvmlx.ErrNotSupported)
		s.Missing.Set(nvmlx.FieldPower, nvmlx.ErrPermission)
	}
	return s
}

// The same calls in the same order get the same answers from a recording as
// they got when it was made.
func TestRecordReplayRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lost := map[nvmlx.DeviceID]bool{}
		src := &fake{
			n: rapid.IntRange(1, 4).Draw(t, "devices"),
			read: func(id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
				if lost[id] = lost[id] || rapid.IntRange(0, 19).Draw(t, "lose") == 0; lost[id] {
					return nvmlx.Sample{}, fmt.Errorf("fake: %w", nvmlx.ErrDeviceLost)
				}
				if rapid.IntRange(0, 19).Draw(t, "fail") == 0 {
					return nvmlx.Sample{}, nvmlx.ErrTransient
				}
				s := drawSample(t)
				s.Device = id
				s.Keep(what)
				return s, nil
			},
			processes: func(nvmlx.DeviceID) ([]nvmlx.Process, error) {
				n := rapid.IntRange(-1, 3).Draw(t, "processes")
				if n < 0 {
					return nil, nil
				}
				list := make([]nvmlx.Process, n)
				for i := range list {
					list[i] = nvmlx.Process{
						PID: rapid.IntRange(1, 1<<22).Draw(t, "pid"), Kind: nvmlx.ProcessKind(i),
						MemUsed: profile.Some(profile.Bytes(rapid.Int64Range(0, 1<<50).Draw(t, "mem"))),
					}
				}
				return list, nil
			},
			mig: func(id nvmlx.DeviceID) (nvmlx.MIGInventory, error) {
				return nvmlx.MIGInventory{Enabled: true, Instances: []nvmlx.MIGInstance{{
					ID: "MIG-" + id, ComputeSlices: profile.Some(rapid.IntRange(1, 7).Draw(t, "slices")),
				}}}, nil
			},
		}
		var file bytes.Buffer
		rec := nvmlx.Record(&file, src)
		calls := make([]call, rapid.IntRange(1, 30).Draw(t, "calls"))
		for i := range calls {
			calls[i] = ask(rec, call{
				Kind:   rapid.SampledFrom([]string{"read", "read", "read", "processes", "mig"}).Draw(t, "kind"),
				Device: gpu(rapid.IntRange(0, src.n-1).Draw(t, "device")),
				What:   nvmlx.Fields(rapid.Uint32Range(0, uint32(nvmlx.FieldsAll)).Draw(t, "what")),
			})
		}
		if err := rec.Close(); err != nil {
			t.Fatalf("record: %v", err)
		}
		replay, err := nvmlx.Replay(&file, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := src.Devices(context.Background())
		if got, err := replay.Devices(context.Background()); err != nil || !cmp.Equal(got, want, opts) {
			t.Fatalf("devices: %v, %v", got, err)
		}
		for i, c := range calls {
			got := ask(replay, call{Kind: c.Kind, Device: c.Device, What: c.What})
			if diff := cmp.Diff(c, got, opts, cmp.Comparer(time.Time.Equal), sameList); diff != "" {
				t.Fatalf("call %d (-recorded +replayed):\n%s", i, diff)
			}
		}
	})
}

// sameList takes nil and empty lists of processes for the same.
var sameList = cmp.FilterValues(func(a, b []nvmlx.Process) bool { return len(a)+len(b) == 0 }, cmp.Ignore())

// badWriter accepts whole lines until it has none left, then fails after half
// of one.
type badWriter struct {
	bytes.Buffer
	lines int
	calls [][]byte
}

var errDiskFull = errors.New("disk full")

func (w *badWriter) Write(p []byte) (int, error) {
	w.calls = append(w.calls, slices.Clone(p))
	if w.lines == 0 {
		n, _ := w.Buffer.Write(p[:len(p)/2])
		return n, errDiskFull
	}
	w.lines--
	return w.Buffer.Write(p)
}

// cuttable is a badWriter that can be truncated, as a file can.
type cuttable struct{ badWriter }

func (w *cuttable) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekCurrent {
		return 0, errors.New("unexpected whence")
	}
	return int64(w.Len()) + offset, nil
}

func (w *cuttable) Truncate(size int64) error {
	w.Buffer.Truncate(int(size))
	return nil
}

// TestRecordUncuttable: a line that cannot be taken back is no reason to stop reading.
func TestRecordUncuttable(t *testing.T) {
	w := &badWriter{lines: 1}
	src := &fake{n: 1, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) { return busy(id, 1, 0.5), nil }}
	rec := nvmlx.Record(w, src)
	for range 3 {
		if got, err := rec.Read(t.Context(), gpu(0), nvmlx.FieldsAll); err != nil || got.GPUBusy.Or(0) != 0.5 {
			t.Fatalf("a read was disturbed: %v, %v", got, err)
		}
	}
	if err := rec.Close(); !errors.Is(err, errDiskFull) || len(w.calls) != 2 {
		t.Errorf("Close() = %v after %d writes, want %v and 2", err, len(w.calls), errDiskFull)
	}
}

func TestRecordFailingWriter(t *testing.T) {
	for lines := range 4 {
		t.Run(fmt.Sprintf("lines=%d", lines), func(t *testing.T) {
			w := &cuttable{badWriter{lines: lines}}
			second := 0
			src := &fake{n: 1, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) {
				second++
				return busy(id, second, 0.5), nil
			}}
			rec := nvmlx.Record(w, src)
			for i := 1; i <= 5; i++ {
				got, err := rec.Read(t.Context(), gpu(0), nvmlx.FieldsAll)
				if want := busy(gpu(0), i, 0.5); err != nil || !cmp.Equal(got, want, opts) {
					t.Fatalf("read %d was disturbed: %v, %v", i, got, err)
				}
			}
			if err := rec.Err(); !errors.Is(err, errDiskFull) {
				t.Errorf("Err() = %v, want %v", err, errDiskFull)
			}
			if err := rec.Close(); !errors.Is(err, errDiskFull) || src.closed != 1 {
				t.Errorf("Close() = %v and closed the source %d times, want %v and 1", err, src.closed, errDiskFull)
			}
			if len(w.calls) != lines+1 {
				t.Errorf("%d writes, want %d: none after the one that failed", len(w.calls), lines+1)
			}
			for i, text := range w.calls {
				if bytes.Count(text, []byte("\n")) != 1 || text[len(text)-1] != '\n' || !json.Valid(text) {
					t.Errorf("write %d is not one line of JSON: %q", i, text)
				}
			}
			if text := w.String(); text != "" && !strings.HasSuffix(text, "\n") {
				t.Errorf("half a line was left: %q", text)
			}
		})
	}
}

func TestRecordCutsFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "trace.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	src := &fake{n: 1, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) { return busy(id, 1, 0.5), nil }}
	w := &halfFile{File: file, failAt: 3}
	rec := nvmlx.Record(w, src)
	for range 4 {
		if _, err := rec.Read(t.Context(), gpu(0), nvmlx.FieldsAll); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Err(); !errors.Is(err, errDiskFull) {
		t.Fatalf("Err() = %v, want %v", err, errDiskFull)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(text, []byte("\n")); got != 2 || text[len(text)-1] != '\n' {
		t.Errorf("file holds %d whole lines and ends in %q, want 2 whole lines", got, text[len(text)-5:])
	}
}

type halfFile struct {
	*os.File
	failAt int
}

func (w *halfFile) Write(p []byte) (int, error) {
	if w.failAt--; w.failAt == 0 {
		n, _ := w.File.Write(p[:len(p)/2])
		return n, errDiskFull
	}
	return w.File.Write(p)
}

func TestRecordUnwritableRow(t *testing.T) {
	samples := []nvmlx.Sample{busy(gpu(0), 1, 0.25), busy(gpu(0), 2, 0.5), busy(gpu(0), 3, 0.75)}
	samples[1].At = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
	next := 0
	src := &fake{n: 1, read: func(nvmlx.DeviceID, nvmlx.Fields) (nvmlx.Sample, error) { next++; return samples[next-1], nil }}
	var file bytes.Buffer
	rec := nvmlx.Record(&file, src)
	for range samples {
		if _, err := rec.Read(t.Context(), gpu(0), nvmlx.FieldsAll); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Err(); err == nil || !strings.Contains(err.Error(), "left out") {
		t.Errorf("Err() = %v, want one about a row left out", err)
	}
	if got := strings.Count(file.String(), "\n"); got != 3 {
		t.Errorf("%d lines, want header and 2 rows", got)
	}
}

func TestRecordHeaderFails(t *testing.T) {
	src := &fake{
		n: 1, infoErr: nvmlx.ErrPermission,
		read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) { return busy(id, 1, 0.5), nil },
	}
	var file bytes.Buffer
	rec := nvmlx.Record(&file, src)
	for range 2 {
		if _, err := rec.Read(t.Context(), gpu(0), nvmlx.FieldsAll); err != nil {
			t.Errorf("reading was disturbed: %v", err)
		}
	}
	if err := rec.Close(); !errors.Is(err, nvmlx.ErrPermission) || file.Len() != 0 {
		t.Errorf("Close() = %v with %d bytes written, want %v and nothing", err, file.Len(), nvmlx.ErrPermission)
	}
}

func TestRecordWithoutAbilities(t *testing.T) {
	rec := nvmlx.Record(io.Discard, bare{&fake{n: 1}})
	_, err1 := rec.Processes(t.Context(), gpu(0))
	_, err2 := rec.MIG(t.Context(), gpu(0))
	_, err3 := rec.Events(t.Context())
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, nvmlx.ErrNotSupported) {
			t.Errorf("got %v, want %v", err, nvmlx.ErrNotSupported)
		}
	}
}

func TestRecordEvents(t *testing.T) {
	src := &fake{n: 1, events: make(chan nvmlx.Event, 4)}
	var file bytes.Buffer
	rec := nvmlx.Record(&file, src)
	events, err := rec.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := nvmlx.Event{Device: gpu(0), At: epoch, Kind: nvmlx.EventXID, XID: profile.Some(79)}
	src.events <- want
	if got := <-events; !cmp.Equal(got, want, opts) {
		t.Errorf("got %v, want %v", got, want)
	}
	close(src.events)
	if _, open := <-events; open {
		t.Error("channel stays open after the source has closed its own")
	}
	if !strings.Contains(file.String(), `"event":{"device":"GPU-0","at":"2026-03-01T12:00:00Z","kind":"xid","xid":79}`) {
		t.Errorf("event is not recorded:\n%s", &file)
	}
}

// Lines of concurrent readers are never mixed.
func TestRecordConcurrently(t *testing.T) {
	src := &fake{n: 8, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) { return busy(id, 1, 0.5), nil }}
	var file bytes.Buffer
	rec := nvmlx.Record(&file, src)
	var group sync.WaitGroup
	for i := range src.n {
		group.Go(func() {
			for range 50 {
				if _, err := rec.Read(t.Context(), gpu(i), nvmlx.FieldsAll); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	replay, err := nvmlx.Replay(&file, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Concurrent readers of a replay get each row at most once and then EOF.
	for i := range src.n {
		group.Go(func() {
			for {
				got, err := replay.Read(t.Context(), gpu(i), nvmlx.FieldsAll)
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil || !cmp.Equal(got, busy(gpu(i), 1, 0.5), opts) {
					t.Errorf("device %d: %v, %v", i, got, err)
					return
				}
			}
		})
	}
	group.Wait()
}
