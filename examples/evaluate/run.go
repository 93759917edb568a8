package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"example.com/colloc/examples/evaluate/internal/protocol"
)

// failure is an error that is not the input's fault.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// line is a result with its set and split.
type line struct {
	set, split string
	protocol.Result
}

// evaluate runs the sets on all CPUs at once. Lines and notes come in the order
// of the sets; of several errors that of the first set counts.
func evaluate(chosen []protocol.Set, train, test string, log io.Writer) ([]line, error) {
	outcomes := make([]struct {
		lines []line
		notes bytes.Buffer
		err   error
	}, len(chosen))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range chosen {
		group.Go(func() error {
			o := &outcomes[i]
			o.lines, o.err = evaluateFile(s, train, test, &o.notes)
			return nil // errors are reported in the order of the sets
		})
	}
	_ = group.Wait()
	var lines []line
	for i := range outcomes {
		o := &outcomes[i]
		if _, err := o.notes.WriteTo(log); err != nil {
			return nil, &failure{err}
		}
		if o.err != nil {
			return nil, o.err
		}
		lines = append(lines, o.lines...)
	}
	return lines, nil
}

// evaluateFile opens a set's training file, if it is there, and scores the set.
func evaluateFile(s protocol.Set, train, test string, log io.Writer) ([]line, error) {
	train = cmp.Or(s.Folder, train)
	fitted, err := s.Open(train, s.File)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(log, "evaluate: %s skipped: no %s.csv in %s\n", s.Name, s.File, train)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return evaluateSet(s, fitted, test, log)
}

// evaluateSet scores one set by cross-validation, or on its test files.
func evaluateSet(s protocol.Set, train protocol.Table, test string, log io.Writer) ([]line, error) {
	if test == "" {
		return crossValidate(s, train, log)
	}
	bases, err := testFiles(test, s.File)
	if err != nil {
		return nil, err
	}
	if len(bases) == 0 {
		fmt.Fprintf(log, "evaluate: %s skipped: no %s.csv or %s__*.csv in %s\n", s.Name, s.File, s.File, test)
	}
	var lines []line
	for _, base := range bases {
		unseen, err := s.Open(test, base)
		if err != nil {
			return nil, err
		}
		split := "test"
		if _, after, ok := strings.Cut(base, "__"); ok {
			split = after
		}
		results, err := unseen.Score(train, []protocol.Fold{{Train: protocol.Whole(train.Size()), Test: protocol.Whole(unseen.Size())}})
		if err != nil {
			return nil, &failure{fmt.Errorf("%s: %s: %w", s.Name, split, err)}
		}
		for _, r := range results {
			lines = append(lines, line{s.Name, split, r})
		}
	}
	return lines, nil
}

func crossValidate(s protocol.Set, t protocol.Table, log io.Writer) ([]line, error) {
	var lines []line
	for _, split := range t.Splits() {
		if split.Several && len(split.Folds) < 2 {
			fmt.Fprintf(log, "evaluate: %s: split %s skipped: fewer than two folds\n", s.Name, split.Name)
			continue
		}
		results, err := t.Score(t, split.Folds)
		if err != nil {
			return nil, &failure{fmt.Errorf("%s: %s: %w", s.Name, split.Name, err)}
		}
		for _, r := range results {
			lines = append(lines, line{s.Name, split.Name, r})
		}
	}
	return lines, nil
}

// testFiles returns the base names NAME and NAME__SPLIT in folder, sorted; of a name in
// a folder of its own, "aegis/NAME", those that lie in it or in folder itself.
func testFiles(folder, name string) ([]string, error) {
	var bases []string
	inside, name := path.Split(name)
	for _, dir := range slices.Compact([]string{inside, ""}) {
		entries, err := os.ReadDir(filepath.Join(folder, dir))
		if err != nil && (dir == "" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
		for _, e := range entries {
			base, ok := strings.CutSuffix(e.Name(), ".csv")
			if ok && (base == name || strings.HasPrefix(base, name+"__")) {
				bases = append(bases, dir+base)
			}
		}
	}
	slices.Sort(bases)
	return bases, nil
}
