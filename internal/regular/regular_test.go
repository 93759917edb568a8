//go:build unix

package regular

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
			_ = f.Close() // it was only read
		}
	}
}

// TestRead: a file without end is not read to it.
func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(name, 4); err != nil || string(text) != "1234" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(name, 4); err == nil || text != nil {
		t.Errorf("of a TiB %q is read, %v", text, err)
	}
	if _, err := Read("/dev/zero", 4); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a device: %v", err)
	}
}
