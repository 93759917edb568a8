package station

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/colloc/station/api"
)

// BenchmarkList is colloc station list as a process, from its start to its end, where 10,000
// jobs of 50 kinds wait; in is the same in this process.
func BenchmarkList(b *testing.B) {
	const jobs = api.MaxTasks
	l := &lab{t: b, dir: b.TempDir()}
	if err := os.WriteFile(filepath.Join(l.dir, "gpus.json"), []byte(`{"gpus": [{"name": "A100-40GB"}]}`), 0o600); err != nil {
		b.Fatal(err)
	}
	l.serve()
	defer func() { _ = l.daemon.Process.Kill(); _ = l.daemon.Wait() }()
	l.say(0, "drain")
	if ids := l.say(0, "submit", "-mem", "4GiB", "-p", "kind=1..50", "-p", "seed=1..200", "--", "sleep", "{kind}", "{seed}"); strings.Count(ids, "\n") != jobs {
		b.Fatalf("%d jobs are queued, want %d", strings.Count(ids, "\n"), jobs)
	}
	b.Run("process", func(b *testing.B) {
		defer func() { b.ReportMetric(mostMemory(b, l.daemon.Process.Pid), "daemon-MiB-most") }()
		for b.Loop() {
			if n := strings.Count(l.say(0, "list"), "\n"); n != jobs+1 {
				b.Fatalf("%d lines, want %d", n, jobs+1)
			}
		}
	})
	b.Run("in", func(b *testing.B) {
		for b.Loop() {
			if status, out, errs := call(b, "list", "-socket", l.socket()); status != 0 || strings.Count(out, "\n") != jobs+1 {
				b.Fatalf("status %d: %s", status, errs)
			}
		}
	})
}

// mostMemory is the most memory that a process had, in MiB.
func mostMemory(b *testing.B, pid int) (mib float64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(rest, &mib); err != nil {
		b.Fatal(err)
	}
	return mib / 1024
}
