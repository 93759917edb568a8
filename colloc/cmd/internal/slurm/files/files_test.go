package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpen: what is opened is a file, and nobody waits for somebody at the other end of a pipe.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	if err := errors.Join(os.WriteFile(name("file"), []byte("x"), 0o600), os.Symlink(name("file"), name("link")), syscall.Mkfifo(name("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		want error
	}{
		{"file", nil},
		{"link", nil},
		{"pipe", fs.ErrInvalid},
		{"", fs.ErrInvalid}, // the folder
		{"none", fs.ErrNotExist},
	} {
		f, info, err := Open(name(tt.name))
		if !errors.Is(err, tt.want) || (err == nil) != (f != nil) {
			t.Errorf("%q: %v, want %v", tt.name, err, tt.want)
		}
		if f != nil {
			if info.Size() != 1 {
				t.Errorf("%q has %d bytes", tt.name, info.Size())
			}
			f.Close()
		}
	}
}

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
