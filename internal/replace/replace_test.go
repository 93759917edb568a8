package replace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFile: what is there is whole, old or new, and nothing else is left behind.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := Text(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	fault := errors.New("the disk is full")
	err := File(path, func(f *os.File) error {
		_, err := f.WriteString("half")
		return errors.Join(err, fault)
	})
	if text, _ := os.ReadFile(path); !errors.Is(err, fault) || string(text) != "old" {
		t.Errorf("%v, the file says %q; want the fault, and what was there", err, text)
	}
	if err := Text(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "new" {
		t.Errorf("the file says %q, want new", text)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v in the folder; want the file alone", err, left)
	}
	if err := Text(filepath.Join(dir, "none", "a"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestFileKeeps: what is no regular file stays what it is, and what it names is not touched unless a user named it.
func TestFileKeeps(t *testing.T) {
	dir := t.TempDir()
	target, link, folder := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "folder")
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink(target, link), os.Mkdir(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, folder} {
		if err := Text(path, []byte("new")); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", path, err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
			t.Errorf("%s is now %v, %v", path, info, err)
		}
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "old" {
		t.Errorf("what the link names is %q, %v", text, err)
	}
	if err := errors.Join(Shared(link, 0o644, []byte("new")), Shared(os.DevNull, 0o644, []byte("new"))); err != nil {
		t.Errorf("a user names a link, and a device: %v", err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link is now %v, %v", info, err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "new" {
		t.Errorf("what the link that a user named leads to is %q, %v", text, err)
	}
}

// TestFileTidies: what a process that was killed left is removed, and nothing else.
func TestFileTidies(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	want := map[string]bool{"a.json": true}
	for file, remains := range map[string]bool{
		".a.json.123": false, ".a.json.124": true, // which somebody writes just now
		".a.json.": true, ".a.json.12x": true, ".a.json": true, "a.json.123": true, ".b.json.123": true,
	} {
		if err := os.WriteFile(name(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if old := time.Now().Add(-2 * time.Hour); file != ".a.json.124" {
			if err := os.Chtimes(name(file), old, old); err != nil {
				t.Fatal(err)
			}
		}
		if remains {
			want[file] = true
		}
	}
	if err := Shared(name("a.json"), 0o640, []byte("new")); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	for _, e := range left {
		if !want[e.Name()] {
			t.Errorf("%s is left", e.Name())
		}
		delete(want, e.Name())
	}
	if err != nil || len(want) > 0 {
		t.Errorf("%v is gone: %v", want, err)
	}
}
