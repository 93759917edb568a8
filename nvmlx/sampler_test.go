package nvmlx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// collect runs a sampler to its end and returns what each device saw, in
// seconds since epoch, and the events.
func collect(ctx context.Context, src nvmlx.Source, c nvmlx.SamplerConfig) (map[nvmlx.DeviceID][]nvmlx.Sample, []nvmlx.Event, error) {
	samples := map[nvmlx.DeviceID][]nvmlx.Sample{}
	var events []nvmlx.Event
	c.OnEvent = func(e nvmlx.Event) { events = append(events, e) }
	err := nvmlx.NewSampler(src, &c).Run(ctx, func(s nvmlx.Sample) { samples[s.Device] = append(samples[s.Device], s) })
	return samples, events, err
}

func TestSamplerReplaysTheRecording(t *testing.T) {
	var body strings.Builder
	for s := range 100 {
		for d := range 2 {
			if s == 50 && d == 1 {
				body.WriteString(`{"device":"GPU-1","error":"device lost"}` + "\n")
				continue
			}
			body.WriteString(row(d, s, float64(s)/100))
		}
	}
	clock := nvmlx.NewVirtualClock(epoch)
	src, err := nvmlx.Replay(strings.NewReader(header2+body.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	samples, events, err := collect(t.Context(), src, nvmlx.SamplerConfig{Clock: clock})
	if !errors.Is(err, nvmlx.ErrDeviceLost) || errors.Is(err, io.EOF) {
		t.Errorf("Run() = %v, want the loss of GPU-1 and no end", err)
	}
	if n0, n1 := len(samples["GPU-0"]), len(samples["GPU-1"]); n0 != 100 || n1 != 50 {
		t.Errorf("%d and %d samples, want 100 and 50: a lost device must not disturb the other", n0, n1)
	}
	for i, s := range samples["GPU-0"] {
		want := busy("GPU-0", i, float64(i)/100)
		if i > 0 {
			want.Window = time.Second
		}
		if s != want {
			t.Errorf("sample %d: %+v", i, s)
		}
	}
	if len(events) != 1 || events[0].Kind != nvmlx.EventLost || events[0].Device != "GPU-1" || !events[0].At.Equal(epoch.Add(50*time.Second)) {
		t.Errorf("events %v, want the loss of GPU-1 at second 50", events)
	}
}

func TestSamplerCaching(t *testing.T) {
	clock := nvmlx.NewVirtualClock(epoch)
	var asked []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	src := &fake{n: 1, read: func(id nvmlx.DeviceID, what nvmlx.Fields) (nvmlx.Sample, error) {
		at := clock.Now().Sub(epoch)
		asked = append(asked, fmt.Sprintf("%v %v", at, what))
		if at >= 61*time.Second {
			cancel()
		}
		s := nvmlx.Sample{Device: id}
		s.Missing.Set(what&nvmlx.FieldEnergy, nvmlx.ErrNotSupported)
		if at < time.Minute {
			s.Missing.Set(what&nvmlx.FieldSMActive, nvmlx.ErrPermission)
		}
		return s, nil
	}}
	samples, _, err := collect(ctx, src, nvmlx.SamplerConfig{
		Clock: clock, Every: 500 * time.Millisecond, Fields: nvmlx.FieldPower | nvmlx.FieldEnergy | nvmlx.FieldSMActive,
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run() = %v", err)
	}
	if len(asked) != 123 {
		t.Fatalf("%d reads, want 123: every half second for 61 seconds", len(asked))
	}
	for i, want := range map[int]string{
		0: "0s power_watts+energy_joules+sm_active", 1: "500ms power_watts", 2: "1s power_watts",
		119: "59.5s power_watts", 120: "1m0s power_watts+sm_active", 121: "1m0.5s power_watts+sm_active",
	} {
		if asked[i] != want {
			t.Errorf("read %d: %q, want %q", i, asked[i], want)
		}
	}
	s := samples["GPU-0"][4]
	if !errors.Is(s.Missing.Why(nvmlx.FieldEnergy), nvmlx.ErrNotSupported) || !errors.Is(s.Missing.Why(nvmlx.FieldSMActive), nvmlx.ErrPermission) {
		t.Errorf("a counter that is not asked for any more lost its reason: %+v", s.Missing)
	}
	if !s.At.Equal(epoch.Add(2*time.Second)) || s.Window != 500*time.Millisecond {
		t.Errorf("sample of %v over %v, want second 2 over 500ms", s.At, s.Window)
	}
}

func TestSamplerBacksOff(t *testing.T) {
	clock := nvmlx.NewVirtualClock(epoch)
	var at []int
	src := &fake{n: 1, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) {
		second := int(clock.Now().Sub(epoch) / time.Second)
		at = append(at, second)
		switch {
		case second < 10:
			return nvmlx.Sample{}, nvmlx.ErrTransient
		case second > 20:
			return nvmlx.Sample{}, io.EOF
		}
		return busy(id, second, 0.5), nil
	}}
	samples, events, err := collect(t.Context(), src, nvmlx.SamplerConfig{Clock: clock})
	if err != nil {
		t.Errorf("Run() = %v, want nil at the end of a recording", err)
	}
	if want := []int{0, 2, 5, 10, 11, 12}; !slices.Equal(at[:6], want) {
		t.Errorf("read at %v, want %v ...", at, want)
	}
	if len(samples["GPU-0"]) != 11 || len(events) != 3 || events[2].Kind != nvmlx.EventTrouble || events[2].Count != 3 {
		t.Errorf("%d samples, events %v", len(samples["GPU-0"]), events)
	}
}

// lateClock is a hand clock whose waiters never wait: time moves by reading.
type lateClock struct{ *handClock }

func (c lateClock) NewWaiter() nvmlx.Waiter { return lateWaiter(c) }

type lateWaiter struct{ *handClock }

func (w lateWaiter) Wait(ctx context.Context, t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now.Before(t) {
		w.now = t
	}
	return ctx.Err()
}

func (lateWaiter) Stop() {}

func TestSamplerSkipsLateTicks(t *testing.T) {
	clock := lateClock{&handClock{now: epoch}}
	costs := []time.Duration{0, 3500 * time.Millisecond, 0, 0, 1000 * time.Millisecond, 0, 0}
	reads := 0
	src := &fake{n: 1, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) {
		if reads == len(costs) {
			return nvmlx.Sample{}, io.EOF
		}
		clock.advance(costs[reads])
		reads++
		s := nvmlx.Sample{Device: id}
		s.GPUBusy = profile.Some(0.5)
		return s, nil
	}}
	samples, events, err := collect(t.Context(), src, nvmlx.SamplerConfig{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, s := range samples["GPU-0"] {
		at = append(at, fmt.Sprintf("%v/%v", s.At.Sub(epoch), s.Window))
	}
	// The tick of second 1 takes until 4.5: 2 and 3 are skipped, 4 is made late.
	// The tick of second 6 ends at 7, in time for the next.
	want := []string{"0s/0s", "4.5s/4.5s", "5s/500ms", "7s/2s", "8s/1s"}
	if !slices.Equal(at, want) {
		t.Errorf("samples at %v, want %v", at, want)
	}
	if len(events) == 0 || events[0].Kind != nvmlx.EventLate || events[0].Count != 2 {
		t.Errorf("events %v, want 2 late ticks first", events)
	}
}

func TestSamplerRefusals(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	one := &fake{n: 1, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) { return busy(id, 1, 1), nil }}
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		src    nvmlx.Source
		config *nvmlx.SamplerConfig
		want   string
	}{
		{"no devices", t.Context(), &fake{}, nil, "no such device"},
		{"cancelled", ctx, one, nil, "context canceled"},
		{"negative", t.Context(), one, &nvmlx.SamplerConfig{Every: -1}, "time between readings is -1ns"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := nvmlx.NewSampler(tt.src, tt.config).Run(tt.ctx, func(nvmlx.Sample) {}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// The machine's clock, once: many devices, a slow sink, an end from outside.
func TestSamplerSystemClock(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	src := &fake{n: 8, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) { return nvmlx.Sample{Device: id}, nil }}
	seen := map[nvmlx.DeviceID]int{}
	err := nvmlx.NewSampler(src, &nvmlx.SamplerConfig{Every: time.Millisecond}).Run(ctx, func(s nvmlx.Sample) {
		if seen[s.Device]++; len(seen) == 8 && seen[s.Device] > 5 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(seen) != 8 {
		t.Errorf("Run() = %v after samples of %d devices", err, len(seen))
	}
}

// A device that hangs in the driver delays nobody, until the end.
func TestSamplerHangingDevice(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	release := make(chan struct{})
	src := &fake{n: 2, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) {
		if id == "GPU-1" {
			<-release
		}
		return nvmlx.Sample{Device: id}, nil
	}}
	n := 0
	err := nvmlx.NewSampler(src, &nvmlx.SamplerConfig{Every: time.Millisecond}).Run(ctx, func(s nvmlx.Sample) {
		if n++; n == 10 && s.Device == "GPU-0" {
			cancel()
			close(release)
		}
	})
	if !errors.Is(err, context.Canceled) || n < 10 {
		t.Errorf("Run() = %v after %d samples", err, n)
	}
}

func TestVirtualClockManyWaiters(t *testing.T) {
	clock := nvmlx.NewVirtualClock(epoch)
	const waiters, steps = 10, 100
	var mu sync.Mutex
	var group sync.WaitGroup
	all := make([]nvmlx.Waiter, waiters)
	for i := range all {
		all[i] = clock.NewWaiter()
	}
	last := epoch
	for i, w := range all {
		group.Go(func() {
			defer w.Stop()
			for n := 1; n <= steps; n++ {
				until := epoch.Add(time.Duration(n*(i+1)) * time.Second)
				if err := w.Wait(t.Context(), until); err != nil {
					t.Error(err)
				}
				mu.Lock()
				if now := clock.Now(); now.Before(until) || now.Before(last) {
					t.Errorf("woken at %v, want %v; the latest was %v", now, until, last)
				} else {
					last = now
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if want := epoch.Add(waiters * steps * time.Second); !last.Equal(want) {
		t.Errorf("time ended at %v, want %v", last, want)
	}
}

// day is a recording of a length that no memory could hold: its rows are made as
// they are read.
type day struct {
	devices, seconds int
	next             int
	buffer           []byte
}

func (d *day) Read(p []byte) (int, error) {
	if len(d.buffer) == 0 {
		if d.next == d.devices*d.seconds {
			return 0, io.EOF
		}
		d.buffer = d.row(d.buffer[:0])
		d.next++
	}
	n := copy(p, d.buffer)
	d.buffer = d.buffer[n:]
	return n, nil
}

func (d *day) row(b []byte) []byte {
	b = append(b, `{"device":"GPU-`...)
	b = strconv.AppendInt(b, int64(d.next%d.devices), 10)
	b = append(b, `","at":"`...)
	b = epoch.Add(time.Duration(d.next/d.devices)*time.Second).AppendFormat(b, time.RFC3339Nano)
	return append(b, `","window":1000000000,"sm_active":0.4213,"gpu_busy":0.93,"mem_busy":0.41,"mem_used":11534336000,`+
		`"power_watts":312.5,"energy_joules":123456.789,"sm_clock_mhz":1980,"temp_celsius":61,"mem_clock_mhz":2619,"throttle":36}`+"\n"...)
}

// trace returns a recording of so many devices and seconds.
func trace(devices, seconds int) io.Reader {
	ids := make([]string, devices)
	for i := range ids {
		ids[i] = fmt.Sprintf(`{"id":"GPU-%d","index":%d,"name":"NVIDIA H100 80GB HBM3"}`, i, i)
	}
	header := `{"format":"nvmlx-trace","version":1,"system":{},"devices":[` + strings.Join(ids, ",") + "]}\n"
	return io.MultiReader(strings.NewReader(header), &day{devices: devices, seconds: seconds})
}

func TestSamplerDayInFlatMemory(t *testing.T) {
	const seconds = 24 * 60 * 60
	clock := nvmlx.NewVirtualClock(epoch)
	src, err := nvmlx.Replay(trace(2, seconds), nil)
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	n, first := 0, int64(0)
	err = nvmlx.NewSampler(src, &nvmlx.SamplerConfig{Clock: clock}).Run(t.Context(), func(nvmlx.Sample) {
		if n++; n == seconds/10 {
			first = heap()
		}
	})
	if err != nil || n != 2*seconds {
		t.Fatalf("%d samples, %v, want %d", n, err, 2*seconds)
	}
	if grown := heap() - first; grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes from the first tenth of the day to its end", grown)
	}
}

func TestSamplerAllocatesNothingPerTick(t *testing.T) {
	run := func(ticks int) uint64 {
		clock := nvmlx.NewVirtualClock(epoch)
		left := ticks
		src := &fake{n: 1, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) {
			if left--; left < 0 {
				return nvmlx.Sample{}, io.EOF
			}
			return nvmlx.Sample{Device: id}, nil
		}}
		sampler := nvmlx.NewSampler(src, &nvmlx.SamplerConfig{Clock: clock})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := sampler.Run(t.Context(), func(nvmlx.Sample) {})
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		return after.Mallocs - before.Mallocs
	}
	run(10)
	few, many := run(100), run(10100)
	if many > few+200 { // the runtime itself allocates now and then
		t.Errorf("%d allocations for 100 ticks, %d for 10100", few, many)
	}
}

func BenchmarkReplay(b *testing.B) {
	var file bytes.Buffer
	if _, err := file.ReadFrom(trace(8, 2000)); err != nil {
		b.Fatal(err)
	}
	ids := make([]nvmlx.DeviceID, 8)
	for i := range ids {
		ids[i] = gpu(i)
	}
	b.ReportAllocs()
	b.SetBytes(int64(file.Len()))
	n := 0
	for b.Loop() {
		src, err := nvmlx.Replay(bytes.NewReader(file.Bytes()), nil)
		if err != nil {
			b.Fatal(err)
		}
		for range 2000 {
			for _, id := range ids {
				if _, err := src.Read(b.Context(), id, nvmlx.FieldsAll); err != nil {
					b.Fatal(err)
				}
				n++
			}
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "samples/s")
}

func BenchmarkSampler(b *testing.B) {
	for _, devices := range []int{1, 8} {
		b.Run(fmt.Sprintf("devices=%d", devices), func(b *testing.B) {
			clock := nvmlx.NewVirtualClock(epoch)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			src := &fake{n: devices, read: func(id nvmlx.DeviceID, _ nvmlx.Fields) (nvmlx.Sample, error) { return nvmlx.Sample{Device: id}, nil }}
			n := 0
			b.ReportAllocs()
			b.ResetTimer()
			err := nvmlx.NewSampler(src, &nvmlx.SamplerConfig{Clock: clock}).Run(ctx, func(nvmlx.Sample) {
				if n++; n == b.N*devices { // one operation is a tick of every device
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) {
				b.Fatal(err)
			}
		})
	}
}
