//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file is taken once, and free again when it is released or closed; who waits
// gets it then.
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
	first, second, third := open(), open(), open()
	if err := Take(first); err != nil {
		t.Fatal(err)
	}
	if err := Take(second); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one gets %v, want ErrInUse", err)
	}
	waiting := make(chan error)
	go func() { waiting <- Wait(third) }()
	_ = first.Close()
	if err := <-waiting; err != nil {
		t.Errorf("who waited gets %v", err)
	}
	if err := Take(second); !errors.Is(err, ErrInUse) {
		t.Errorf("the second one gets %v beside who waited, want ErrInUse", err)
	}
	if err := Release(third); err != nil {
		t.Errorf("Release: %v", err)
	}
	if err := Take(second); err != nil {
		t.Errorf("when it is released: %v", err)
	}
}
