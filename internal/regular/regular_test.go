//go:build unix

package regular

import (
	"errors"
	"io"
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

// TestNamed: what is named is read as it is when it is opened, however much is written on, and a pipe as it comes; what is
// only found is a regular file.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	if err := errors.Join(os.WriteFile(name("file"), []byte("12"), 0o600), syscall.Mkfifo(name("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	add := func(to string) {
		t.Helper()
		f, err := os.OpenFile(name(to), os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() }) // only then does the pipe end
		if _, err := f.WriteString("345"); err != nil {
			t.Fatal(err)
		}
	}
	for _, open := range []func(string) (fs.File, error){Named, Found} {
		f, err := open(name("file"))
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		add("file")
		text, err := io.ReadAll(f)
		if int64(len(text)) != info.Size() || string(text[:2]) != "12" || err != nil {
			t.Errorf("%q, %v; want %d bytes, as it was", text, err, info.Size())
		}
		seeker, ok := f.(io.Seeker)
		if !ok {
			t.Fatal("it is not sought in")
		}
		if at, err := seeker.Seek(-2, io.SeekEnd); at != info.Size()-2 || err != nil {
			t.Errorf("sought to %d, %v", at, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := f.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a closed one is read: %v", err)
		}
		if _, err := open(name("none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of none %v", err)
		}
	}
	add("pipe")
	if _, err := Found(name("pipe")); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a pipe is found: %v", err)
	}
	f, err := Named(name("pipe"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text := make([]byte, 3)
	if _, err := io.ReadFull(f, text); string(text) != "345" || err != nil {
		t.Errorf("of a pipe %q, %v", text, err)
	}
}

// TestAmong: in a folder of all, what somebody put in the place of a file leads nowhere and holds nobody; only who makes a file
// opens it to all.
func TestAmong(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	in := func(s string) string { return filepath.Join(dir, s) }
	secret := filepath.Join(outside, "secret")
	if err := errors.Join(
		os.WriteFile(secret, []byte("x"), 0o600), os.WriteFile(in("mine"), []byte("x"), 0o600), os.Chmod(dir, 0o777),
		os.Symlink(secret, in("link")), os.Symlink(filepath.Join(outside, "made"), in("loose")), syscall.Mkfifo(in("pipe"), 0o600), os.Mkdir(in("folder"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, tt := range []struct {
		name string
		how  int
		ok   bool
		mode fs.FileMode
	}{
		{"link", os.O_RDWR | os.O_CREATE, false, 0},
		{"link", os.O_RDONLY, false, 0},
		{"loose", os.O_RDWR | os.O_CREATE | os.O_TRUNC, false, 0},
		{"pipe", os.O_RDWR | os.O_CREATE, false, 0},
		{"pipe", os.O_RDONLY, false, 0},
		{"folder", os.O_RDONLY, false, 0},
		{"none", os.O_RDWR, false, 0},
		{"mine", os.O_RDWR | os.O_CREATE | os.O_EXCL, false, 0},
		{"mine", os.O_RDWR | os.O_CREATE, true, 0o600},
		{"new", os.O_RDWR | os.O_CREATE, true, 0o777},
	} {
		f, err := Among(root, tt.name, tt.how)
		if (err == nil) != tt.ok || (f != nil) != tt.ok {
			t.Errorf("%s, %x: %v", tt.name, tt.how, err)
		}
		if f == nil {
			continue
		}
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != tt.mode {
			t.Errorf("%s has the mode %v, %v; want %v", tt.name, info.Mode(), err, tt.mode)
		}
		_ = f.Close()
	}
	names, err := os.ReadDir(outside)
	info, statErr := os.Stat(secret)
	if err := errors.Join(err, statErr); err != nil || len(names) != 1 || info.Mode().Perm() != 0o600 || info.Size() != 1 {
		t.Errorf("outside of the folder are %v, the secret is %v, %v", names, info, err)
	}
}

// TestTail: what is read ends where the file did when it was opened.
func TestTail(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]string{0: "", 1: "4", 4: "1234", 9: "1234"} {
		if text, err := Tail(name, most); string(text) != want || err != nil {
			t.Errorf("the last %d are %q, %v; want %q", most, text, err, want)
		}
	}
	if _, err := Tail(filepath.Dir(name), 1); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("of a folder: %v", err)
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
