package progress

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"example.com/colloc/internal/regular"
	"example.com/colloc/profile"
)

const pattern = `(?:epoch \d+/(?P<epochs>\d+) )?step (?P<step>\d+)(?:/(?P<total>\d+))?`

// bar is what a bar prints that goes from 1 to n.
func bar(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "step %d/%d\r", i+1, n)
	}
	return b.String()
}

func TestCounts(t *testing.T) {
	tests := []struct {
		name, output string
		step, total  int64 // -1 is missing
		restarts     int
	}{
		{"one bar", bar(90), 90, 90, 0},
		{"a bar for each epoch", bar(10) + bar(10) + bar(7)[:len("step 1/7\rstep 2/7\r")], 20, -1, 1},
		{"no total", "step 8\nstep 9\nstep 0\nstep 3\n", 12, -1, 1},
		{"epochs told", "epoch 1/8 step 5/9\nepoch 1/8 step 9/9\nepoch 2/8 step 1/9\n", 10, 72, 1},
		{"a bar around it", "step 0/4\n" + bar(10) + "step 1/4\n" + bar(10) + "step 2/4\nstep 3/10\n", 23, 40, 3},
		{"a bar around it, later", bar(10) + "step 1/4\n" + bar(10) + "step 2/4\n", 20, 40, 1},
		{"a bar beside it", bar(10) + bar(4) + bar(10) + bar(4), 20, -1, 1},
		{"a bar of one", bar(1) + bar(1) + bar(1), 1, 1, 0},
		{"several processes", "step 8\nstep 7\nstep 9\nstep 8\nstep 10\n", 10, -1, 0},
		{"begun anew after few", "step 3\nstep 4\nstep 1\n", 5, -1, 1},
		{"late after fewer", "step 2\nstep 3\nstep 1\n", 3, -1, 0},
		{"a count without a total beside it", "step 1\n" + bar(10) + bar(10), 20, -1, 2},
		{"from a checkpoint", "step 5000/9000\nstep 5001/9000\n", 5001, 9000, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := follow(t, []byte(test.output))
			if got.Step.Or(-1) != test.step || got.Total.Or(-1) != test.total || got.Restarts != test.restarts || !got.Matched {
				t.Errorf("step %v of %v after %d restarts, want %d of %d after %d", got.Step, got.Total, got.Restarts, test.step, test.total, test.restarts)
			}
		})
	}
}

// follow reads an output.
func follow(t *testing.T, text []byte) Reading {
	t.Helper()
	p, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var f Follower
	f.Begin(p, path, path)
	return f.Follow(true, 1)
}

// TestMuch reads a program that prints more between two looks than is read at once.
func TestMuch(t *testing.T) {
	noise := bytes.Repeat([]byte("debug: nothing to see\n"), 3<<20/22)
	if got := follow(t, append(noise, "step 70/100\n"...)); got.Step != profile.Some[int64](70) || got.Restarts != 0 {
		t.Errorf("step %v, %d restarts behind 3 MiB", got.Step, got.Restarts)
	}
	noise = bytes.Repeat([]byte("step 1/100\nstep 99/100\n"), (most+chunk)/23)
	if got := follow(t, append(noise, "step 100/100\n"...)); got.Restarts == 0 {
		t.Errorf("step %v, %d restarts: most was not read, and that is not told", got.Step, got.Restarts)
	}
}

