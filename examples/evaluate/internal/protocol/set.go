package protocol

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"example.com/colloc/predict"
)

// ErrSet says that rows to fit on and to score are of different sets.
var ErrSet = errors.New("training rows are of another set")

// Set is one thing to evaluate: a target in a measurement file.
type Set interface {
	// Name is the set's name in the output.
	Name() string
	// File is the base name, without .csv, of the file it reads.
	File() string
	// Open reads the file base.csv in folder, and beside it whatever the set
	// needs. A missing file is fs.ErrNotExist.
	Open(folder, base string) (Table, error)
}

// Table is the rows of a set in one file.
type Table interface {
	// Size is the number of rows that can be trained on or scored.
	Size() int
	// Family is what row i is related by; "" is unrelated.
	Family(i int) string
	// Score fits on rows of train, a table of the same set, and predicts rows
	// of the receiver, fold by fold. It returns one result for each model over
	// the predictions of all folds together.
	Score(train Table, folds []Fold) ([]Result, error)
}

// Splitter is a table that brings its own splits for cross-validation, because
// its rows belong to more than one family.
type Splitter interface{ Splits() []Split }

// Split is a named way to divide a table.
type Split struct {
	Name  string
	Folds []Fold
}

// SplitsOf returns the table's own splits, or rows and families left out.
func SplitsOf(t Table) []Split {
	if s, ok := t.(Splitter); ok {
		return s.Splits()
	}
	return []Split{{"random", RandomFolds(t.Size())}, {"family", familyFolds(t)}}
}

// familyFolds leaves one family out at a time, or, where there are more than
// FamilyLimit, whole families in FamilyLimit folds of nearly equal size.
func familyFolds(t Table) []Fold {
	families := make([][]string, t.Size())
	for i := range families {
		families[i] = []string{t.Family(i)}
	}
	return predict.GroupFolds(families, FamilyLimit)
}

// OpenFile opens base.csv in folder and reads it with read, which gets the
// path to name in its errors.
func OpenFile[T any](folder, base string, read func(file string, r io.Reader) (T, error)) (T, error) {
	path := filepath.Join(folder, base+".csv")
	f, err := os.Open(path)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(path, f)
}
