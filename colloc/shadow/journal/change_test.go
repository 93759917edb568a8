package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/shadow/journal"
)

// play writes rounds and reads them again; the bytes are those of the file.
func play(tb testing.TB, rounds []journal.Snapshot) (back []journal.Snapshot, text []byte) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "j")
	w, err := journal.Open(path, 0)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range rounds {
		if err := w.Write(&rounds[i]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	damage, err := journal.Read(path, func(s *journal.Snapshot) error {
		back = append(back, *s)
		return nil
	})
	if err != nil || damage != (journal.Damage{}) {
		tb.Fatalf("%+v, %v", damage, err)
	}
	if text, err = os.ReadFile(path); err != nil {
		tb.Fatal(err)
	}
	return back, text
}

// TestChanges: what comes, changes, goes and comes again is read as it was written, GPUs as
// well as jobs, and the same rounds are the same bytes.
func TestChanges(t *testing.T) {
	gpus, fewer := []journal.GPU{{ID: "a", Product: "T4"}, {ID: "b", Product: "T4"}}, []journal.GPU{{ID: "b", Product: "T4"}}
	var jobs []journal.Job
	for _, id := range []string{"3", "1", "2", "5", "4"} {
		jobs = append(jobs, journal.Job{ID: id, Submitted: dawn, GPUs: 1})
	}
	on := jobs[0]
	on.On = []string{"a"}
	var rounds []journal.Snapshot
	for i, s := range []journal.Snapshot{
		{GPUs: gpus, Jobs: jobs},
		{GPUs: gpus, Jobs: append([]journal.Job{on}, jobs[1:]...)},
		{GPUs: fewer, Jobs: jobs[:1]}, // four end at once
		{GPUs: gpus, Jobs: jobs[:2]},
		{Jobs: []journal.Job{}}, // nothing answers
		{GPUs: fewer, Jobs: jobs[1:]},
	} {
		s.At = dawn.Add(time.Duration(i) * time.Minute)
		rounds = append(rounds, s)
	}
	back, text := play(t, rounds)
	if !reflect.DeepEqual(back, rounds) {
		t.Errorf("read %+v\nwant %+v", back, rounds)
	}
	for range 5 {
		if _, again := play(t, rounds); !bytes.Equal(text, again) {
			t.Fatalf("first\n%s\nthen\n%s", text, again)
		}
	}
	if n := strings.Count(string(text), `"3"`); n > 4 { // it is there, runs, waits, is gone
		t.Errorf("job 3 is written %d times:\n%s", n, text)
	}
}

// TestNoGPUs: of a site that has none changes alone are written, too.
func TestNoGPUs(t *testing.T) {
	job := []journal.Job{{ID: "17", Submitted: dawn, GPUs: 1}}
	back, text := play(t, []journal.Snapshot{{At: dawn, Jobs: job}, {At: dawn, Jobs: job}, {At: dawn, Jobs: job}})
	if n := strings.Count(string(text), `"17"`); n != 1 || len(back) != 3 {
		t.Errorf("%d rounds, job 17 is written %d times:\n%s", len(back), n, text)
	}
}

// TestLongLine: a last line of any length that was cut off is taken off.
func TestLongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	for _, length := range []int{1, 1<<16 - 1, 1 << 16, 1<<16 + 1, 3 << 16} {
		write(t, path, 0, 0, 2)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(bytes.Clone(before), bytes.Repeat([]byte{'x'}, length)...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, damage := read(t, path); damage != (journal.Damage{Lines: 1}) {
			t.Errorf("%d bytes: %+v", length, damage)
		}
		write(t, path, 0, 0, 0)
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%d bytes: %d before, %d after, %v", length, len(before), len(after), err)
		}
	}
}

// TestReadEnds: a reader's error ends it; what is no journal is not read.
func TestReadEnds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "j")
	write(t, path, 64<<10, 0, 3) // the least bound
	enough, n := errors.New("enough"), 0
	if _, err := journal.Read(path, func(*journal.Snapshot) error { n++; return enough }); !errors.Is(err, enough) || n != 1 {
		t.Errorf("after %d rounds: %v", n, err)
	}
	if _, err := journal.Open(path, 64<<10-1); err == nil || !strings.Contains(err.Error(), "64 KiB") {
		t.Errorf("a bound below the least: %v", err)
	}
	for text, want := range map[string]string{"buy milk\n": "choose another file", `{"format":"other","version":1}` + "\n": "choose another file", `{"format":"colloc shadow journal","version":2}` + "\n": "version 2, want 1"} {
		other := filepath.Join(dir, "other")
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, open := journal.Open(other, 0)
		_, err := journal.Read(other, func(*journal.Snapshot) error { return nil })
		for _, err := range []error{open, err} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), other) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
		}
	}
	endless := filepath.Join(dir, "endless") // a TiB that takes no room
	header, err := os.ReadFile(path)
	if err == nil {
		header, _, _ = bytes.Cut(header, []byte("\n"))
		err = errors.Join(os.WriteFile(endless, append(header, '\n'), 0o600), os.Truncate(endless, 1<<40))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Read(endless, func(*journal.Snapshot) error { return nil }); err == nil || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("a line without end: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("who works what is nobody else's to read: %v, %v", info.Mode(), err)
	}
}

// TestDamagedLine: a line that is no round is damaged, whatever of it can be read.
func TestDamagedLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, 0, 0, 1)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"", "{}", `{"at":"2026-01-01T06:01:00Z","jobs":7}`, `{"at":"2026-01-01T06:01:00Z"`} {
		if err := os.WriteFile(path, append(bytes.Clone(good), line+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		if rounds, damage := read(t, path); len(rounds) != 1 || damage != (journal.Damage{Lines: 1}) {
			t.Errorf("%q: rounds %v, %+v", line, rounds, damage)
		}
	}
}
