package shared

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/runner/internal/supervise"
)

// TestBook lets two runners take turns; what has no process any more does not count,
// nor does a page that cannot be read.
func TestBook(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "book")
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if others, err := a.Hold(); err != nil || len(others) != 0 {
		t.Fatalf("an empty book has %v, %v", others, err)
	}
	if _, err := b.Hold(); !errors.Is(err, supervise.ErrInUse) {
		t.Errorf("error is %v, want ErrInUse", err)
	}
	me, err := supervise.Find(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	gone := supervise.Process{PID: me.PID, Start: me.Start + 1}
	starting, running := Run{GPU: "0", Reserved: 7}, Run{GPU: "1", Reserved: 8, Process: me}
	if err := a.Release([]Run{starting, running, {GPU: "2", Reserved: 9, Process: gone}}); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, "1-1-1"+pageEnd)
	half := fmt.Sprintf(`{"owner":{"PID":%d,"Start":%d},"runs":[{"gpu":"0","reserved":5},7]}`, me.PID, me.Start)
	for _, text := range []string{`{"owner":{"PID":1,"Start":1},"runs":[{"gpu":"0","reserved":5}]}`, "no page", half} {
		if err := os.WriteFile(stale, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		others, err := b.Hold()
		if diff := cmp.Diff([]Run{starting, running}, others); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if err := b.Release(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(stale); err == nil {
			t.Error("the page of a runner that is gone stays")
		}
	}
	if err := a.Leave([]Run{running}); err != nil { // its runner goes before it
		t.Fatal(err)
	}
	others, err := b.Hold()
	if diff := cmp.Diff([]Run{running}, others); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := errors.Join(b.Release(nil), a.Leave(nil), a.Leave(nil)); err != nil {
		t.Error(err)
	}
	if pages, err := filepath.Glob(filepath.Join(dir, "*"+pageEnd)); err != nil || len(pages) != 1 {
		t.Errorf("pages are %q, %v; want that of the one who is there", pages, err)
	}
}

// TestBookWritesNews: a page that says the same is not written again.
func TestBookWritesNews(t *testing.T) {
	b, err := Open(filepath.Join(t.TempDir(), "book"))
	if err != nil {
		t.Fatal(err)
	}
	turn := func(own ...Run) os.FileInfo {
		t.Helper()
		_, err := b.Hold()
		if err == nil {
			err = b.Release(own)
		}
		info, statErr := os.Stat(b.page)
		if err := errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		return info
	}
	first, again, other := turn(Run{GPU: "0", Reserved: 7}), turn(Run{GPU: "0", Reserved: 7}), turn(Run{GPU: "0", Reserved: 8})
	if !os.SameFile(first, again) || os.SameFile(again, other) {
		t.Errorf("written again where nothing changed: %v, and where something did: %v", !os.SameFile(first, again), !os.SameFile(again, other))
	}
}
