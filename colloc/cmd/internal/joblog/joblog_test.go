package joblog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/runner"
	"example.com/colloc/profile"
)

func TestJobLogOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "joblog.csv")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	j := &grammar.Job{Number: 1, ID: "a", Command: []string{"echo", "x, \"y\"\nz"}}
	failed := record("a", runner.Failed, func(r *runner.Record) { r.Ended = noon.Add(time.Second) })
	succeeded := record("a", runner.Succeeded, func(r *runner.Record) { r.Ended = noon.Add(time.Second) })
	for _, r := range []*runner.Record{&failed, &failed, &succeeded} {
		if err := l.Add(j, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, "2,b,o"...), 0o600); err != nil { // a crash in the middle of a row
		t.Fatal(err)
	}
	if l, err = Open(path); err != nil {
		t.Fatal(err)
	}
	want := map[string]Entry{"a": {Number: 1, Task: "a", Status: StatusOK, Started: "2026-03-01T12:00:00Z", Command: grammar.QuoteWords(j.Command)}}
	if diff := cmp.Diff(want, l.Entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l.Unreadable != 1 {
		t.Errorf("%d rows were left out, want the rest of one", l.Unreadable)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != string(whole)+"2,b,o\n" {
		t.Errorf("the file is not only appended to: %v, %s", err, text)
	}
	if err := os.WriteFile(path, []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "line 1: these are not the columns") {
		t.Errorf("another file is taken: %v", err)
	}
}

// TestDamage opens job logs with rows that are none: the others count.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "joblog.csv")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"a", "b", "c"} {
		r := record(id, runner.Succeeded, func(r *runner.Record) { r.Ended = noon.Add(time.Second) })
		if err := l.Add(&grammar.Job{Number: i + 1, ID: id, Command: []string{"echo", "x, \"y\"\nz"}}, &r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		old, damaged string
		want         int // rows that are left
	}{
		"whole":               {"", "", 3},
		"zeros":               {"\n2,", "\n" + strings.Repeat("\x00", 120) + "2,", 2},
		"no number":           {"\n1,", "\nx,", 2},
		"too few columns":     {"\n2,b,", "\n2,", 2},
		"an open quote":       {"\n2,", "\n7,d,ok,\"python train\n2,", 3},
		"cut in its last row": {"z'\"\n3,", "z'\"\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, bytes.Replace(whole, []byte(tt.old), []byte(tt.damaged), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(l.Entries) != tt.want || (l.Unreadable == 0) != (name == "whole") {
				t.Errorf("%d rows are left, %d were left out; want %d left", len(l.Entries), l.Unreadable, tt.want)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// noon is when the tests play.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(id string, state runner.State, change func(r *runner.Record)) runner.Record {
	r := runner.Record{Task: runner.Task{ID: id}, State: state, GPU: "gpu0", Started: noon, Reserved: 4 * profile.GiB}
	change(&r)
	return r
}
