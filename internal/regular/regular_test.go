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

// TestOpenOf opens and makes a user's file, and nothing that somebody put in its place: neither is that touched, nor is
// what a link promises made.
func TestOpenOf(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	if err := errors.Join(os.WriteFile(name("file"), []byte("a"), 0o600), os.Symlink(name("file"), name("link")), os.Symlink(name("made"), name("promise")), syscall.Mkfifo(name("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	self := uint32(os.Geteuid())
	for _, tt := range []struct {
		name string
		uid  uint32
		how  int
		want error
	}{
		{"file", self, os.O_RDONLY, nil},
		{"file", self, os.O_WRONLY | os.O_APPEND, nil},
		{"file", self + 1, os.O_WRONLY, fs.ErrInvalid},
		{"link", self, os.O_WRONLY | os.O_APPEND, fs.ErrInvalid},
		{"promise", self, os.O_RDWR | os.O_CREATE, fs.ErrInvalid},
		{"pipe", self, os.O_RDONLY, fs.ErrInvalid},
		{"", self, os.O_RDONLY, fs.ErrInvalid},
		{"none", self, os.O_RDONLY, fs.ErrNotExist},
		{"new", self, os.O_RDWR | os.O_CREATE, nil},
	} {
		f, err := OpenOf(tt.uid, name(tt.name), tt.how, 0o600)
		if !errors.Is(err, tt.want) || (err == nil) != (f != nil) {
			t.Errorf("%q of user %d: %v, want %v", tt.name, tt.uid, err, tt.want)
		}
		if f == nil {
			continue
		}
		if _, err := f.WriteString("b"); (err == nil) != (tt.how != os.O_RDONLY) {
			t.Errorf("%q: written: %v", tt.name, err)
		}
		_ = f.Close() // the next lines tell
	}
	for of, want := range map[string]string{"file": "ab", "new": "b"} {
		if text, err := os.ReadFile(name(of)); err != nil || string(text) != want {
			t.Errorf("%s has %q, %v; want %q", of, text, err, want)
		}
	}
	if _, err := os.Lstat(name("made")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a link promised is made: %v", err)
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
