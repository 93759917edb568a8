package journal

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"example.com/colloc/internal/testbed"
)

// TestFull: of a line that fits in part nothing stays, and the next round says all.
func TestFull(t *testing.T) {
	if !testbed.Alone(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "j")
	w, err := Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // every line is written by then
	round := func(minute int) error {
		return w.Write(&Snapshot{At: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC), Jobs: []Job{{ID: "1", GPUs: minute}}})
	}
	if err := round(1); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var whole syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &whole); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(len(before)) + 9, Max: whole.Max}); err != nil {
		t.Fatal(err)
	}
	full := round(2)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &whole); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); full == nil || err != nil || string(after) != string(before) {
		t.Errorf("%v, %v: %q, want %q", full, err, after, before)
	}
	if err := round(3); err != nil {
		t.Fatal(err)
	}
	var last Snapshot
	if d, err := Read(path, func(s *Snapshot) error { last = *s; return nil }); err != nil || d != (Damage{}) || len(last.Jobs) != 1 || last.Jobs[0].GPUs != 3 {
		t.Errorf("%+v, %v, %+v", d, err, last)
	}
}
