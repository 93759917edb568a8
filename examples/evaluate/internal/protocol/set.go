package protocol

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"example.com/colloc/predict"
)

// ErrSet says that rows to fit on and to score are of different sets.
var ErrSet = errors.New("training rows are of another set")

// Set is one thing to evaluate: a target in a measurement file.
type Set struct {
	// Name is the set's name in the output.
	Name string
	// File is the base name, without .csv, of the file it reads.
	File string
	// Folder is where that file lies; "" is the folder of all training files.
	Folder string
	// Open reads the file base.csv in folder, and beside it whatever the set
	// needs. A missing file is fs.ErrNotExist.
	Open func(folder, base string) (Table, error)
}

// Table is the rows of a set in one file.
type Table interface {
	// Size is the number of rows that can be trained on or scored.
	Size() int
	// Splits are the ways to divide the rows for cross-validation.
	Splits() []Split
	// Score fits on rows of train, a table of the same set, and predicts rows
	// of the receiver, fold by fold. It returns one result for each model over
	// the predictions of all folds together.
	Score(train Table, folds []Fold) ([]Result, error)
}

// Rows are a Table that is scored by rows of its own type.
type Rows[T any] interface {
	Size() int
	Splits() []Split
	Score(train T, folds []Fold) ([]Result, error)
}

// table makes rows a Table.
type table[T Rows[T]] struct{ rows T }

func (t table[T]) Size() int       { return t.rows.Size() }
func (t table[T]) Splits() []Split { return t.rows.Splits() }

func (t table[T]) Score(from Table, folds []Fold) ([]Result, error) {
	train, ok := from.(table[T])
	if !ok {
		return nil, ErrSet
	}
	return t.rows.Score(train.rows, folds)
}

// NewSet is a set that reads the file name.csv with open.
func NewSet[T Rows[T]](name string, open func(folder, base string) (T, error)) Set {
	return Set{Name: name, File: name, Open: func(folder, base string) (Table, error) {
		rows, err := open(folder, base)
		return table[T]{rows}, err
	}}
}

// Split is a named way to divide a table.
type Split struct {
	Name  string
	Folds []Fold
	// Several says that a single fold is not worth scoring.
	Several bool
}

// RandomAndFamily deals n rows at random, and leaves out whole families.
func RandomAndFamily(n int, family func(i int) string) []Split {
	return []Split{
		{"random", RandomFolds(n), true},
		{"family", LeaveOut(n, FamilyLimit, func(i int) []string { return []string{family(i)} }), true},
	}
}

// LeaveOut leaves out one group at a time of those that rows belong to, or, where there
// are more than limit, whole groups in limit folds of nearly equal size; 0 is no limit.
func LeaveOut(n, limit int, groups func(i int) []string) []Fold {
	of := make([][]string, n)
	for i := range of {
		of[i] = groups(i)
	}
	return predict.GroupFolds(of, limit)
}

// Unfitted scores all n rows by models that are fitted to none.
func Unfitted(name string, n int) []Split {
	return []Split{{Name: name, Folds: []Fold{{Test: Whole(n)}}}}
}

// Whole lists n rows.
func Whole(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// Select returns the rows that a fold lists.
func Select[R any](rows []R, list []int) []R {
	out := make([]R, len(list))
	for k, i := range list {
		out[k] = rows[i]
	}
	return out
}

// OpenFile opens base.csv in folder and reads it with read, which gets the
// path to name in its errors. Rows that bad says must not be used are left out.
func OpenFile[R any](folder, base string, read func(file string, r io.Reader) ([]R, error), bad ...func(r R) bool) ([]R, error) {
	path := filepath.Join(folder, base+".csv")
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := read(path, f)
	for _, out := range bad {
		rows = slices.DeleteFunc(rows, out)
	}
	return rows, err
}
