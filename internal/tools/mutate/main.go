// Command mutate asks whether tests can fail: it changes one line of a package at a time
// and runs the tests that reach it.
//
//	go -C internal/tools run ./mutate -n 60 -seed 1 ../../packer
//
// All mutants of a package are compiled into one test binary, each behind a switch that a
// file throws: programs that tests start may have another environment. First each test runs
// alone, to see which mutants it reaches. Then each mutant runs against these tests until
// one fails. A mutant that no test notices is printed with its change; where FILE of
// -equivalent lists it, its reason stands there. The same seed draws the same mutants of
// the same source. With -only FILE it takes the mutants that FILE lists by their keys, whole
// or in part, such as its own output, instead: a draw changes with all the source, a key
// with its line alone.
//
// With -stale it runs no tests, and prints the lines of -equivalent of these packages that
// no mutant of theirs has any more:
//
//	go -C internal/tools run ./mutate -stale $(go list -f '{{.Dir}}' ./...)
//
// A mutant of what starts and ends processes may end all that its user may, or start
// processes without end: mutate such packages where they see no others and may not have
// many. The first process there must be a shell, which waits for those that lose their
// parent: else what has ended takes the room of others, and tests fail for want of it.
//
//	mkdir /sys/fs/cgroup/pids/mutants && echo 600 >/sys/fs/cgroup/pids/mutants/pids.max
//	echo $$ >/sys/fs/cgroup/pids/mutants/cgroup.procs
//	unshare --mount --pid --fork --mount-proc --kill-child bash -c 'go -C internal/tools run ./mutate ../../colloc/runner; exit $?'
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Files in the temporary folder, which every process of a test reads.
const (
	active  = "active"  // the number of the mutant that is switched on
	reached = "reached" // has a byte for each mutant, 1 if it was reached, where it is there
)

func main() {
	n := flag.Int("n", 60, "how many mutants to draw from each package")
	seed := flag.Uint64("seed", 1, "of the draw")
	tests := flag.String("tests", "", "further packages whose tests may notice, separated by commas")
	equivalent := flag.String("equivalent", "mutate/equivalent.txt", "lists mutants that change nothing, and why")
	only := flag.String("only", "", "do not draw: take the mutants whose keys hold a line of a file")
	stale := flag.Bool("stale", false, "run no tests: print the keys of -equivalent that no mutant of the packages has")
	match := flag.String("run", "^(Test|Example|Fuzz)", "tests that may notice")
	limit := flag.Duration("timeout", 2*time.Minute, "longest run of one test")
	verbose := flag.Bool("v", false, "print the mutants that were noticed, too")
	flag.Parse()
	bad := 0
	for _, dir := range flag.Args() {
		r := run{n: *n, seed: *seed, only: *only, match: *match, limit: *limit, verbose: *verbose, more: strings.FieldsFunc(*tests, func(r rune) bool { return r == ',' })}
		work := r.all
		if *stale {
			work = listStale
		}
		left, err := work(dir, *equivalent)
		if err != nil {
			fmt.Fprintf(os.Stderr, "mutate: %s: %v\n", dir, err)
			os.Exit(2)
		}
		bad += left
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// run is one package under test.
type run struct {
	n       int
	seed    uint64
	only    string
	match   string
	limit   time.Duration
	verbose bool
	more    []string
	temp    string
	mutants []*mutant
	tests   []*test
}

// test is one test function, and how long it takes.
type test struct {
	binary, dir, name string
	took              time.Duration
	reaches           map[int]bool
}

// all draws, compiles, runs and prints; it returns how many mutants survived unexcused.
func (r *run) all(dir, equivalent string) (int, error) {
	excuses, err := readExcuses(equivalent)
	if err != nil {
		return 0, err
	}
	p, err := load(dir)
	if err != nil {
		return 0, err
	}
	if r.temp, err = os.MkdirTemp("", "mutate"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(r.temp)
	if err := os.Chmod(r.temp, 0o711); err != nil { // programs of other users read there
		return 0, err
	}
	if r.mutants, err = r.choose(p); err != nil {
		return 0, err
	}
	overlay, err := r.write(p)
	if err != nil {
		return 0, err
	}
	for _, d := range append([]string{dir}, r.more...) {
		if err := r.compile(d, overlay); err != nil {
			return 0, err
		}
		defer forget(filepath.Join(d, "testdata", "rapid"))()
	}
	if err := r.baseline(); err != nil {
		return 0, err
	}
	slices.SortStableFunc(r.tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	killed, excused, survived := 0, 0, 0
	for _, m := range r.mutants {
		by, err := r.kill(m)
		if err != nil {
			return survived, err
		}
		why, known := excuses[m.key(p.path)]
		switch {
		case by != "":
			killed++
			if r.verbose {
				fmt.Printf("noticed   %s by %s\n", m, by)
			}
		case known:
			excused++
			fmt.Printf("equal     %s: %s\n", m, why)
		default:
			survived++
			fmt.Printf("SURVIVED  %s\n          %s\n", m, m.key(p.path))
		}
	}
	fmt.Printf("%s: %d mutants (seed %d), %d noticed, %d equal, %d survived\n", p.path, len(r.mutants), r.seed, killed, excused, survived)
	return survived, nil
}

// listStale prints the keys of a package that none of its mutants has; it returns how many.
func listStale(dir, equivalent string) (int, error) {
	excuses, err := readExcuses(equivalent)
	if err != nil {
		return 0, err
	}
	p, err := load(dir)
	if err != nil {
		return 0, err
	}
	for _, m := range p.mutants() {
		delete(excuses, m.key(p.path))
	}
	n := 0
	for _, key := range slices.Sorted(maps.Keys(excuses)) {
		if strings.HasPrefix(key, p.path+" ") {
			fmt.Println(key)
			n++
		}
	}
	return n, nil
}

// forget removes a folder that is not there yet: package rapid keeps inputs that failed
// under testdata, and those of mutants are of no use.
func forget(folder string) func() {
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		return func() {}
	}
	return func() {
		_ = os.RemoveAll(folder)
		_ = os.Remove(filepath.Dir(folder)) // unless it holds others
	}
}

// choose takes the mutants that a file lists, or draws.
func (r *run) choose(p *source) ([]*mutant, error) {
	list := p.mutants()
	if r.only == "" {
		return draw(list, r.n, r.seed), nil
	}
	data, err := os.ReadFile(r.only)
	lines := strings.FieldsFunc(string(data), func(c rune) bool { return c == '\n' })
	list = slices.DeleteFunc(list, func(m *mutant) bool {
		return !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(m.key(p.path), strings.TrimSpace(line)) })
	})
	return draw(list, len(list), r.seed), err
}

// draw picks n mutants, spread over the package as its places are.
func draw(list []*mutant, n int, seed uint64) []*mutant {
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var chosen []*mutant
	taken := make(map[string]bool) // a line is changed once at most
	for _, m := range list {
		line := fmt.Sprintf("%s:%d", m.file, m.line)
		if len(chosen) < n && !taken[line] {
			chosen, taken[line] = append(chosen, m), true
		}
	}
	slices.SortFunc(chosen, func(a, b *mutant) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line)) })
	for i, m := range chosen {
		m.id = i + 1
	}
	return chosen
}

