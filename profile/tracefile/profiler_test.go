package tracefile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
	"example.com/colloc/profile/tracefile/internal/profiler"
)

const kinetoText = `{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "numSms": 108}], "distributedInfo": {"rank": 0},
"traceEvents": [
{"ph": "X", "cat": "Trace", "ts": 0, "dur": 99999999, "name": "PyTorch Profiler (0)", "pid": "Traces", "tid": "x"},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 1000, "dur": 400},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 1400, "dur": 600},
{"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1, "tid": 1, "ts": 1000, "dur": 250},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1100.500, "dur": 200, "args": {"device": 0, "blocks per SM": 4.5, "est. achieved occupancy %": 50}},
{"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 8, "ts": 1200.500, "dur": 200, "args": {"device": 0, "blocks per SM": 0.5, "est. achieved occupancy %": 25}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 1900.5, "dur": 200, "args": {"device": 0, "bytes": 4000}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)", "pid": 0, "tid": 7, "ts": 1950, "dur": 50, "args": {"device": 0, "bytes": 9000}},
{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "ts": 1300, "args": {"Device Type": 1, "Device Id": 0, "Bytes": 5, "Total Allocated": 1048576}},
{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python", "device": "none"}}
], "traceName": "x.json"}`

// TestKineto reads a small trace of the PyTorch profiler, gzipped and plain.
func TestKineto(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.WriteString(z, kinetoText); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plain": kinetoText, "gzip": packed.String()} {
		f, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Format != Kineto || len(f.Traces) != 1 || f.Traces[0].Labels[LabelName] != "NVIDIA A100-SXM4-40GB" || f.DataWait != profile.Some(0.25) {
			t.Fatalf("%s: got %+v", name, f)
		}
		s := f.Traces[0].Samples[0]
		if s.GPUBusy != profile.Some(0.5) || s.SMActive != profile.Some(0.3) || s.SMOccupancy != profile.Some(0.15) ||
			s.MemUsed != profile.Some(profile.MiB) || s.StepTime != profile.Some(500*time.Microsecond) || s.Window != time.Millisecond ||
			s.PCIeBytesPerSec != profile.Some(4e6) {
			t.Errorf("%s: got %+v", name, s)
		}
	}
}

// TestKinetoCorners: what a kernel does not tell in numbers is not known of its device,
// what runs at once keeps no more than all SMs busy, and setting memory moves no bytes.
func TestKinetoCorners(t *testing.T) {
	kernel := func(device, start, length int, blocks, occupancy string) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": %d, "ts": %d, "dur": %d, "args": {"device": %d, "blocks per SM": %s, "est. achieved occupancy %%": %s}}`,
			start, start, length, device, blocks, occupancy)
	}
	step := `{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 1000, "dur": 1000},`
	for name, c := range map[string]struct {
		events        string
		sms, occupied []float64 // of each device; -1 is not known
	}{
		"at once":     {kernel(0, 1000, 800, "4", "90") + "," + kernel(0, 1001, 800, "2", "90"), []float64{1}, []float64{1}},
		"two devices": {kernel(0, 1000, 100, "1", "50") + "," + kernel(1, 1000, 200, "1", "50"), []float64{0.5, 1}, []float64{0.25, 0.5}},
		"words":       {kernel(0, 1000, 100, `"many"`, `"-5"`), []float64{-1}, []float64{-1}},
		"endless":     {kernel(0, 1000, 100, `"Inf"`, "50"), []float64{-1}, []float64{0.5}},
		"set to 0": {kernel(0, 1000, 100, "1", "50") + `,{"ph": "X", "cat": "gpu_memset", "name": "Memset", "pid": 0, "tid": 7, "ts": 1500, "dur": 10, "args": {"device": 0, "bytes": 4000}}` +
			`,{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 1600, "dur": 10, "args": {"device": 0}}`, []float64{10. / 61}, []float64{5. / 61}},
	} {
		f, err := Read(strings.NewReader(`{"schemaVersion": 1, "traceEvents": [`+step+c.events+`]}`), nil)
		if err != nil || len(f.Traces) != len(c.sms) {
			t.Errorf("%s: got %+v, %v", name, f, err)
			continue
		}
		for i := range c.sms {
			s := f.Traces[i].Samples[0]
			if got := s.SMActive.Or(-1); !(math.Abs(got-c.sms[i]) <= 1e-9) {
				t.Errorf("%s: device %d: SMs busy %v, want %v", name, i, got, c.sms[i])
			}
			if got := s.SMOccupancy.Or(-1); !(math.Abs(got-c.occupied[i]) <= 1e-9) {
				t.Errorf("%s: device %d: occupancy %v, want %v", name, i, got, c.occupied[i])
			}
			if got := s.PCIeBytesPerSec.Or(-1); got != 0 {
				t.Errorf("%s: %v bytes a second", name, got)
			}
		}
	}
}

