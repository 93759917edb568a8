package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/shadow/journal"
	"example.com/colloc/profile"
)

var dawn = time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)

func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an example
	path := filepath.Join(dir, "shadow.jsonl")
	w, err := journal.Open(path, 0)
	if err != nil {
		log.Fatal(err)
	}
	job := journal.Job{ID: "17", User: "ann", Submitted: dawn, GPUs: 1}
	for i, jobs := range [][]journal.Job{{job}, {job}, {}} {
		if err := w.Write(&journal.Snapshot{At: dawn.Add(time.Duration(i) * time.Minute), Jobs: jobs}); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	damage, err := journal.Read(path, func(s *journal.Snapshot) error {
		fmt.Println(s.At.Format(time.TimeOnly), len(s.Jobs))
		return nil
	})
	fmt.Println(damage, err)
	// Output:
	// 06:00:00 1
	// 06:01:00 1
	// 06:02:00 0
	// {0 0} <nil>
}

// day is what is seen in round i: jobs come, start, use more, and end.
func day(i int) *journal.Snapshot {
	s := &journal.Snapshot{At: dawn.Add(time.Duration(i) * time.Minute), GPUs: []journal.GPU{{ID: "g1/0", Node: "g1", Product: "V100", Down: i%50 == 7}}}
	for k := max(0, i-9); k <= i; k++ {
		j := journal.Job{ID: strconv.Itoa(1000 + k), User: "ann", Name: "train", Submitted: dawn.Add(time.Duration(k) * time.Minute), GPUs: 1}
		if k < i-3 {
			j.Started, j.On, j.Busy = j.Submitted.Add(4*time.Minute), []string{"g1/0"}, profile.Some(float64(i%3)/10)
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func write(tb testing.TB, path string, bound int64, from, to int) {
	tb.Helper()
	w, err := journal.Open(path, bound)
	if err != nil {
		tb.Fatal(err)
	}
	for i := from; i < to; i++ {
		if err := w.Write(day(i)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

// read returns the rounds, by their number, each compared with what was written.
func read(tb testing.TB, path string) (rounds []int, damage journal.Damage) {
	tb.Helper()
	damage, err := journal.Read(path, func(s *journal.Snapshot) error {
		i := int(s.At.Sub(dawn) / time.Minute)
		rounds = append(rounds, i)
		if want := day(i); !reflect.DeepEqual(s, want) {
			tb.Fatalf("round %d: %+v\nwant %+v", i, s, want)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rounds, damage
}

func TestWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, 0, 0, 100)
	write(t, path, 0, 100, 300) // as after a kill
	rounds, damage := read(t, path)
	if len(rounds) != 300 || damage != (journal.Damage{}) {
		t.Errorf("%d rounds, %+v", len(rounds), damage)
	}
}

// TestTorn: whatever was cut off, what was written before is there, and the journal goes on.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, 0, 0, 5)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0 // whole ones
	for cut := range len(text) {
		if cut > 0 && text[cut-1] == '\n' {
			lines++
		}
		if err := os.WriteFile(path, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if cut > 60 && cut%7 == 0 { // the header is there
			if rounds, _ := read(t, path); len(rounds) != max(0, lines-1) {
				t.Fatalf("cut at %d: %d rounds, want %d", cut, len(rounds), lines-1)
			}
		}
		write(t, path, 0, 5, 6)
		rounds, damage := read(t, path)
		if len(rounds) != max(0, lines-1)+1 || rounds[len(rounds)-1] != 5 || damage != (journal.Damage{}) {
			t.Fatalf("cut at %d and gone on: rounds %v, %+v", cut, rounds, damage)
		}
	}
}

// TestDamaged: a line that is damaged costs what changed until the next that holds all.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, 0, 0, 200)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines[10] = "\x00\x00" + lines[10][5:]
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	rounds, damage := read(t, path)
	if damage.Lines != 1 || damage.Rounds < 10 || damage.Rounds > 64 || len(rounds)+damage.Lines+damage.Rounds != 200 || rounds[len(rounds)-1] != 199 {
		t.Errorf("%d rounds to %d, %+v", len(rounds), rounds[len(rounds)-1], damage)
	}
}

// TestBound: the journal stays below its bound and keeps the latest.
func TestBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	const bound = 64 << 10
	write(t, path, bound, 0, 2000)
	size := int64(0)
	for _, name := range []string{path, path + ".old"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if size += info.Size(); name != path && info.Size() < bound/2 {
			t.Errorf("the one before was left at %d bytes, which is less than its half", info.Size())
		}
	}
	rounds, damage := read(t, path)
	if size > bound+8<<10 || size < bound/2 || len(rounds) < 20 || len(rounds) == 2000 || rounds[len(rounds)-1] != 1999 || damage != (journal.Damage{}) {
		t.Errorf("%d bytes, %d rounds to %d, %+v", size, len(rounds), rounds[len(rounds)-1], damage)
	}
	for i := 1; i < len(rounds); i++ {
		if rounds[i] != rounds[i-1]+1 {
			t.Fatalf("round %d after %d", rounds[i], rounds[i-1])
		}
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"notes": "buy milk", "lines": "buy milk\nand bread\n", "pages": strings.Repeat("buy milk\n", 1000), "later": `{"format":"colloc shadow journal","version":9}` + "\n"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Open(path, 0); err == nil {
			t.Errorf("%s: opened", name)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%s: now %q, %v", name, after, err)
		}
	}
	path := filepath.Join(dir, "j")
	w, err := journal.Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // read only from here
	if _, err := journal.Open(path, 0); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("two writers: %v", err)
	}
	if _, err := journal.Open(filepath.Join(dir, "k"), 5); err == nil {
		t.Error("a bound of 5 bytes")
	}
	target := filepath.Join(dir, "target")
	if err := os.Symlink(target, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(filepath.Join(dir, "link"), 0); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a link: %v", err)
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a link names was made: %v", err)
	}
	if _, err := journal.Read(filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