// TestTimes reads how long a step takes, told as that or as a rate, at any place of a line.
func TestTimes(t *testing.T) {
	p, err := Compile(`(?P<seconds>\S+) s/it|(?P<rate>\S+) it/s|(?P<step>\d+) done`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Reading{
		"0.25 s/it\n":           {StepTime: profile.Some(250 * time.Millisecond), Matched: true},
		"8 it/s\n":              {StepTime: profile.Some(125 * time.Millisecond), Matched: true},
		"0.5 it/s\n":            {StepTime: profile.Some(2 * time.Second), Matched: true},
		"1e-9 s/it\n":           {StepTime: profile.Some(time.Nanosecond), Matched: true},
		"1e6 s/it\n0 it/s\n":    {}, // no time of a step
		"NaN s/it\nmany it/s\n": {},
		"7 done\n":              {Step: profile.Some[int64](7), Matched: true},
	} {
		path := filepath.Join(t.TempDir(), "log")
		write(t, path, text)
		var f Follower
		f.Begin(p, path, path)
		if got := f.Follow(false, 1); got != want {
			t.Errorf("%q: read %+v, want %+v", text, got, want)
		}
		if f.Output() != path || f.Pattern() != p {
			t.Errorf("it follows %q by %v", f.Output(), f.Pattern())
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPieces follows an output that ends in the middle of a line at each look, which leaves no
// file open, and one of which no line ends: it is not kept.
func TestPieces(t *testing.T) {
	p, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // that closes files, too
	filesOpen := func() int {
		names, _ := os.ReadDir("/proc/self/fd") // Linux has it
		return len(names)
	}
	open := filesOpen()
	var f Follower
	f.Begin(p, path, path)
	for _, piece := range []struct {
		text string
		want int64
	}{{"step 1\nst", 1}, {"ep 20", 1}, {"0\n", 200}, {strings.Repeat("x", 3*chunk), 200}, {"\nstep 300\n", 300}} {
		if _, err := log.WriteString(piece.text); err != nil {
			t.Fatal(err)
		}
		if got := f.Follow(false, 1); got.Step.Or(0) != piece.want {
			t.Errorf("after %.10q step %v, want %d", piece.text, got.Step, piece.want)
		}
		if len(f.rest) > chunk {
			t.Errorf("%d bytes are kept of a line without end", len(f.rest))
		}
	}
	if now := filesOpen(); now != open {
		t.Errorf("%d files are open, and %d were", now, open)
	}
}

// TestFile follows a file that begins anew with each epoch, of which the last step
// is rarely seen.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "steps")
	var f Follower
	f.Begin(nil, "", path)
	var got Reading
	for _, text := range []string{"1 20", "18 20", "2 20", "19 20", "3 20"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got = f.Follow(false, 1)
	}
	if got.Step.Or(0) != 43 || got.Restarts != 2 || !got.Total.IsZero() {
		t.Errorf("step %v of %v after %d restarts, want 43 after 2", got.Step, got.Total, got.Restarts)
	}
}

// TestTooLong: what a task writes without end for the runner is emptied, so that its disk stays free, and read again from there.
func TestTooLong(t *testing.T) {
	stem := filepath.Join(t.TempDir(), "run")
	var f Follower
	f.Begin(nil, "", stem+".steps")
	for i, text := range []string{"7 20 " + strings.Repeat("x", 1<<20), "8 20"} {
		for _, end := range []string{".steps", ".restart"} {
			if err := os.WriteFile(stem+end, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.Follow(false, 1); got.Step.Or(0) != int64(7+i) {
			t.Errorf("step %v, want %d", got.Step, 7+i)
		}
		for _, end := range []string{".steps", ".restart"} {
			if info, err := os.Stat(stem + end); err != nil || info.Size() > 64<<10 {
				t.Errorf("%s has %d bytes: %v", end, info.Size(), err)
			}
		}
	}
}

// TestEndless follows what is no file: a device without end is not read.
func TestEndless(t *testing.T) {
	path := filepath.Join(t.TempDir(), "steps")
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Fatal(err)
	}
	var f Follower
	f.Begin(nil, "", path)
	if got := f.Follow(false, 1); got.Matched {
		t.Errorf("read %+v", got)
	}
	if _, _, err := regular.Open(path); err == nil {
		t.Error("a device is opened")
	}
}

func TestStep(t *testing.T) {
	p, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var none *Pattern
	for line, want := range map[string]int64{"step 7/9": 7, "nothing": -1} {
		if got, ok := p.Step([]byte(line)); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: step %d, %v", line, got, ok)
		}
		if _, ok := none.Step([]byte(line)); ok {
			t.Errorf("%q: a step without a pattern", line)
		}
	}
}

// TestShare: of an output of which much is new the end alone is read where a pattern is costly and many runs are followed
// at the same time, and a line that is longer than that is none.
func TestShare(t *testing.T) {
	costly, err := Compile(pattern + strings.Repeat("a?", (largest-100)/2))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "step 5/9\n"+strings.Repeat("x\n", least)+"step 6/9\n")
	for runs, want := range map[int]int{0: 0, 1: 0, 1 << 20: 1, math.MaxInt: 1} {
		var f Follower
		f.Begin(costly, path, path)
		if got := f.Follow(false, runs); got.Step.Or(0) != 6 || got.Restarts != want {
			t.Errorf("one of %d runs: step %v after %d restarts, want 6 and %d", runs, got.Step, got.Restarts, want)
		}
	}
	var f Follower
	f.Begin(costly, path, path)
	write(t, path, "")
	for part := range 4 { // of one line
		appendTo(t, path, fmt.Sprintf("step %d %s", part, strings.Repeat("x", least/2)))
		f.Follow(false, math.MaxInt)
	}
	if got := f.Follow(true, math.MaxInt); got.Matched {
		t.Errorf("of a line of %d bytes: %+v", 2*least, got)
	}
}

// TestTooLarge: what a pattern costs at each letter is bounded, and said before anything is made of it.
func TestTooLarge(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a{0,999}", 3) + `(?P<step>\d+)`, strings.Repeat("(?:a{10}){100}", 3) + `(?P<step>\d+)`, `(?P<step>\d+)(?:(?:xyzuv){31}w?){32}`,
		strings.Repeat("(?:ab|.{900,})", 3) + `(?P<step>\d+)`, strings.Repeat(`\pL{1000}`, 100) + `(?P<step>\d+)`, `(?P<step>\d+)` + strings.Repeat("a", largest),
	} {
		if err := Check(text); err == nil || !strings.Contains(err.Error(), "repeat less") || len(err.Error()) > 200 {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	for _, text := range []string{"", pattern, `.{0,999}(?P<step>\d+)`} {
		if err := Check(text); err != nil {
			t.Error(err)
		}
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
