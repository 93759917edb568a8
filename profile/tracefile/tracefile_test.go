package tracefile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
	"example.com/colloc/profile/internal/reading"
)

var cmpOpts = cmp.AllowUnexported(profile.Opt[float64]{}, profile.Opt[profile.Bytes]{}, profile.Opt[time.Duration]{})

// traces drops the warnings, which tests look at by themselves.
func traces(f *File) []profile.Trace {
	var list []profile.Trace
	for _, t := range f.Traces {
		t.Warnings = nil
		list = append(list, t)
	}
	return list
}

const (
	csvText = `timestamp, index, uuid, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], power.draw [W], clocks.sm [MHz], temperature.gpu
2026/03/01 12:00:00.250, 0, GPU-a, NVIDIA A100-SXM4-40GB, 93 %, 41 %, 1035 MiB, 84.33 W, 1410 MHz, 51
2026/03/01 12:00:00.250, 1, GPU-b, NVIDIA A100-SXM4-40GB, 0 %, 0 %, 1 MiB, [N/A], 210 MHz, 30
2026/03/01 12:00:01.250, 0, GPU-a, NVIDIA A100-SXM4-40GB, [Not Supported], 40 %, 2 GiB, 90.00 W, 1410 MHz, 52
2026/03/01 12:00:01.250, 1, GPU-b, NVIDIA A100-SXM4-40GB, 1
not a time, 0, GPU-a, x, 1 %, 1 %, 1 MiB, 1 W, 1 MHz, 1
2026/03/01 12:00:02.250, 0, GPU-a, NVIDIA A100-SXM4-40GB, 250 %, 40 %, 5 lots, 90.00 W, 1410 MHz, 52
`
	dmonText = `#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk     fb  rxpci  txpci
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %    MHz    MHz     MB   MB/s   MB/s
 20260301   12:00:00      0    150     45     50     78     33      0      0   1215   1410   1024     12      3
 20260301   12:00:00      1      -      -      -      -      -      -      -      -      -      -      -      -
# gpu   sm   pwr
# Idx    %     W
    0   80   151
`
	pmonText = `# gpu         pid   type     sm    mem    enc    dec    command
# Idx           #    C/G      %      %      %      %    name
    0       4711     C     75     20      -      -    python train.py
    0       4712   M+C     10      5      -      -    python
    1          -     -      -      -      -      -    -
    0        900     C      -      -      -      -    nvidia-cuda-mps-server
`
	dcgmiText = `#Entity   GPUTL  GRACT  SMACT  SMOCC  TENSO  DRAMA  FP32A         PCITX         PCIRX  POWER          TOTEC  FBUSD
ID                                                                                           W             mJ
GPU 0     95     0.942  0.611  0.250  0.100  0.333  0.200     1000000.0     2000000.0  201.5      100000000   2048
GPU-I 7   0      0.500  0.400  0.200  N/A    0.100  0.050     N/A           N/A          N/A            N/A   512
GPU 0     96     0.950  0.600  0.260  0.110  0.340  0.210     1000000.0     N/A          N/A      100200000   9223372036854775794
`
	promText = `# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA A100-SXM4-40GB",Hostname="n1",container="main",namespace="ml",pod="train-7"} 93
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",GPU_I_PROFILE="1g.5gb",GPU_I_ID="7",Hostname="n1"} 0
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-a",GPU_I_PROFILE="1g.5gb",GPU_I_ID="7",Hostname="n1"} 0.25
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA A100-SXM4-40GB",Hostname="n1",container="main",namespace="ml",pod="train-7"} 1024
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA A100-SXM4-40GB",Hostname="n1",container="main",namespace="ml",pod="train-7"} NaN
DCGM_FI_PROF_SM_UTIL_RATIO{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA A100-SXM4-40GB",Hostname="n1",container="main",namespace="ml",pod="train-7"} 0.5
process_cpu_seconds_total 4
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA A100-SXM4-40GB",Hostname="n1",container="main",namespace="ml",pod="train-7"} 94
`
	hamiText = `# TYPE hami_vgpu_memory_used_bytes gauge
hami_vgpu_memory_used_bytes{namespace="ml",pod="a\"b",container="c",vdevice_index="0",device_uuid="GPU-a"} 1.073741824e+09 1700000000000
hami_container_device_utilization_ratio{namespace="ml",pod="a\"b",container="c",vdevice_index="0",device_uuid="GPU-a"} 50 1700000000000
hami_container_device_utilization_ratio{namespace="ml",pod="a\"b",container="c",vdevice_index="0",device_uuid="GPU-a"} 60 1700000010000
`
	matrixText = `{"status":"success","data":{"resultType":"matrix","result":[
{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0","UUID":"GPU-a","exported_pod":"train-7","pod":"dcgm-exporter-x"},"values":[[1700000000,"50"],[1700000030,"NaN"],[1700000060.5,"70"]]},
{"metric":{"__name__":"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION","gpu":"0","UUID":"GPU-a","exported_pod":"train-7"},"values":[[1700000000,"1000000"],[1700000060.5,"7050000"]]},
{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0","UUID":"GPU-a","GPU_I_ID":"3"},"values":[[1700000000,"0"]]},
{"metric":{"__name__":"up"},"values":[[1700000000,"1"]]}
]},"warnings":["slow disk"]}`
)

