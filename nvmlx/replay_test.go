package nvmlx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"example.com/colloc/nvmlx"
)

const header2 = `{"format":"nvmlx-trace","version":1,"system":{"driver":"580.1"},"devices":[{"id":"GPU-0","index":0,"name":"A"},{"id":"GPU-1","index":1,"name":"B"}]}` + "\n"

// row is a recorded sample at second s.
func row(device, s int, share float64) string {
	return fmt.Sprintf(`{"device":"GPU-%d","at":%q,"gpu_busy":%v}`+"\n", device, epoch.Add(time.Duration(s)*time.Second).Format(time.RFC3339), share)
}

// shares reads a device until it ends and returns what it saw: busy shares,
// "-" for missing, and the error at the end.
func shares(t *testing.T, src nvmlx.Source, id nvmlx.DeviceID, most int) string {
	t.Helper()
	var seen []string
	for range most {
		s, err := src.Read(t.Context(), id, nvmlx.FieldsAll)
		switch busy, ok := s.GPUBusy.Get(); {
		case errors.Is(err, io.EOF):
			return strings.Join(append(seen, "EOF"), " ")
		case errors.Is(err, nvmlx.ErrDeviceLost):
			seen = append(seen, "lost")
		case err != nil:
			return strings.Join(append(seen, err.Error()), " ")
		case !ok:
			seen = append(seen, "-")
		default:
			seen = append(seen, fmt.Sprint(busy))
		}
	}
	return strings.Join(seen, " ")
}

func TestReplaySteps(t *testing.T) {
	body := row(0, 0, 0.1) + row(1, 0, 0.2) + row(0, 1, 0.3) + row(1, 1, 0.4) + row(0, 2, 0.5)
	tests := []struct {
		name  string
		body  string
		want0 string // six reads of device 0
		want1 string // then six of device 1
	}{
		{name: "all rows of one device", body: body, want0: "0.1 0.3 0.5 EOF", want1: "0.4 EOF"},
		{name: "blank lines", body: "\n\n" + row(0, 0, 0.1) + " \n", want0: "0.1 EOF", want1: "EOF"},
		{name: "no newline at the end", body: strings.TrimSuffix(row(0, 0, 0.1), "\n"), want0: "0.1 EOF", want1: "EOF"},
		{name: "no rows", want0: "EOF", want1: "EOF"},
		{name: "no readings", body: `{"device":"GPU-0","processes":[]}`, want0: "EOF", want1: "EOF"},
		{
			name: "passing fault", body: row(0, 0, 0.1) + `{"device":"GPU-0","error":"failed for the moment"}` + "\n" + row(0, 1, 0.2) + row(1, 1, 0.3),
			want0: "0.1 nvmlx: replay: read GPU-0: failed for the moment", want1: "0.3 EOF",
		},
		{
			name: "recorded loss", body: row(0, 0, 0.1) + `{"device":"GPU-0","error":"device lost"}` + "\n" + row(0, 1, 0.2) + row(1, 1, 0.3),
			want0: "0.1 lost lost lost lost lost", want1: "0.3 EOF",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src, err := nvmlx.Replay(strings.NewReader(header2+tt.body), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := shares(t, src, gpu(0), 6); got != tt.want0 {
				t.Errorf("device 0: %s, want %s", got, tt.want0)
			}
			if got := shares(t, src, gpu(1), 6); got != tt.want1 {
				t.Errorf("device 1: %s, want %s", got, tt.want1)
			}
		})
	}
}

func TestReplayBadInput(t *testing.T) {
	long := `{"device":"GPU-0","x":"` + strings.Repeat("x", 1<<20) + `"}` + "\n"
	tests := []struct {
		name string
		text string
		want string // part of the error of Replay or of the first failing Read
	}{
		{"empty", "", "the recording is empty"},
		{"not JSON", "timestamp, index\n", "line 1: header"},
		{"another format", `{"format":"other","version":1}`, `line 1: header: format is "other"`},
		{"newer version", `{"format":"nvmlx-trace","version":2,"devices":[]}`, "version is 2, this program reads version 1"},
		{"no version", `{"format":"nvmlx-trace","devices":[]}`, "version is 0"},
		{"device twice", `{"format":"nvmlx-trace","version":1,"devices":[{"id":"a"},{"id":"a"}]}`, `device ID "a" is empty or listed twice`},
		{"device without ID", `{"format":"nvmlx-trace","version":1,"devices":[{}]}`, `device ID "" is empty`},
		{"bad row", header2 + row(0, 0, 0.1) + "{]\n", "line 3: "},
		{"bad row after a blank line", header2 + row(0, 0, 0.1) + "\n{]\n", "line 4: "},
		{"cut short", header2 + row(0, 0, 0.1) + row(0, 1, 0.2)[:40], "line 3: the recording ends in the middle of this line"},
		{"unknown device", header2 + row(7, 0, 0.1), `line 2: device "GPU-7" is not in the header`},
		{"per cent", header2 + row(0, 0, 93), "line 2: gpu_busy is 93, want a share between 0 and 1, not per cent"},
		{"negative", header2 + `{"device":"GPU-0","power_watts":-1}`, "line 2: power_watts is -1"},
		{"negative window", header2 + `{"device":"GPU-0","window":-1}`, "line 2: window is -1ns"},
		{"negative memory", header2 + `{"device":"GPU-0","mem_used":-1}`, "line 2: "},
		{"text for a number", header2 + `{"device":"GPU-0","gpu_busy":"1"}`, "line 2: "},
		{"a letter", header2 + row(0, 0, 0.1) + "x\n", "line 3: "},
		{"bad time", header2 + `{"device":"GPU-0","at":"yesterday"}`, "line 2: "},
		{"unknown error", header2 + `{"device":"GPU-0","error":"ennui"}`, `line 2: nvmlx: unknown cause "ennui"`},
		{"long line", header2 + row(0, 0, 0.1) + long, "line 3: line is longer than 1 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src, err := nvmlx.Replay(strings.NewReader(tt.text), nil)
			for range 5 {
				if err == nil {
					_, err = src.Read(t.Context(), gpu(0), nvmlx.FieldsAll)
				}
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "nvmlx: replay: ") {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
			if src != nil {
				if _, again := src.Read(t.Context(), gpu(0), nvmlx.FieldsAll); again == nil {
					t.Error("the error did not stay")
				}
			}
		})
	}
}

