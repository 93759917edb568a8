package replace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
