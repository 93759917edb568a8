//go:build linux || darwin

package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file is taken once, and free again when it is closed.
func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	first, second := open(), open()
	if err := Take(first); err != nil {
		t.Fatal(err)
	}
	if err := Take(second); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one gets %v, want ErrInUse", err)
	}
	_ = first.Close()
	if err := Take(second); err != nil {
		t.Errorf("when the first is closed: %v", err)
	}
}
