package gpuinfo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/internal/golden"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// The recording in testdata is made up: it shows the form, not a measurement.
const recording = "testdata/example.jsonl"

// play runs the program and returns its exit status and what it printed.
func play(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(context.Background(), args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"table.txt": {"-replay", recording},
		"json.txt":  {"-replay", recording, "-json", "-n", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got, _ := play(args...)
			golden.Check(t, name, got)
		})
	}
}

// A recording of a replay replays the same.
func TestRecordAgain(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "again.jsonl")
	_, want, _ := play("-replay", recording, "-record", copied)
	if _, got, _ := play("-replay", copied); got != want {
		t.Errorf("differs:\n%s", cmp.Diff(want, got))
	}
	if status, _, stderr := play("-replay", recording, "-record", copied); status != 2 || !strings.Contains(stderr, "exists") {
		t.Errorf("an existing file was taken: %d, %s", status, stderr)
	}
}

// TestDamaged plays recordings that end in the middle of a line, or have a line that
// is none: the end says where, -skip-damaged goes on, and events tell their reason.
func TestDamaged(t *testing.T) {
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	broken := bytes.Join(append(append(lines[:9:9], []byte("{\x00\n")), lines[9:]...), nil)
	for name, tt := range map[string]struct {
		text  []byte
		where string
	}{
		"cut":    {text[:3700], "line 19: the recording ends in the middle of this line"},
		"broken": {broken, "line 10: "},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.jsonl")
			if err := os.WriteFile(path, tt.text, 0o600); err != nil {
				t.Fatal(err)
			}
			status, stdout, stderr := play("-replay", path)
			if status != 1 || strings.Count(stderr, "damaged recording: "+tt.where) != 1 || len(stdout) > 3*len(text) {
				t.Errorf("status %d after %d bytes: %s", status, len(stdout), stderr)
			}
			if status, _, stderr = play("-replay", path, "-skip-damaged"); status != 0 || !strings.Contains(stderr, "left out: nvmlx: replay: damaged recording: "+tt.where) {
				t.Errorf("-skip-damaged: status %d, %s", status, stderr)
			}
		})
	}
	if status, stdout, stderr := play("-replay", recording, "-json"); status != 0 || !strings.Contains(stdout, `"kind":"lost","error":"`) {
		t.Errorf("status %d, %s: no event with its reason in\n%s", status, stderr, stdout)
	}
}

func TestStatus(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte("time,util\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		stderr string
	}{
		{"unknown flag", []string{"-x"}, 2, "-x"},
		{"argument", []string{"x"}, 2, "want no arguments"},
		{"negative", []string{"-n", "-1"}, 2, "-n 0 or more"},
		{"no file", []string{"-replay", "missing.jsonl"}, 2, "missing.jsonl"},
		{"no recording", []string{"-replay", bad}, 2, "bad.jsonl: nvmlx: replay: damaged recording: line 1"},
		{"enough", []string{"-replay", recording, "-n", "1"}, 0, ""},
		{"a lost device", []string{"-replay", recording}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, _, stderr := play(tt.args...)
			if status != tt.status || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("status %d, %q, want %d, %q", status, stderr, tt.status, tt.stderr)
			}
		})
	}
}

func TestDiagnose(t *testing.T) {
	none := profile.Opt[float64]{}
	some := profile.Some[float64]
	tests := []struct {
		name          string
		sm, cpu, dram profile.Opt[float64]
		used          float64
		throttle      nvmlx.Throttle
		want          string
	}{
		{"starved", some(0.14), some(0.96), none, 0.12, 0, "memory 12 % used, SM 14 %, CPU 96 %: starved by the input pipeline; 3 more such tasks fit"},
		{"waiting", some(0.3), some(0.2), none, 0.3, 0, "memory 30 % used, SM 30 %, CPU 20 %: waits for something else than the CPU: small kernels, storage or network; 2 more such tasks fit"},
		{"bandwidth", some(0.6), none, some(0.9), 0.1, 0, "memory 10 % used, SM 60 %: bound by memory bandwidth; no further such task fits"},
		{"power", some(0.95), none, none, 0.1, nvmlx.ThrottlePowerCap, "memory 10 % used, SM 95 %: fully used, at its power limit; no further such task fits"},
		{"full", some(0.95), none, none, 0.1, 0, "memory 10 % used, SM 95 %: fully used; no further such task fits"},
		{"hot", some(0.45), none, none, 0.1, nvmlx.ThrottleThermal, "memory 10 % used, SM 45 %: too hot, its clocks are held back; 1 more such task fits"},
		{"memory", some(0.2), none, none, 0.6, 0, "memory 60 % used, SM 20 %: waits for something else than the CPU: small kernels, storage or network; no further such task fits"},
		{"idle", some(0), some(0.01), none, 0.01, nvmlx.ThrottleIdle, "memory 1 % used, SM 0 %, CPU 1 %: idle; free for other tasks"},
		{"partly", some(0.7), none, none, 0.1, 0, "memory 10 % used, SM 70 %: partly used; no further such task fits"},
		{"nothing known", none, none, none, 0, 0, "activity is not known: nothing can be said"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m means
			var s nvmlx.Sample
			s.SMActive, s.CPUBusy, s.DRAMActive = tt.sm, tt.cpu, tt.dram
			s.Throttle = profile.Some(tt.throttle)
			s.MemUsed = profile.Some(profile.BytesOf(tt.used * 1e9))
			m.add(&s)
			m.add(&s)
			d := device{DeviceInfo: nvmlx.DeviceInfo{Memory: profile.Some(profile.Bytes(1e9))}}
			if got := diagnose(d, &m); got.Text != tt.want {
				t.Errorf("got  %s\nwant %s", got.Text, tt.want)
			}
		})
	}
}

func TestCPUTicks(t *testing.T) {
	busy, total := cpuTicks("cpu  100 1 50 800 40 3 4 2 7 0\ncpu0 1 1 1 1\n")
	if busy != 160 || total != 1000 {
		t.Errorf("%d of %d, want 160 of 1000", busy, total)
	}
	if busy, total := cpuTicks(""); busy != 0 || total != 0 {
		t.Errorf("of nothing: %d of %d", busy, total)
	}
}

func TestHelp(t *testing.T) {
	if status, stdout, stderr := play("-h"); status != 0 || stderr != "" || !strings.Contains(stdout, "usage: colloc gpuinfo") || !strings.Contains(stdout, "-replay FILE") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}
