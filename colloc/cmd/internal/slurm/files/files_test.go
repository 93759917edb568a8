package files

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestTail: of a log without end its end is read.
func TestTail(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if text, err := Tail(log); text != nil || err != nil {
		t.Errorf("no log: %q, %v", text, err)
	}
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Tail(log); text == nil || len(text) > 0 || err != nil {
		t.Errorf("an empty log: %v, %v", text, err)
	}
	const end = "the end"
	f, err := os.OpenFile(log, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte(end), 1<<33) // it takes no room on the disk
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err := Tail(log); len(text) != mostTail || string(text[mostTail-len(end):]) != end || err != nil {
		t.Errorf("a long log: %d bytes, %v", len(text), err)
	}
	if err := errors.Join(os.Remove(log), syscall.Mkfifo(log, 0o600)); err != nil {
		t.Fatal(err)
	}
	if text, err := Tail(log); text != nil || err != nil {
		t.Errorf("a pipe: %q, %v", text, err)
	}
}
