package backlog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// shadow is what a queue file must hold: each task as it was last written, and whether it
// is in the history.
type shadow struct {
	saved Saved
	past  bool
	name  string // of its profile; empty is none
}

// known makes a profile that can be told by its name.
func known(tb testing.TB, name string) *profile.Profile {
	tb.Helper()
	gpu, _ := profile.LookupGPU("T4")
	sample := profile.Sample{MemUsed: profile.Some(profile.GiB)}
	p, err := profile.New(profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: 1}}, profile.Trace{Samples: []profile.Sample{sample}}, gpu)
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}

func open(tb testing.TB, dir string) (*Store, []*Entry) {
	tb.Helper()
	s, entries, err := Open(dir, false)
	if err != nil {
		tb.Fatal(err)
	}
	return s, entries
}

// check compares what was read with the shadow.
func check(t *testing.T, s *Store, entries []*Entry, want []*shadow) {
	t.Helper()
	got := map[int]*Entry{}
	for _, e := range entries {
		got[e.Number] = e
	}
	past := map[int]queue.Record{}
	if err := s.History(0, func(r queue.Record) bool { past[r.Number] = r; return true }); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		e, here := got[w.saved.Number]
		r, there := past[w.saved.Number]
		look, seen := s.Look(w.saved.Task.ID)
		if here == w.past || there != w.past || seen != w.past || s.Has(w.saved.Task.ID) != w.past {
			t.Fatalf("task %s in the queue: %v, in the history: %v, %v; want it there: %v", w.saved.Task.ID, here, there, seen, w.past)
		}
		if w.past {
			if diff := cmp.Diff(w.saved.Record, r) + cmp.Diff(r, look); diff != "" {
				t.Fatalf("history (-want +got):\n%s", diff)
			}
			continue
		}
		if e.Profile != nil != (w.name != "") || e.Profile != nil && (e.Profile.Spec.Model.Name != w.name || e.Task.Profile != e.Profile) {
			t.Fatalf("task %s has the profile %v, want that of %q", w.saved.Task.ID, e.Profile, w.name)
		}
		saved := e.Saved
		saved.ProfileKey, saved.Task.Profile = nil, nil
		if diff := cmp.Diff(w.saved, saved); diff != "" {
			t.Fatalf("task %s (-want +got):\n%s", w.saved.Task.ID, diff)
		}
	}
	if len(entries)+len(past) != len(want) || s.Past.total() != len(past) {
		t.Fatalf("%d in the queue, %d in the history, which counts %d; want %d", len(entries), len(past), s.Past.total(), len(want))
	}
}

