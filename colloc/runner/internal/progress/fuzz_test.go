package progress

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzProgress follows outputs with any pattern.
func FuzzProgress(f *testing.F) {
	f.Add(`step (?P<step>\d+)/(?P<total>\d+)`, []byte("step 1/2\nstep 2/2\r"))
	f.Add(`(?P<seconds>\S+) s|(?P<rate>\S+) Hz`, []byte("1e999 s\n-1 Hz\nNaN Hz\n0.1 s"))
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		p, err := Compile(pattern)
		if err != nil || p == nil {
			return
		}
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var f Follower
		f.Begin(p, path, path)
		r := f.Follow(true, 1)
		if r.Step.Or(0) < 0 || r.Total.Or(0) < 0 || !r.StepTime.IsZero() && r.StepTime.Or(0) < 0 {
			t.Errorf("read %+v", r)
		}
		if r.Matched && !bytes.ContainsFunc(text, func(c rune) bool { return c >= '0' && c <= '9' }) && r.StepTime.IsZero() {
			t.Errorf("progress without a digit: %+v", r)
		}
	})
}
