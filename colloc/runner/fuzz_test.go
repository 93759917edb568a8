package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRecord reads records and meta pages as a damaged queue file may hold them.
func FuzzRecord(f *testing.F) {
	good, err := seal(&saved{Record: Record{Task: Task{ID: "a", Command: []string{"true"}}, Number: 1, State: Running}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("00000000"))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, value []byte) {
		var s saved
		if err := unseal(value, &s); err == nil {
			again, err := seal(&s)
			if err != nil {
				t.Fatal(err)
			}
			if err := unseal(again, &s); err != nil {
				t.Errorf("what was read and written again is not readable: %v", err)
			}
		}
		page := make([]byte, 4096)
		copy(page, value)
		if length, _, ok := readMeta(page); ok && length < 0 {
			t.Errorf("a file of %d bytes", length)
		}
	})
}

// FuzzProgress follows outputs with any pattern.
func FuzzProgress(f *testing.F) {
	f.Add(`step (?P<step>\d+)/(?P<total>\d+)`, []byte("step 1/2\nstep 2/2\r"))
	f.Add(`(?P<seconds>\S+) s|(?P<rate>\S+) Hz`, []byte("1e999 s\n-1 Hz\nNaN Hz\n0.1 s"))
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		p, err := compilePattern(pattern)
		if err != nil || p == nil {
			return
		}
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var f follower
		f.begin(p, path, path)
		r := f.follow(true)
		if r.step.Or(0) < 0 || r.total.Or(0) < 0 || !r.stepTime.IsZero() && r.stepTime.Or(0) < 0 {
			t.Errorf("read %+v", r)
		}
		if r.matched && !bytes.ContainsFunc(text, func(c rune) bool { return c >= '0' && c <= '9' }) && r.stepTime.IsZero() {
			t.Errorf("progress without a digit: %+v", r)
		}
	})
}