// TestStoreKeeps: whatever is written, moved to the history and back, is there when the file
// is opened again, each task with its own profile.
func TestStoreKeeps(t *testing.T) {
	dir := t.TempDir()
	draw := rand.New(rand.NewPCG(29, 3))
	names := []string{"", "small", "large"}
	profiles := map[string]*profile.Profile{"small": known(t, "small"), "large": known(t, "large")}
	var want []*shadow
	s, entries := open(t, dir)
	runs := s.Runs
	for range 60 {
		var put []*Entry
		for range draw.IntN(4) { // new ones
			w := &shadow{name: names[draw.IntN(len(names))]}
			n := len(want) + 1
			w.saved.Number, w.saved.Task = n, queue.Task{ID: "t" + strconv.Itoa(n), Command: []string{"true"}, MaxSlowdown: draw.Float64()}
			if draw.IntN(3) == 0 {
				w.saved.Task.Owner = &queue.Owner{UID: 7}
			}
			e := &Entry{Saved: w.saved}
			if e.Profile = profiles[w.name]; e.Profile != nil && draw.IntN(2) == 0 {
				e.Profile = known(t, w.name) // an equal one
			}
			e.Task.Profile = e.Profile
			want, entries, put = append(want, w), append(entries, e), append(put, e)
		}
		for _, e := range entries { // others
			if w := want[e.Number-1]; draw.IntN(4) == 0 && !w.past {
				e.State, e.Env, e.Stop = queue.State(draw.IntN(6)), []string{fmt.Sprint("A=", draw.IntN(9))}, Stop(draw.IntN(3))
				w.saved.State, w.saved.Env, w.saved.Stop = e.State, e.Env, e.Stop
				if !slices.Contains(put, e) {
					put = append(put, e)
				}
			}
		}
		if err := s.Put(put); err != nil {
			t.Fatal(err)
		}
		var old []*Entry
		for _, e := range entries {
			if w := want[e.Number-1]; e.State.Over() && draw.IntN(3) == 0 {
				w.past, old = true, append(old, e)
			}
		}
		if err := s.Archive(old, len(want)); err != nil {
			t.Fatal(err)
		}
		entries = slices.DeleteFunc(entries, func(e *Entry) bool { return slices.Contains(old, e) })
		var ids []string
		for _, w := range want {
			if draw.IntN(8) == 0 {
				ids = append(ids, w.saved.Task.ID)
			}
		}
		left := 0
		for _, w := range want {
			if w.past && slices.Contains(ids, w.saved.Task.ID) {
				left++
			}
		}
		back, err := s.Recall(append(ids, "nobody")...)
		if err != nil || len(back) != left {
			t.Fatalf("%d tasks came back, %v; want %d", len(back), err, left)
		}
		for _, e := range back {
			want[e.Number-1].past = false
		}
		entries = append(entries, back...)
		if draw.IntN(2) == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, entries = open(t, dir)
		}
		check(t, s, entries, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Runs != runs || len(want) < 50 {
		t.Errorf("runs are in %s and were in %s; %d tasks", s.Runs, runs, len(want))
	}
}

// TestOnePage: a queue file of which one of the two first pages is damaged is read by the
// other, as it was a write ago at worst; with both gone it is set aside.
func TestOnePage(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir)
	e := &Entry{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: "a", Command: []string{"true"}}, Number: 1}}}
	for range 3 { // the last writes change nothing
		if err := s.Put([]*Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	size := os.Getpagesize()
	for _, pages := range [][]int{{0}, {1}, {0, 1}} {
		text := slices.Clone(whole)
		for _, page := range pages {
			clear(text[page*size : page*size+64])
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, entries, err := Open(dir, false)
		if len(pages) == 2 {
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || s != nil {
				t.Errorf("without both pages: %v, want a CorruptError", err)
			}
			continue
		}
		if err != nil || len(entries) != 1 {
			t.Errorf("without page %v: %d tasks, %v; want the one", pages, len(entries), err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOtherFormat: a queue that another version wrote is an error, and stays as it is.
func TestOtherFormat(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir)
	err := s.update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyFormat, []byte("colloc-queue 9")) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	s, _, err = Open(dir, false)
	var corrupt *CorruptError
	if s != nil || err == nil || errors.As(err, &corrupt) || !strings.Contains(err.Error(), `"colloc-queue 9"`) {
		t.Errorf("%v, want an error that names the format", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, File)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
}

// TestHistoryPages: a history of more than a page is given whole, from any number on, and as
// far as it is asked for; a record that cannot be read is an error, and so is taking it back.
func TestHistoryPages(t *testing.T) {
	const tasks = 2*pageRecords + 3
	s, _ := open(t, t.TempDir())
	var entries []*Entry
	for n := 1; n <= tasks; n++ {
		entries = append(entries, &Entry{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: strconv.Itoa(n)}, Number: n, State: queue.Succeeded}}})
	}
	if err := errors.Join(s.Put(entries), s.Archive(entries, tasks)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ upTo, most, first, last int }{
		{0, tasks, tasks, 1}, {tasks, tasks, tasks - 1, 1}, {2, tasks, 1, 1}, {pageRecords + 1, tasks, pageRecords, 1}, {tasks + 5, 2, tasks, tasks - 1},
	} {
		var got []int
		if err := s.History(tt.upTo, func(r queue.Record) bool { got = append(got, r.Number); return len(got) < tt.most }); err != nil {
			t.Fatal(err)
		}
		var want []int
		for n := tt.first; n >= tt.last; n-- {
			want = append(want, n)
		}
		if !slices.Equal(got, want) {
			t.Errorf("below %d: %d records, %v first, want those from %d to %d", tt.upTo, len(got), got[:min(3, len(got))], tt.first, tt.last)
		}
	}
	calls := 0
	if err := s.History(1, func(queue.Record) bool { calls++; return true }); err != nil || calls > 0 {
		t.Errorf("%d records below the first, %v", calls, err)
	}
	err := s.update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketPast).Put(numberKey(3), []byte("rubbish")) })
	if err != nil {
		t.Fatal(err)
	}
	var damage *damageError
	if err := s.History(0, func(queue.Record) bool { return true }); !errors.As(err, &damage) {
		t.Errorf("a record that cannot be read: %v", err)
	}
	if back, err := s.Recall("2", "3"); !errors.As(err, &damage) || back != nil || s.Past.total() != tasks || !s.Has("2") {
		t.Errorf("%d tasks are taken back with one that cannot be read, %v", len(back), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestNowhere: a queue in a folder that is not there is an error.
func TestNowhere(t *testing.T) {
	if s, entries, err := Open(filepath.Join(t.TempDir(), "no"), false); !errors.Is(err, os.ErrNotExist) || s != nil || entries != nil {
		t.Errorf("%v, %v, %v; want that the folder does not exist", s, entries, err)
	}
}

// TestCutOff: a queue file that ends before its last page is set aside, as is one of which
// nothing is left; the folder of the runs that it names is not used again.
func TestCutOff(t *testing.T) {
	for name, keep := range map[string]func(int) int{
		"the last page is gone": func(size int) int { return size - os.Getpagesize() },
		"a byte is gone":        func(size int) int { return size - 1 },
		"one page is left":      func(int) int { return os.Getpagesize() },
		"nothing is left":       func(int) int { return 0 },
	} {
		dir := t.TempDir()
		s, _ := open(t, dir)
		if s.Runs != "runs-1" {
			t.Errorf("the first runs are in %s", s.Runs)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, File))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, File), text[:keep(len(text))], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		var corrupt *CorruptError
		if s, _, err := Open(dir, false); !errors.As(err, &corrupt) || s != nil || corrupt.Aside != filepath.Join(dir, File+".corrupt-1") {
			t.Errorf("%s: %v, want a CorruptError", name, err)
			continue
		}
		s, entries := open(t, dir)
		if len(entries) > 0 || s.Runs != "runs-2" {
			t.Errorf("%s: then there are %d tasks, and runs are in %s", name, len(entries), s.Runs)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTakesAll: for whom all that is free is reserved.
func TestTakesAll(t *testing.T) {
	with := func(change func(*Entry)) *Entry { // of one that asks for memory
		e := &Entry{Saved: Saved{Record: queue.Record{Task: queue.Task{Memory: profile.GiB}}}}
		change(e)
		return e
	}
	for _, tt := range []struct {
		name string
		e    *Entry
		want bool
	}{
		{"asks for memory", with(func(*Entry) {}), false},
		{"asks to be alone", with(func(e *Entry) { e.Task.Alone = true }), false},
		{"nothing is known", with(func(e *Entry) { e.Task.Memory = 0 }), true},
		{"a profile is known", with(func(e *Entry) { e.Task.Memory, e.Profile = 0, known(t, "m") }), false},
		{"asks and has a profile", with(func(e *Entry) { e.Profile = known(t, "m") }), false},
		{"unknown here", with(func(e *Entry) { e.Unknown = true }), true},
		{"ran out of memory", with(func(e *Entry) { e.Recovery = queue.RanAlone }), true},
	} {
		if got := tt.e.TakesAll(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestPageIsBounded: of large records of the history no more are in memory at once than some
// megabytes.
func TestPageIsBounded(t *testing.T) {
	const each, tasks = pageBytes / 4, 9
	s, _ := open(t, t.TempDir())
	var entries []*Entry
	for n := 1; n <= tasks; n++ {
		r := queue.Record{Task: queue.Task{ID: strconv.Itoa(n), Command: []string{strings.Repeat("x", each)}}, Number: n, State: queue.Succeeded}
		entries = append(entries, &Entry{Saved: Saved{Record: r}})
	}
	if err := errors.Join(s.Put(entries), s.Archive(entries, tasks)); err != nil {
		t.Fatal(err)
	}
	if page, last, err := s.page(nil); err != nil || len(page) < 2 || len(page) > 4 || last == nil {
		t.Errorf("a page has %d of %d large records, %v", len(page), tasks, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFault: a file that is damaged while it is in use is an error from then on, and nothing
// is written to it any more.
func TestFault(t *testing.T) {
	s, _ := open(t, t.TempDir())
	if err := s.guard(func() error { panic("unexpected fault address") }); err == nil || !strings.Contains(err.Error(), "damaged while it was in use: unexpected fault") {
		t.Errorf("got %v", err)
	}
	e := &Entry{Saved: Saved{Record: queue.Record{Task: queue.Task{ID: "a"}, Number: 1}}}
	if err := s.Put([]*Entry{e}); err == nil || !strings.Contains(err.Error(), "damaged while it was in use") {
		t.Errorf("then something is written: %v", err)
	}
	s.broken.Store(false) // so that it is closed
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