const nsysText = `Start (ns),Duration (ns),CorrId,GrdX,Bytes (MB),SrcMemKd,Device,Strm,Name
1000,500,1,2,,,NVIDIA A100 (0),7,"void gemm<float, 4>(float*)"
2000,500,2,,2.000,Pinned,NVIDIA A100 (0),7,[CUDA memcpy HtoD]
2900,100,3,2,,,NVIDIA A100 (0),7,relu
`

// TestNsysLong: the bound of a row is not one of all rows.
func TestNsysLong(t *testing.T) {
	row := `1000,500,1,2,,,NVIDIA A100 (0),7,"` + strings.Repeat("x", 1<<20) + "\"\n"
	f, err := Read(strings.NewReader(nsysText+strings.Repeat(row, profiler.MaxHeldJSON>>20+1)), nil)
	if err != nil || len(f.Traces) != 1 {
		t.Errorf("%v, %v", f, err)
	}
}

// TestNanosecond: the shortest trace, and the shortest step, has a length.
func TestNanosecond(t *testing.T) {
	for _, text := range []string{
		strings.Split(nsysText, "\n")[0] + "\n1000,1,1,2,,,NVIDIA A100 (0),7,gemm\n",
		`{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 0.001, "args": {"device": 0}},
		{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "ts": 1, "dur": 0.001},
		{"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#x", "ts": 1, "dur": 0.001},
		{"ph": "B", "cat": "kernel", "name": "no whole one", "ts": 1, "dur": 5, "args": {"device": 0}},
		{"ph": "X", "cat": "kernel", "name": "nor this", "ts": 9, "args": {"device": 0}}]}`,
	} {
		f, err := Read(strings.NewReader(text), nil)
		if err != nil || len(f.Traces) != 1 || f.Traces[0].Samples[0].Window != 1 || f.Traces[0].Samples[0].GPUBusy != f64(1) {
			t.Errorf("%s: %+v, %v", text, f, err)
		} else if f.Format == Kineto && f.DataWait != f64(1) {
			t.Errorf("the loop waited %v", f.DataWait)
		}
	}
	if f, err := Read(strings.NewReader(strings.Split(nsysText, "\n")[0]+"\n1000,0,1,2,,,NVIDIA A100 (0),7,gemm\n"), nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("a kernel that took no time: %+v, %v", f, err)
	}
}

