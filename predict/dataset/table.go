package dataset

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"example.com/colloc/profile"
)

// maxCell bounds a number in a file: beyond it integers lose their last digit.
const maxCell = 1 << 53

// table is a CSV file with a header line.
type table struct {
	file   string
	column map[string]int
	rows   [][]string
	lines  []int // line number of each row in the file

	profiles map[string]*profile.Profile // of tasks, by what tells them apart
}

// readTable reads a whole file. Rows shorter or longer than the header, a
// repeated column and a file without rows are errors.
func readTable(file string, r io.Reader) (*table, error) {
	in := csv.NewReader(r)
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("dataset: %s: empty file, want a header line", file)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", file, err)
	}
	t := &table{file: file, column: make(map[string]int, len(header)), profiles: make(map[string]*profile.Profile)}
	for i, name := range header {
		if _, twice := t.column[name]; twice {
			return nil, fmt.Errorf("dataset: %s:1: column %q appears twice", file, name)
		}
		t.column[name] = i
	}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", file, err)
		}
		line, _ := in.FieldPos(0)
		t.rows = append(t.rows, row)
		t.lines = append(t.lines, line)
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("dataset: %s: no rows after the header", file)
	}
	return t, nil
}

// has reports whether every column is there.
func (t *table) has(columns ...string) bool {
	for _, c := range columns {
		if _, ok := t.column[c]; !ok {
			return false
		}
	}
	return true
}

// require returns an error that names the columns which are not there.
func (t *table) require(columns ...string) error {
	var errs []error
	for _, c := range columns {
		if !t.has(c) {
			errs = append(errs, fmt.Errorf("dataset: %s:1: no column %q", t.file, c))
		}
	}
	return errors.Join(errs...)
}

// readRows reads a file that has the columns, each row with read.
func readRows[T any](file string, r io.Reader, read func(*row, *T), columns ...string) ([]T, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	return eachRow(t, read, columns...)
}

// eachRow reads the rows of a table that has the columns. The first row with a fault ends
// the reading; all its faults are told.
func eachRow[T any](t *table, read func(*row, *T), columns ...string) ([]T, error) {
	if err := t.require(columns...); err != nil {
		return nil, err
	}
	out := make([]T, len(t.rows))
	for i := range out {
		r := t.row(i)
		read(r, &out[i])
		if err := r.err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// once returns the profile of the tasks of a key, made for the first of them. A fault of
// it is that of a column.
func (r *row) once(key, column string, of func() (profile.Profile, error)) *profile.Profile {
	if p, ok := r.t.profiles[key]; ok {
		return p
	}
	p, err := of()
	if err != nil {
		r.fault(column, "%v", err)
	}
	r.t.profiles[key] = &p
	return &p
}

// line is the row's line in the file.
func (r *row) line() int { return r.t.lines[r.i] }

// row reads the cells of one line; the first fault sticks in err.
type row struct {
	t    *table
	i    int
	errs []error
}

func (t *table) row(i int) *row { return &row{t: t, i: i} }

// err joins the faults of the line.
func (r *row) err() error { return errors.Join(r.errs...) }

// fault records what is wrong with a cell.
func (r *row) fault(column, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("dataset: %s:%d: column %q: %s", r.t.file, r.t.lines[r.i], column, fmt.Sprintf(format, args...)))
}

// text returns a cell; "" if it is empty or the file has no such column.
func (r *row) text(column string) string {
	if k, ok := r.t.column[column]; ok {
		return r.t.rows[r.i][k]
	}
	return ""
}

// opt returns a finite number, or missing for an empty cell.
func (r *row) opt(column string) profile.Opt[float64] {
	cell := r.text(column)
	if cell == "" {
		return profile.Opt[float64]{}
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > maxCell {
		r.fault(column, "%q is not a number between -2^53 and 2^53", cell)
		return profile.Opt[float64]{}
	}
	return profile.Some(v)
}

// number returns a finite number; an empty cell is a fault.
func (r *row) number(column string) float64 {
	v, ok := r.opt(column).Get()
	if !ok && r.text(column) == "" {
		r.fault(column, "is empty, want a number")
	}
	return v
}

// count returns a whole number of at least 0; an empty cell is a fault.
func (r *row) count(column string) int64 {
	v := r.number(column)
	if v < 0 || v != math.Trunc(v) {
		r.fault(column, "%v is not a count", v)
		return 0
	}
	return int64(v)
}

// size returns a count from 1 to most; anything else is a fault.
func (r *row) size(column string, most int64) int64 {
	n := r.count(column)
	if n < 1 || n > most {
		r.fault(column, "%d is not from 1 to %d", n, most)
		return 1
	}
	return n
}

// countOr is count with a value for an empty cell.
func (r *row) countOr(column string, missing int64) int64 {
	if r.text(column) == "" {
		return missing
	}
	return r.count(column)
}

// countOrNone is count where an empty cell says that there is nothing to count.
func (r *row) countOrNone(column string) int64 { return r.countOr(column, 0) }

// flag returns whether a cell is 1; 0 and empty are false.
func (r *row) flag(column string) bool {
	switch cell := r.text(column); cell {
	case "1", "1.0", "true":
		return true
	case "0", "0.0", "false", "":
		return false
	default:
		r.fault(column, "%q is not 0 or 1", cell)
		return false
	}
}

// mib returns an amount of memory given in MiB, or missing.
func (r *row) mib(column string) profile.Opt[profile.Bytes] {
	v, ok := r.opt(column).Get()
	switch {
	case !ok:
		return profile.Opt[profile.Bytes]{}
	case v < 0 || v > 1<<40:
		r.fault(column, "%v MiB is not an amount of memory", v)
		return profile.Opt[profile.Bytes]{}
	}
	return profile.Some(profile.BytesOf(v * float64(profile.MiB)))
}

// fraction returns a number in [0, 1] from a cell in [0, whole], or missing.
func (r *row) fraction(column string, whole float64) profile.Opt[float64] {
	v, ok := r.opt(column).Get()
	if !ok {
		return profile.Opt[float64]{}
	}
	if v < 0 || v > whole {
		r.fault(column, "%v is not between 0 and %v", v, whole)
		return profile.Opt[float64]{}
	}
	return profile.Some(v / whole)
}