func TestReplayReaderFails(t *testing.T) {
	broken := errors.New("cable pulled")
	for cut := range 40 {
		text := header2 + row(0, 0, 0.1) + row(0, 1, 0.2)
		r := io.MultiReader(strings.NewReader(text[:len(text)-cut]), iotest.ErrReader(broken))
		src, err := nvmlx.Replay(iotest.OneByteReader(r), nil)
		for range 3 {
			if err == nil {
				_, err = src.Read(t.Context(), gpu(0), nvmlx.FieldsAll)
			}
		}
		if !errors.Is(err, broken) {
			t.Errorf("cut %d: got %v, want %v", cut, err, broken)
		}
	}
}

// TestReplayStops: who waits for a device that is silent for very long can give up, and
// who does not gets its row.
func TestReplayStops(t *testing.T) {
	text := header2 + strings.Repeat(row(0, 0, 0.1), 5000) + row(1, 0, 0.2)
	for _, stop := range []bool{true, false} {
		src, err := nvmlx.Replay(strings.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx := &lateCancel{Context: t.Context(), after: 3}
		if !stop {
			ctx.after = 1 << 30
		}
		s, err := src.Read(ctx, gpu(1), nvmlx.FieldsAll)
		if stop != errors.Is(err, context.Canceled) || !stop && (err != nil || s.GPUBusy.Or(0) != 0.2) {
			t.Errorf("stop %v: %+v, %v", stop, s, err)
		}
	}
}

// lateCancel is cancelled when it is asked often enough.
type lateCancel struct {
	context.Context
	after int
}

func (c *lateCancel) Err() error {
	if c.after--; c.after < 0 {
		return context.Canceled
	}
	return nil
}

func TestReplayRefusals(t *testing.T) {
	src, err := nvmlx.Replay(strings.NewReader(header2+row(0, 0, 0.1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := src.Read(cancelled, gpu(0), nvmlx.FieldsAll); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := src.Read(t.Context(), "GPU-9", nvmlx.FieldsAll); !errors.Is(err, nvmlx.ErrNoDevice) {
		t.Errorf("no such device: %v", err)
	}
	if _, err := src.Processes(t.Context(), gpu(0)); !errors.Is(err, nvmlx.ErrNotSupported) {
		t.Errorf("processes: %v", err)
	}
	if _, err := src.MIG(t.Context(), gpu(0)); !errors.Is(err, nvmlx.ErrNotSupported) {
		t.Errorf("MIG: %v", err)
	}
	if err := errors.Join(src.Close(), src.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := src.Read(t.Context(), gpu(0), nvmlx.FieldsAll); !errors.Is(err, nvmlx.ErrUnavailable) {
		t.Errorf("closed: %v", err)
	}
}

// Whatever is played, no call panics, and every sample is in range.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(header2+row(0, 0, 0.1)+row(1, 1, 1)), true)
	f.Add([]byte(header2+`{"device":"GPU-0","processes":[{"pid":1,"kind":"mps","mem_used":5}]}`), false)
	f.Add([]byte(header2+`{"device":"GPU-1","mig":{"enabled":true,"instances":[{"id":"MIG-1"}]}}`+"\n"+`{"device":"GPU-1","error":"device lost"}`), false)
	f.Add([]byte(header2+`{"device":"GPU-0","event":{"device":"GPU-0","kind":"xid","xid":79}}`+"\n"+`{"device":"GPU-0","missing":{"power_watts":"no permission","new":"not supported"}}`), true)
	f.Fuzz(func(t *testing.T, data []byte, skip bool) {
		var onDamage func(error)
		if skip {
			onDamage = func(error) {}
		}
		src, err := nvmlx.Replay(bytes.NewReader(data), onDamage)
		if err != nil {
			return
		}
		devices, _ := src.Devices(t.Context())
		for range 50 {
			for _, d := range devices[:min(len(devices), 3)] {
				s, err := src.Read(t.Context(), d.ID, nvmlx.FieldsAll)
				if share, ok := s.GPUBusy.Get(); err != nil && s.Present() != 0 || ok && !(share >= 0 && share <= 1) || s.Window < 0 {
					t.Fatalf("sample %+v with error %v", s, err)
				}
				_, _ = src.Processes(t.Context(), d.ID)
				_, _ = src.MIG(t.Context(), d.ID)
			}
		}
	})
}