// TestNsysMissing: a copy without a size has copied nothing that is known, and without steps
// nobody waited; a summary before the rows is passed over.
func TestNsysMissing(t *testing.T) {
	rows := strings.SplitAfter(nsysText, "\n")
	f, err := Read(strings.NewReader("Time (%),Total Time (ns),Instances,Name\n50.0,1000,3,gemm\n"+rows[0]+rows[1]+"2000,500,2,,,Pinned,NVIDIA A100 (0),7,[CUDA memcpy HtoD]\n"), nil)
	if err != nil || len(f.Warnings) != 0 || !f.DataWait.IsZero() || f.Traces[0].Samples[0].PCIeBytesPerSec != f64(0) {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestNsysShort: a row that ends before its name is that of a kernel.
func TestNsysShort(t *testing.T) {
	f, err := Read(strings.NewReader(nsysText+"3500,500,1,2,,,NVIDIA A100 (0),7\n"), nil)
	if err != nil || len(f.Traces) != 1 || f.Traces[0].Samples[0].Window != 3*time.Microsecond {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestNsys(t *testing.T) {
	f, err := Read(strings.NewReader(nsysText), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Traces[0].Samples[0]
	busy, _ := s.GPUBusy.Get()
	pcie, _ := s.PCIeBytesPerSec.Get()
	if f.Format != Nsys || !(math.Abs(busy-0.55) <= 1e-12) || !(math.Abs(pcie/1e12-1) <= 1e-9) || !s.SMActive.IsZero() || f.Traces[0].Labels[LabelName] != "NVIDIA A100 (0)" {
		t.Errorf("got %+v", f)
	}
	// Two devices, a damaged row, and a summary beside the activities.
	f, err = Read(strings.NewReader(nsysText+"4000,100,4,2,,,NVIDIA A100 (1),7,relu\nsoon,100,4,2,,,NVIDIA A100 (2),7,relu\n3000,500,1,2,,,NVIDIA A100 (0),7,relu\n"+
		"Time (%),Total Time (ns),Instances,Name\n50.0,1000,3,gemm\n"), nil)
	if err != nil || len(f.Traces) != 2 || f.Traces[1].Labels[LabelName] != "NVIDIA A100 (1)" || f.Traces[1].Labels[LabelGPU] != "1" {
		t.Fatalf("two devices: got %+v, %v", f, err)
	}
	if busy := f.Traces[0].Samples[0].GPUBusy.Or(0); !(math.Abs(busy-1600.0/3100) <= 1e-12) {
		t.Errorf("two devices: busy %v", busy)
	}
	if !strings.Contains(fmt.Sprint(f.Warnings), "line 6: no start and duration in whole nanoseconds") {
		t.Errorf("a damaged row: warnings %v", f.Warnings)
	}
	if _, err := Read(strings.NewReader("Time (%),Total Time (ns),Instances,Name\n50.0,1000,3,gemm\n40.0,900,4,relu\n0.0,0,1,none\n"), nil); err == nil || !strings.Contains(err.Error(), "a summary of 3 kernels, 1.9e-06 s in 8 launches") {
		t.Errorf("a summary of two: got %v", err)
	}
	if _, err := Read(strings.NewReader("Processing [a.sqlite]...\nTime(%),Total Time (ns),Instances,Name\n50.0,1000,3,gemm\n"), nil); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "1e-06 s in 3 launches") || !strings.Contains(err.Error(), "cuda_gpu_trace") {
		t.Errorf("a summary: got %v", err)
	}
}

// zeros is an endless text of blanks inside a JSON document, for a bomb.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n := int(min(z.left, int64(len(p))))
	for i := range p[:n] {
		p[i] = ' '
	}
	z.left -= int64(n)
	return n, nil
}

func TestProfilerErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
	}{
		"cut off":       {kinetoText[:900], "the trace is cut off"},
		"cut in a list": {kinetoText[:len(kinetoText)-30], "the trace is cut off"},
		"no events":     {`{"schemaVersion": 1, "traceEvents": []}`, ErrEmpty.Error()},
		"no GPU":        {`{"traceEvents": [{"ph": "X", "cat": "cpu_op", "ts": 1, "dur": 2}]}`, "1 events, no kernel of a GPU among them, but cpu_op"},
		"other JSON":    {`{"loss": 1, "epoch": 2}`, "the keys loss, epoch, neither"},
		"no keys":       {`{}`, "an object without keys"},
		"execution":     {`{"schema": "1.0.1", "pid": 1, "nodes": [{"name": "aten::add", "id": 2}`, "an execution trace of PyTorch"},
		"for people":    {"Tue Jul 14 08:12:53 2026\n+---+\n| NVIDIA-SMI 590.48.01 |\n", "the table that nvidia-smi prints for people"},
		"help":          {"List of valid properties to query for the switch \"--query-gpu\":\n", "nvidia-smi's help"},
		"idle pmon":     {"# gpu pid type sm\n# Idx # C/G %\n 0 - - -\n", "GPUs that no process used"},
		"a header":      {"timestamp, index, utilization.gpu [%]\n", "a header and no row"},
		"no list":       {`{"traceEvents": 7}`, "traceEvents is no list"},
		"nested":        {`{"traceEvents": [], "x": ` + strings.Repeat("[", 2000), "nest deeper than 1000"},
		"a long row":    {nsysText + `"` + strings.Repeat("x", profiler.MaxHeldJSON+1<<16), "one event is longer"},
		"cut gzip":      {gzipped(t, csvText)[:60], "gzip: the file is cut off"},
		"no gzip":       {"\x1f\x8b\x00\x00", "gzip"},
	} {
		if _, err := Read(strings.NewReader(c.text), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if testing.Short() || race.Enabled {
		return
	}
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(z, io.MultiReader(strings.NewReader(`{"traceEvents": [`), &zeros{left: 64 << 20}))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&bomb, nil); err == nil {
		t.Error("a bomb of blanks was taken")
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := io.WriteString(z, text)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// TestUnpacked holds a log that gzip swells against its bound.
func TestUnpacked(t *testing.T) {
	if got, err := io.ReadAll(&unpacked{r: &zeros{left: 100}, left: 100}); err != nil || len(got) != 100 {
		t.Errorf("as much as is allowed: %d bytes, %v", len(got), err)
	}
	if _, err := io.ReadAll(&unpacked{r: &zeros{left: 1 << 40}, left: 1 << 20}); err == nil || !strings.Contains(err.Error(), "bytes unpacked") {
		t.Errorf("a bomb: %v", err)
	}
}

func TestManyEvents(t *testing.T) {
	events := 1_000_000
	if testing.Short() || race.Enabled {
		events = 20_000
	}
	r, w := io.Pipe()
	go func() {
		_, err := io.WriteString(w, `{"schemaVersion": 1, "traceEvents": [`)
		for i := 0; i < events && err == nil; i++ {
			_, err = fmt.Fprintf(w, `{"ph":"X","cat":"kernel","name":"k","ts":%d,"dur":5,"args":{"device":0}},`, 10*i)
		}
		if err == nil {
			_, err = io.WriteString(w, `{"ph":"M"}]}`)
		}
		w.CloseWithError(err)
	}()
	f, err := Read(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if busy, _ := f.Traces[0].Samples[0].GPUBusy.Get(); !(math.Abs(busy-0.5) <= 1e-4) {
		t.Errorf("busy %v, want a half", busy)
	}
}

func FuzzReadKineto(f *testing.F) { fuzz(f, kinetoText, nsysText) }

func ExampleRead_profiler() {
	f, err := Read(strings.NewReader(kinetoText), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := f.Traces[0].Samples[0]
	fmt.Println("busy", s.GPUBusy, "step", s.StepTime, "waits for data", f.DataWait)
	// Output: busy 0.5 step 500µs waits for data 0.25
}
