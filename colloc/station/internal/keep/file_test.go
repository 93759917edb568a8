package keep

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFile: what was written is there for the next one who opens the file, alone and as text
// for people; where nobody wrote there is nothing, and no fault.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	f, none, err := Open[map[string]int](dir, "f.json")
	if err != nil || none != nil {
		t.Fatalf("of no file: %v, %v", none, err)
	}
	for _, value := range []map[string]int{{"a": 1, "b": 2}, {"a": 3}} {
		if err := f.Write(value); err != nil {
			t.Fatal(err)
		}
		again, got, err := Open[map[string]int](dir, "f.json")
		if err != nil || again == nil || len(got) != len(value) || got["a"] != value["a"] {
			t.Errorf("%v, %v, want %v", got, err, value)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "f.json")); err != nil || string(text) != "{\n  \"a\": 3\n}\n" {
		t.Errorf("the file says %q, %v", text, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("the folder has %v, %v, want the file alone", all, err)
	}
}

// TestFaults: a file that cannot be read is named and is no empty one; what cannot be written
// leaves what there was.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, _, err := Open[float64](dir, "f.json"); f != nil || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("of half a text: %v", err)
	}
	if f, _, err := Open[float64](dir, "."); f != nil || err == nil {
		t.Errorf("of a folder: %v", err)
	}
	f, _, err := Open[float64](dir, "number")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(2); err != nil {
		t.Error(err)
	}
	if f.Write(math.NaN()) == nil {
		t.Error("NaN is written as JSON")
	}
	if _, got, err := Open[float64](dir, "number"); err != nil || got != 2 {
		t.Errorf("after what cannot be written: %v, %v, want 2", got, err)
	}
	gone, _, err := Open[float64](filepath.Join(dir, "gone"), "f.json")
	if err != nil || gone.Write(1) == nil {
		t.Errorf("a file in no folder is written, %v", err)
	}
}
