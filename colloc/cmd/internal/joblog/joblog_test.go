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
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, whole) {
		t.Errorf("the rest of a row stays: %v, %s", err, text)
	}
	for text, want := range map[string]string{
		"a,b\n":               "line 1: these are not the columns",
		string(whole) + "x\n": "wrong number of fields",
		strings.Replace(string(whole), "\n1,", "\nx,", 1): `line 2, column 1: "x" is no number of a task`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// noon is when the tests play.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(id string, state runner.State, change func(r *runner.Record)) runner.Record {
	r := runner.Record{Task: runner.Task{ID: id}, State: state, GPU: "gpu0", Started: noon, Reserved: 4 * profile.GiB}
	change(&r)
	return r
}
