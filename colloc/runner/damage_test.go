//go:build linux

package runner

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/colloc/runner/internal/backlog"
)

// TestCorrupt damages the queue file in many ways: it is set aside under a name
// of its own, never overwritten, and the next Open begins anew.
func TestCorrupt(t *testing.T) {
	tests := []struct {
		name   string
		damage func(text []byte) []byte
	}{
		{"cut off", func(text []byte) []byte { return text[:len(text)/2] }},
		{"one page left", func(text []byte) []byte { return text[:4096] }},
		{"one byte", func([]byte) []byte { return []byte{1} }},
		{"not a queue file", func([]byte) []byte { return bytes.Repeat([]byte("no queue "), 5000) }},
		{"zeros", func(text []byte) []byte { return make([]byte, len(text)) }},
		{"meta pages", func(text []byte) []byte { clear(text[:8192]); return text }},
		{"a record", func(text []byte) []byte {
			return bytes.ReplaceAll(text, []byte("succeeded"), []byte("succeeted"))
		}},
		{"pages", func(text []byte) []byte { clear(text[2*4096:]); return text }},
		{"noise", func(text []byte) []byte {
			for i := 2 * 4096; i < len(text); i++ {
				text[i] ^= byte(i*7 + i>>9)
			}
			return text
		}},
	}
	whole := filepath.Join(t.TempDir(), "state")
	g := newRig(t, filepath.Dir(whole), gpuFile(1), nil)
	for range 5 {
		g.submit(t, shell("true"))
	}
	g.finish(t)
	text, err := os.ReadFile(filepath.Join(whole, backlog.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := openFiles(t)
			dir := t.TempDir()
			state := filepath.Join(dir, "state")
			if err := os.Mkdir(state, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(state, backlog.File)
			damaged := test.damage(bytes.Clone(text))
			for _, want := range []string{path + ".corrupt-1", path + ".corrupt-2"} {
				if err := os.WriteFile(path, damaged, 0o600); err != nil {
					t.Fatal(err)
				}
				c, err := testConfig(state, g.gpus)
				if err != nil {
					t.Fatal(err)
				}
				_, err = openSimply(t.Context(), c, &simplePlanner{})
				var corrupt *CorruptError
				if !errors.As(err, &corrupt) || !errors.Is(err, ErrCorrupt) || corrupt.Path != path || corrupt.Aside != want {
					t.Fatalf("error is %v, want a CorruptError that names %s", err, want)
				}
				if kept, err := os.ReadFile(want); err != nil || !bytes.Equal(kept, damaged) {
					t.Errorf("the file that was set aside is not the damaged one: %v", err)
				}
			}
			again := newRig(t, dir, gpuFile(1), nil)
			again.submit(t, shell("true"))
			if records := again.finish(t); len(records) != 1 || records[0].State != Succeeded {
				t.Errorf("the new queue has %+v", records)
			}
			noneLeaked(t, before)
		})
	}
}

func TestOtherVersion(t *testing.T) {
	dir := t.TempDir()
	newRig(t, dir, gpuFile(1), nil).finish(t)
	path := filepath.Join(dir, "state", backlog.File)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(backlog.Format), []byte("colloc-queue 9"))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := testConfig(filepath.Join(dir, "state"), filepath.Join(dir, "gpus.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = openSimply(t.Context(), c, &simplePlanner{}); err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("error is %v, want one about the version", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file of another version is gone: %v", err)
	}
}

// TestCutOff cuts the queue file off while it is in use: that is an error, not the
// end of the process; tasks that run go on.
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, dir, gpuFile(1), nil)
	g.submit(t, shell("true"), shell("true"))
	if err := os.Truncate(filepath.Join(g.dir, backlog.File), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := g.Submit(shell("true")); err == nil || !strings.Contains(err.Error(), "damaged while it was in use") {
			t.Errorf("error is %v", err)
		}
	}
}