func f64(v float64) profile.Opt[float64] { return profile.Some(v) }

func TestReadCSV(t *testing.T) {
	f, err := Read(strings.NewReader(csvText), &Options{Location: time.FixedZone("east", 2*3600)})
	if err != nil {
		t.Fatal(err)
	}
	at := func(s int) time.Time {
		return time.Date(2026, 3, 1, 10, 0, s, 250e6, time.UTC)
	}
	want := []profile.Trace{
		{
			Labels: map[string]string{"gpu": "0", "uuid": "GPU-a", "name": "NVIDIA A100-SXM4-40GB"},
			Samples: []profile.Sample{
				{
					At: at(0), GPUBusy: f64(0.93), MemBusy: f64(0.41), MemUsed: profile.Some(1035 * profile.MiB),
					PowerWatts: f64(84.33), SMClockMHz: f64(1410), TempCelsius: f64(51),
				},
				{At: at(1), MemBusy: f64(0.40), MemUsed: profile.Some(2 * profile.GiB), PowerWatts: f64(90), SMClockMHz: f64(1410), TempCelsius: f64(52)},
				{At: at(2), MemBusy: f64(0.40), PowerWatts: f64(90), SMClockMHz: f64(1410), TempCelsius: f64(52)},
			},
		},
		{
			Labels: map[string]string{"gpu": "1", "uuid": "GPU-b", "name": "NVIDIA A100-SXM4-40GB"},
			Samples: []profile.Sample{
				{At: at(0), GPUBusy: f64(0), MemBusy: f64(0), MemUsed: profile.Some(profile.MiB), SMClockMHz: f64(210), TempCelsius: f64(30)},
			},
		},
	}
	if diff := cmp.Diff(want, traces(f), cmpOpts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantWarnings(t, f, "line 5: a row of fewer columns", `line 6: timestamp "not a time"`, "line 7: a value that cannot be")
	if f.Format != CSV {
		t.Errorf("got %v", f.Format)
	}
}

func wantWarnings(t *testing.T, f *File, parts ...string) {
	t.Helper()
	for i, part := range parts {
		if i >= len(f.Warnings) || !strings.Contains(f.Warnings[i].Error(), part) {
			t.Errorf("warning %d: want %q in %v", i, part, f.Warnings)
		}
	}
	for _, trace := range f.Traces {
		if len(trace.Warnings) != len(f.Warnings) {
			t.Errorf("a trace has %d warnings, its file %d", len(trace.Warnings), len(f.Warnings))
		}
	}
	if len(f.Warnings) != len(parts) {
		t.Errorf("got %d warnings, want %d: %v", len(f.Warnings), len(parts), f.Warnings)
	}
}

func TestReadCSVWithoutHeader(t *testing.T) {
	text := "2026/03/01 12:00:00, 0, 93, 1035\n2026/03/01 12:00:01, 0, N/A, 1036\n"
	if _, err := Read(strings.NewReader(text), nil); !errors.Is(err, ErrFormat) {
		t.Errorf("got %v, want ErrFormat", err)
	}
	f, err := Read(strings.NewReader(text), &Options{Fields: []string{"timestamp", "index", "utilization.gpu", "memory.used"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Sample{
		{At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), GPUBusy: f64(0.93), MemUsed: profile.Some(1035 * profile.MiB)},
		{At: time.Date(2026, 3, 1, 12, 0, 1, 0, time.UTC), MemUsed: profile.Some(1036 * profile.MiB)},
	}
	if diff := cmp.Diff(want, f.Traces[0].Samples, cmpOpts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantWarnings(t, f, "read as UTC: set Options.Location")
	if _, err := Read(strings.NewReader(text), &Options{Fields: []string{"serial"}}); err == nil {
		t.Error("fields that mean nothing were taken")
	}
}

func TestReadApps(t *testing.T) {
	f, err := Read(strings.NewReader("gpu_uuid, pid, process_name, used_memory [MiB]\nGPU-a, 12, python, 300 MiB\nMIG-b, 13, python, 400 MiB\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{
		{"uuid": "GPU-a", "pid": "12", "command": "python"},
		{"uuid": "MIG-b", "pid": "13", "command": "python", "instance": "MIG-b"},
	}
	for i, w := range want {
		if diff := cmp.Diff(w, f.Traces[i].Labels); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReadDmon(t *testing.T) {
	f, err := Read(strings.NewReader(dmonText), &Options{Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := []profile.Trace{
		{
			Labels: map[string]string{"gpu": "0"},
			Samples: []profile.Sample{
				{
					At: at, GPUBusy: f64(0.78), MemBusy: f64(0.33), MemUsed: profile.Some(profile.GiB), PowerWatts: f64(150),
					SMClockMHz: f64(1410), TempCelsius: f64(45), PCIeBytesPerSec: f64(15e6),
				},
				{Window: time.Second, GPUBusy: f64(0.80), PowerWatts: f64(151)},
			},
		},
		{Labels: map[string]string{"gpu": "1"}, Samples: []profile.Sample{{At: at}}},
	}
	// The last row has no time, before or after what has one: it stays zero and
	// sorts to the front.
	want[0].Samples[0], want[0].Samples[1] = want[0].Samples[1], want[0].Samples[0]
	if diff := cmp.Diff(want, traces(f), cmpOpts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f.Format != Table {
		t.Errorf("got %v", f.Format)
	}
}

func TestReadPmon(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f, err := Read(strings.NewReader(pmonText+pmonText), &Options{Start: start, Interval: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	sample := func(n int, sm, mem float64) profile.Sample {
		return profile.Sample{At: start.Add(time.Duration(n) * 2 * time.Second), Window: 2 * time.Second, GPUBusy: f64(sm), MemBusy: f64(mem)}
	}
	want := []profile.Trace{
		{Labels: map[string]string{"gpu": "0", "pid": "4711", "command": "python train.py"}, Samples: []profile.Sample{sample(0, 0.75, 0.2), sample(1, 0.75, 0.2)}},
		{Labels: map[string]string{"gpu": "0", "pid": "4712", "command": "python"}, Samples: []profile.Sample{sample(0, 0.1, 0.05), sample(1, 0.1, 0.05)}},
	}
	if diff := cmp.Diff(want, traces(f), cmpOpts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantWarnings(t, f)
}

func TestReadDcgmi(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f, err := Read(strings.NewReader(dcgmiText), &Options{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Trace{
		{
			Labels: map[string]string{"gpu": "0"},
			Samples: []profile.Sample{
				{
					At: start, Window: time.Second, GPUBusy: f64(0.95), SMActive: f64(0.611), SMOccupancy: f64(0.25), TensorActive: f64(0.1),
					DRAMActive: f64(0.333), FP32Active: f64(0.2), PCIeBytesPerSec: f64(3e6), PowerWatts: f64(201.5), EnergyJoules: f64(1e5),
					MemUsed: profile.Some(2 * profile.GiB),
				},
				{ // power from the counter; one direction of PCIe is not the sum of both
					At: start.Add(time.Second), Window: time.Second, GPUBusy: f64(0.96), SMActive: f64(0.6), SMOccupancy: f64(0.26),
					TensorActive: f64(0.11), DRAMActive: f64(0.34), FP32Active: f64(0.21), PowerWatts: f64(200), EnergyJoules: f64(100200),
				},
			},
		},
		{
			Labels: map[string]string{"instance": "7"},
			Samples: []profile.Sample{{ // GPUTL of a MIG instance is dropped
				At: start, Window: time.Second, GPUBusy: f64(0.5), SMActive: f64(0.4), SMOccupancy: f64(0.2), DRAMActive: f64(0.1),
				FP32Active: f64(0.05), MemUsed: profile.Some(512 * profile.MiB),
			}},
		},
	}
	if diff := cmp.Diff(want, traces(f), cmpOpts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantWarnings(t, f)
}

func TestReadExposition(t *testing.T) {
	f, err := Read(strings.NewReader(promText), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Trace{
		{
			Labels: map[string]string{
				"gpu": "0", "uuid": "GPU-a", "name": "NVIDIA A100-SXM4-40GB", "host": "n1", "container": "main", "namespace": "ml", "pod": "train-7",
			},
			Samples: []profile.Sample{
				{Window: time.Second, GPUBusy: f64(0.93), MemUsed: profile.Some(profile.GiB), SMActive: f64(0.5)},
				{Window: time.Second, GPUBusy: f64(0.94)},
			},
		},
		{
			Labels:  map[string]string{"gpu": "0", "uuid": "GPU-a", "host": "n1", "instance": "7"},
			Samples: []profile.Sample{{Window: time.Second, GPUBusy: f64(0.25)}},
		},
	}
	if diff := cmp.Diff(want, traces(f), cmpOpts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f, err = Read(strings.NewReader(hamiText), nil)
	if err != nil {
		t.Fatal(err)
	}
	want = []profile.Trace{{
		Labels: map[string]string{"uuid": "GPU-a", "container": "c", "namespace": "ml", "pod": `a"b`},
		Samples: []profile.Sample{
			{At: time.Unix(1700000000, 0).UTC(), GPUBusy: f64(0.5), MemUsed: profile.Some(profile.GiB)},
			{At: time.Unix(1700000010, 0).UTC(), GPUBusy: f64(0.6)},
		},
	}}
	if diff := cmp.Diff(want, traces(f), cmpOpts); diff != "" {
		t.Errorf("HAMi (-want +got):\n%s", diff)
	}
}

func TestReadMatrix(t *testing.T) {
	f, err := Read(strings.NewReader(matrixText), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1700000000, 0).UTC()
	want := []profile.Trace{{
		Labels: map[string]string{"gpu": "0", "uuid": "GPU-a", "pod": "train-7"},
		Samples: []profile.Sample{
			{At: at, GPUBusy: f64(0.5), EnergyJoules: f64(1000)},
			{At: at.Add(60500 * time.Millisecond), GPUBusy: f64(0.7), EnergyJoules: f64(7050), PowerWatts: f64(100)},
		},
	}}
	if diff := cmp.Diff(want, traces(f), cmpOpts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantWarnings(t, f, "the server warns: slow disk")
}

// TestJobLabel: where the exporter says whose a GPU is, each job has a trace of its own.
func TestJobLabel(t *testing.T) {
	text := "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",Hostname=\"n1\",hpc_job=\"17\"} 40 1000\n" +
		"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",Hostname=\"n1\",hpc_job=\"18\"} 60 2000\n"
	f, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Traces) != 2 || f.Traces[0].Labels[LabelJob] != "17" || f.Traces[1].Labels[LabelJob] != "18" || f.Traces[1].Samples[0].GPUBusy.Or(0) != 0.6 {
		t.Errorf("%+v", f.Traces)
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "format not recognised"},
		{"prose", "hello world\n", "format not recognised"},
		{"long line", "# gpu sm\n" + strings.Repeat("x", 1<<20), "tracefile: table: line 2 is longer than 65536 bytes"},
		{"other JSON", `{"a":1}`, "neither a profiler's trace (traceEvents) nor an answer of Prometheus"},
		{"server error", `{"status":"error","error":"too many points"}`, "too many points"},
		{"scalar", `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`, "offset"},
		{"no result type", `{"status":"success","data":{}}`, `result type ""; want matrix or vector`},
		{"no status", `{"data":{"resultType":"matrix","result":[]}}`, "status is not success"},
		{"cut off", matrixText[:300], "unexpected EOF"},
		{"deep nesting", `{"x":` + strings.Repeat("[", 1_000_000), "exceeded max depth"},
		{"bad time", `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL"},"values":[["x","1"]]}]}}`, "without a Unix time"},
		{"recording of the future", `{"format":"nvmlx-trace","version":99}`, "line 1: header: format \"nvmlx-trace\" version 99"},
		{"many sources", "# gpu pid sm\n" + manyPIDs(20_000), "more than 16384 GPUs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(c.text), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || f != nil {
				t.Errorf("got %v, %v, want %q", f, err, c.want)
			}
			if foreign := errors.Is(err, ErrFormat) || errors.Is(err, ErrOther); foreign && regexp.MustCompile(`^tracefile: \w+: `).MatchString(err.Error()) {
				t.Errorf("%v: names the format of what is none", err)
			}
		})
	}
	if _, err := Read(strings.NewReader(dmonText), &Options{Interval: -1}); err == nil {
		t.Error("a negative interval was taken")
	}
	path := filepath.Join(t.TempDir(), "x.log")
	if _, err := ReadFile(path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, nil); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func manyPIDs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "0 %d 5\n", i+1)
	}
	return b.String()
}

func TestDamagedRowsAreWarnings(t *testing.T) {
	for _, text := range []string{
		"# gpu sm\nx 5\n", "# gpu sm\n0\n", "# gpu sm\n0 -5\n", "#Date Time gpu sm\n20261345 12:00:00 0 5\n",
		`DCGM_FI_DEV_GPU_UTIL{gpu="0" 5` + "\n", `DCGM_FI_DEV_GPU_UTIL{gpu="0"} x` + "\n", `DCGM_FI_DEV_GPU_UTIL{gpu=0} 5` + "\n",
		`DCGM_FI_DEV_GPU_UTIL{gpu="0"} 5000` + "\n", `DCGM_FI_DEV_GPU_UTIL{gpu="0"} 5 x` + "\n",
		`{"format":"nvmlx-trace","version":1}` + "\nno JSON\n", `{"format":"nvmlx-trace","version":1}` + "\n{\"gpu_busy\":7}\n",
	} {
		switch f, err := Read(strings.NewReader(text), nil); {
		case err == nil && len(f.Warnings) == 0:
			t.Errorf("%q: no warning", text)
		case err != nil && (!errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "; line ")):
			t.Errorf("%q: got %v, want a warning or what was seen", text, err)
		}
	}
}

func fuzz(f *testing.F, seeds ...string) {
	f.Helper()
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(bytes.NewReader(data), &Options{Fields: []string{"timestamp", "index", "utilization.gpu"}})
		if err != nil {
			return
		}
		for _, trace := range file.Traces {
			for i := range trace.Samples {
				if err := checkSample(&trace.Samples[i]); err != nil {
					t.Errorf("sample %d: %v", i, err)
				}
			}
			if _, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 1}}, trace, profile.GPUModel{}); err != nil {
				t.Errorf("profile.New refuses what was read: %v", err)
			}
		}
		if len(file.Warnings) > reading.MaxWarnings+10 {
			t.Errorf("%d warnings", len(file.Warnings))
		}
	})
}

func FuzzReadCSV(f *testing.F)        { fuzz(f, csvText) }
func FuzzReadTable(f *testing.F)      { fuzz(f, dmonText, pmonText, dcgmiText) }
func FuzzReadExposition(f *testing.F) { fuzz(f, promText, hamiText) }
func FuzzReadMatrix(f *testing.F)     { fuzz(f, matrixText) }
func FuzzReadRecording(f *testing.F) {
	fuzz(f, `{"format":"nvmlx-trace","version":1,"devices":[{"id":"a","index":0}]}`+"\n"+
		`{"device":"a","at":"2026-03-01T12:00:00Z","gpu_busy":0.93}`+"\n")
}
