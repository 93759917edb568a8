package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// set is one thing to evaluate: a target in a measurement file.
type set interface {
	// name is the set's name in the output.
	name() string
	// file is the base name, without .csv, of the file it reads.
	file() string
	// open reads the file base.csv in folder, and beside it whatever the set
	// needs. A missing file is fs.ErrNotExist.
	open(folder, base string) (table, error)
}

// table is the rows of a set in one file.
type table interface {
	// size is the number of rows that can be trained on or scored.
	size() int
	// family is what row i is related by; "" is unrelated.
	family(i int) string
	// score fits on rows of train, a table of the same set, and predicts rows
	// of the receiver, fold by fold. It returns one result for each model over
	// the predictions of all folds together.
	score(train table, folds []fold) ([]result, error)
}

// splitter is a table that brings its own splits for cross-validation, because
// its rows belong to more than one family.
type splitter interface{ splits() []split }

// split is a named way to divide a table.
type split struct {
	name  string
	folds []fold
}

// splitsOf returns the table's own splits, or rows and families left out.
func splitsOf(t table) []split {
	if s, ok := t.(splitter); ok {
		return s.splits()
	}
	return []split{{"random", randomFolds(t.size())}, {"family", familyFolds(t)}}
}

// result is how good one model is.
type result struct {
	model   string
	n       int
	metrics []metric
	picture
}

// picture is what can be drawn of colloc's own result; empty for the others.
type picture struct {
	unit     string
	points   []guessed
	interval bool   // the points tell whether their interval held
	risks    []risk // of running out of memory
}

// risk is the asked probability of running out of memory and the share that did.
type risk struct{ asked, seen float64 }

// metric is one named number.
type metric struct {
	name  string
	value float64
}

// line is a result with its set and split.
type line struct {
	set, split string
	result
}

// evaluate runs the sets on all CPUs at once. Lines and notes come in the order
// of the sets; of several errors that of the first set counts.
func evaluate(chosen []set, train, test string, log io.Writer) ([]line, error) {
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
func evaluateFile(s set, train, test string, log io.Writer) ([]line, error) {
	fitted, err := s.open(train, s.file())
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(log, "evaluate: %s skipped: no %s.csv in %s\n", s.name(), s.file(), train)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return evaluateSet(s, fitted, test, log)
}

// evaluateSet scores one set by cross-validation, or on its test files.
func evaluateSet(s set, train table, test string, log io.Writer) ([]line, error) {
	if test == "" {
		return crossValidate(s, train, log)
	}
	bases, err := testFiles(test, s.file())
	if err != nil {
		return nil, err
	}
	if len(bases) == 0 {
		fmt.Fprintf(log, "evaluate: %s skipped: no %s.csv or %s__*.csv in %s\n", s.name(), s.file(), s.file(), test)
	}
	var lines []line
	for _, base := range bases {
		unseen, err := s.open(test, base)
		if err != nil {
			return nil, err
		}
		split := "test"
		if _, after, ok := strings.Cut(base, "__"); ok {
			split = after
		}
		results, err := unseen.score(train, []fold{{Train: count(train.size()), Test: count(unseen.size())}})
		if err != nil {
			return nil, &failure{fmt.Errorf("%s: %s: %w", s.name(), split, err)}
		}
		for _, r := range results {
			lines = append(lines, line{s.name(), split, r})
		}
	}
	return lines, nil
}

func crossValidate(s set, t table, log io.Writer) ([]line, error) {
	var lines []line
	for _, split := range splitsOf(t) {
		if _, own := t.(splitter); !own && len(split.folds) < 2 {
			fmt.Fprintf(log, "evaluate: %s: split %s skipped: fewer than two folds\n", s.name(), split.name)
			continue
		}
		results, err := t.score(t, split.folds)
		if err != nil {
			return nil, &failure{fmt.Errorf("%s: %s: %w", s.name(), split.name, err)}
		}
		for _, r := range results {
			lines = append(lines, line{s.name(), split.name, r})
		}
	}
	return lines, nil
}

// testFiles returns the base names NAME and NAME__SPLIT in folder, sorted.
func testFiles(folder, name string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var bases []string
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".csv")
		if ok && (base == name || strings.HasPrefix(base, name+"__")) {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	return bases, nil
}

// openFile opens base.csv in folder and reads it with read, which gets the
// path to name in its errors.
func openFile[T any](folder, base string, read func(file string, r io.Reader) (T, error)) (T, error) {
	path := filepath.Join(folder, base+".csv")
	f, err := os.Open(path)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(path, f)
}
