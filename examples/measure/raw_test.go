package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/colloc/profile"
)

const rawHeader = `{"format":"colloc-measure","version":1}` + "\n"

const rawResult = `{"result":{"cell":{"mechanism":"exclusive","tasks":["lstm"],"repeat":0},"status":"crash","members":[{"task":"lstm","status":"crash"}]}}` + "\n"

func TestReadRaw(t *testing.T) {
	tests := []struct {
		name, text string
		results    int
		size       int
		fault      string
	}{
		{"empty", "", 0, 0, ""},
		{"header", rawHeader, 0, len(rawHeader), ""},
		{"torn header", rawHeader[:20], 0, 0, ""},
		{"one", rawHeader + rawResult, 1, len(rawHeader + rawResult), ""},
		{"torn", rawHeader + rawResult + rawResult[:50], 1, len(rawHeader + rawResult), ""},
		{"unknown line", rawHeader + `{"later":1}` + "\n" + rawResult, 1, len(rawHeader+rawResult) + 12, ""},
		{"damaged", rawHeader + "{\n" + rawResult, 0, 0, "x:2: unexpected end"},
		{"other file", `{"format":"nvmlx-trace","version":1}` + "\n", 0, 0, `x:1: header: format "nvmlx-trace"`},
		{"later version", `{"format":"colloc-measure","version":2}` + "\n", 0, 0, "version 2, want"},
		{"no header", rawResult, 0, 0, "header"},
		{"no members", rawHeader + `{"result":{"cell":{"mechanism":"mps","tasks":["a"]},"status":"ok"}}` + "\n", 0, 0, "1 tasks and 0 members"},
		{"status", rawHeader + strings.ReplaceAll(rawResult, "crash", "fine"), 0, 0, `unknown status "fine"`},
		{"no steps", rawHeader + strings.Replace(rawResult, `"members"`, `"window":{"from":0,"to":1},"members"`, 1), 0, 0, "0 times"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := readRaw("x", strings.NewReader(tt.text))
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("got %v, want %q", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(c.results) != tt.results || c.size != int64(tt.size) {
				t.Errorf("%d results in %d bytes, want %d in %d", len(c.results), c.size, tt.results, tt.size)
			}
		})
	}
}

// TestTornLine cuts a half line off and goes on.
func TestTornLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "raw.jsonl")
	if err := os.WriteFile(name, []byte(rawHeader+rawResult[:70]), 0o600); err != nil {
		t.Fatal(err)
	}
	file, c, err := openRaw(name)
	if err != nil {
		t.Fatal(err)
	}
	if c.header == nil || len(c.results) != 0 {
		t.Errorf("read %+v", c)
	}
	if _, _, err := openRaw(name); !errors.Is(err, errLocked) {
		t.Errorf("opened twice: %v", err)
	}
	if err := file.append(record{Task: &taskRecord{Name: "lstm", Spec: &profile.Spec{}}}); err != nil {
		t.Fatal(err)
	}
	if err := file.close(); err != nil {
		t.Fatal(err)
	}
	if c, err = loadRaw(name); err != nil || len(c.specs) != 1 {
		t.Errorf("read %+v, %v", c, err)
	}
}

// small is a disk with room for so many bytes.
type small struct {
	*os.File
	room int
}

func (s *small) Write(p []byte) (int, error) {
	n, err := s.File.Write(p[:min(len(p), s.room)])
	s.room -= n
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// TestFullDisk checks that the file stays whole and that it can go on.
func TestFullDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "raw.jsonl")
	file, _, err := openRaw(name)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := file.disk.(*os.File)
	if !ok {
		t.Fatal("the disk is no file")
	}
	file.disk = &small{f, 100}
	if err := file.append(header{Format: rawFormat, Version: rawVersion}); err == nil || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("on a full disk: %v", err)
	}
	if n, err := f.Seek(0, io.SeekEnd); n != 0 || err != nil {
		t.Errorf("%d bytes are left behind, %v", n, err)
	}
	file.disk = f
	if err := errors.Join(file.append(header{Format: rawFormat, Version: rawVersion}), file.close()); err != nil {
		t.Fatal(err)
	}
	if c, err := loadRaw(name); err != nil || c.header == nil {
		t.Errorf("read %+v, %v", c, err)
	}
}

func TestLatest(t *testing.T) {
	a := cell{Mechanism: profile.Exclusive, Tasks: []string{"a"}}
	b := cell{Mechanism: profile.Exclusive, Tasks: []string{"b"}}
	c := contents{results: []result{{Cell: a, Status: statusCrash}, {Cell: b}, {Cell: a, Status: statusOK, Order: 2}}}
	got := c.latest()
	if len(got) != 2 || got[0].Cell.Tasks[0] != "b" || got[1].Order != 2 {
		t.Errorf("got %+v, want b and the second a", got)
	}
}

func FuzzReadRaw(f *testing.F) {
	for _, text := range []string{rawHeader, rawHeader + rawResult, rawHeader + strings.ReplaceAll(rawResult, "crash", "ok")} {
		f.Add(text)
	}
	f.Add(rawHeader + `{"result":{"cell":{"mechanism":"mps","tasks":["a"],"threads":[0.5]},"status":"ok","window":{"from":1,"to":2},"members":[{"task":"a","status":"ok","times":[0,3],"counts":[0,9]}]}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := readRaw("fuzz", strings.NewReader(text))
		if err != nil {
			return
		}
		if c.size > int64(len(text)) {
			t.Errorf("%d bytes of %d", c.size, len(text))
		}
		rows := tidy(c)
		if err := report(io.Discard, rows); err != nil {
			t.Error(err)
		}
		_, _, _ = observations(rows, c.specs) // must not panic
	})
}
