package raw

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/internal/filelock"

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
			c, err := Read("x", strings.NewReader(tt.text))
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("got %v, want %q", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Results) != tt.results || c.size != int64(tt.size) {
				t.Errorf("%d results in %d bytes, want %d in %d", len(c.Results), c.size, tt.results, tt.size)
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
	file, c, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if c.Header == nil || len(c.Results) != 0 {
		t.Errorf("read %+v", c)
	}
	if _, _, err := Open(name); !errors.Is(err, filelock.ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	if err := file.AddTask("lstm", &profile.Spec{}); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err = Load(name); err != nil || len(c.Specs) != 1 {
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
	file, _, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := file.disk.(*os.File)
	if !ok {
		t.Fatal("the disk is no file")
	}
	file.disk = &small{f, 100}
	if err := file.Begin(&Header{}); err == nil || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("on a full disk: %v", err)
	}
	if n, err := f.Seek(0, io.SeekEnd); n != 0 || err != nil {
		t.Errorf("%d bytes are left behind, %v", n, err)
	}
	file.disk = f
	if err := errors.Join(file.Begin(&Header{}), file.Close()); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(name); err != nil || c.Header == nil {
		t.Errorf("read %+v, %v", c, err)
	}
}

func TestLatest(t *testing.T) {
	a := plan.Cell{Mechanism: profile.Exclusive, Tasks: []string{"a"}}
	b := plan.Cell{Mechanism: profile.Exclusive, Tasks: []string{"b"}}
	c := Contents{Results: []Result{{Cell: a, Status: workload.Crash}, {Cell: b}, {Cell: a, Status: workload.OK, Order: 2}}}
	got := c.Latest()
	if len(got) != 2 || got[0].Cell.Tasks[0] != "b" || got[1].Order != 2 {
		t.Errorf("got %+v, want b and the second a", got)
	}
}