// write puts the changed files into the temporary folder and returns the overlay.
func (r *run) write(p *source) (string, error) {
	replace := make(map[string]string)
	for file, text := range p.apply(r.mutants) {
		to := filepath.Join(r.temp, filepath.Base(file))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
		replace[file] = to
	}
	to := filepath.Join(r.temp, "zz_switch.go")
	if err := os.WriteFile(to, fmt.Appendf(nil, "package %s\n%s\nconst swFolder = %q\n", p.name, switches, r.temp+"/"), 0o600); err != nil {
		return "", err
	}
	replace[filepath.Join(p.dir, "zz_switch.go")] = to
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(r.temp, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// compile builds the test binary of a folder and lists its tests.
func (r *run) compile(dir, overlay string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	binary := filepath.Join(r.temp, fmt.Sprintf("%d.test", len(r.tests))) // by its ending internal/testbed knows a test
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling: %w\n%s", err, out)
	}
	if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
		return nil // a package without tests of its own
	}
	list := exec.Command(binary, "-test.list", r.match)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("listing tests: %w", err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		r.tests = append(r.tests, &test{binary: binary, dir: dir, name: name})
	}
	return nil
}

// baseline runs each test alone and without a mutant.
func (r *run) baseline() error {
	kept := r.tests[:0]
	file := filepath.Join(r.temp, reached)
	for _, t := range r.tests {
		if err := errors.Join(r.activate(0), os.WriteFile(file, make([]byte, len(r.mutants)+1), 0o600), os.Chmod(file, 0o666)); err != nil {
			return err
		}
		begun := time.Now()
		if out, err := t.run(r.limit); err != nil {
			// Switches allocate, and inlining ends at them.
			fmt.Printf("left out  %s, which fails with switches alone: %v: %.200s\n", t.name, err, bytes.TrimSpace(out))
			continue
		}
		t.took, t.reaches = time.Since(begun), make(map[int]bool)
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for id, seen := range data {
			if seen != 0 {
				t.reaches[id] = true
			}
		}
		if len(t.reaches) > 0 {
			kept = append(kept, t)
		}
	}
	r.tests = kept
	return os.Remove(file)
}

// activate switches a mutant on.
func (r *run) activate(id int) error {
	file := filepath.Join(r.temp, active)
	return errors.Join(os.WriteFile(file, []byte(strconv.Itoa(id)), 0o600), os.Chmod(file, 0o644))
}

// kill returns the first test, quickest first, that notices the mutant, or "".
func (r *run) kill(m *mutant) (string, error) {
	if err := r.activate(m.id); err != nil {
		return "", err
	}
	for _, t := range r.tests {
		if !t.reaches[m.id] {
			continue
		}
		if _, err := t.run(10*t.took + 10*time.Second); err != nil {
			return t.name, nil
		}
	}
	return "", nil
}

// run runs the test alone; it fails, too, where it takes longer than limit.
func (t *test) run(limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, t.binary, "-test.run", "^"+t.name+"$", "-test.failfast", "-test.timeout", limit.String())
	c.Dir, c.WaitDelay = t.dir, 5*time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                              // kill(0) of a mutant ends the test alone
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // and what it started
	return c.CombinedOutput()
}

// readExcuses reads lines of "KEY: REASON"; # begins a comment.
func readExcuses(file string) (map[string]string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	excuses := make(map[string]string)
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		key, why, found := strings.Cut(text, " :: ")
		if !found || why == "" {
			return nil, fmt.Errorf("%s: %q: want KEY :: REASON", file, text)
		}
		excuses[key] = why
	}
	return excuses, err
}
