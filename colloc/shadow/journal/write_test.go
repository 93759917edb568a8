package journal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUnwritten: after a round that could not be written the next says all.
func TestUnwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w, err := Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // every line is written by then
	round := func(minute int, ids ...string) error {
		s := &Snapshot{At: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
		for _, id := range ids {
			s.Jobs = append(s.Jobs, Job{ID: id, GPUs: 1})
		}
		return w.Write(s)
	}
	if err := round(0, "1"); err != nil {
		t.Fatal(err)
	}
	good := w.file
	if w.file, err = os.Open(path); err != nil { // nobody may write there
		t.Fatal(err)
	}
	if err := round(1, "1", "2"); err == nil {
		t.Fatal("written")
	}
	w.file = good
	if err := round(2, "1", "2", "3"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), `"full":true`) != 2 {
		t.Errorf("%s, %v: want the last round whole", text, err)
	}
}

// TestTurnFails: whatever failed when the journal turned, the next rounds are there.
func TestTurnFails(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, w *Writer){
		"no room for the header": func(t *testing.T, w *Writer) {
			t.Helper()
			good := w.file
			empty, err := os.Open(os.DevNull) // nobody may write there
			if err != nil {
				t.Fatal(err)
			}
			defer empty.Close() //nolint:errcheck // read only
			if err := errors.Join(good.Truncate(0), rewind(good)); err != nil {
				t.Fatal(err)
			}
			w.file, w.size, w.lines = empty, 0, fullEvery
			if err := w.Write(&Snapshot{At: time.Unix(1, 0)}); err == nil {
				t.Fatal("written")
			}
			w.file = good
		},
		"not opened again": func(t *testing.T, w *Writer) {
			t.Helper()
			w.size = w.bound
			if err := w.file.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"not there": func(t *testing.T, w *Writer) {
			t.Helper()
			w.size = w.bound
			if err := errors.Join(w.file.Close(), os.Rename(w.path, w.path+old)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j")
			w, err := Open(path, 0)
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, w)
			for i := range 3 {
				if err := w.Write(&Snapshot{At: time.Unix(int64(2+i), 0)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			rounds := 0
			if d, err := Read(path, func(*Snapshot) error { rounds++; return nil }); err != nil || rounds != 3 || d != (Damage{}) {
				t.Errorf("%d rounds, %+v, %v, want 3", rounds, d, err)
			}
		})
	}
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// FuzzRead: no text stops the reader, and every round has a time.
func FuzzRead(f *testing.F) {
	f.Add(`{"format":"colloc shadow journal","version":1}
{"at":"2026-01-01T06:00:00Z","full":true,"gpus":[{"id":"g1/0","product":"V100"}],"jobs":[{"id":"1","submitted":"2026-01-01T06:00:00Z","gpus":1,"busy":0.2}]}
{"at":"2026-01-01T06:01:00Z","jobs":[{"id":"2","submitted":"2026-01-01T06:00:00Z","gpus":1}],"gone":["1"]}
`)
	f.Fuzz(func(t *testing.T, text string) {
		var d Damage
		_ = d.file(strings.NewReader(text), func(s *Snapshot) error { // what is no journal is an error
			if s.At.IsZero() {
				t.Fatal("a round without a time")
			}
			return nil
		})
	})
}
