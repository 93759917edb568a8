package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// table is a CSV file with a header.
type table struct {
	bound   *bound
	csv     *csv.Reader
	layout  layout
	header  []string
	columns map[string]int // by name
}

// newTableOf reads the header and finds out which of some layouts it is.
func newTableOf(r io.Reader, layouts []layout) (*table, error) {
	t := &table{bound: &bound{r: r}, columns: map[string]int{}}
	t.csv = csv.NewReader(t.bound)
	t.csv.ReuseRecord = true
	header, err := t.row()
	if errors.Is(err, io.EOF) || err == nil && len(header) == 1 && strings.TrimSpace(header[0]) == "" {
		return nil, fmt.Errorf("trace: %w", errEmpty)
	}
	if err != nil {
		return nil, csvError("header", err)
	}
	for i, name := range header {
		name = strings.TrimSpace(name)
		t.header = append(t.header, name)
		if _, ok := t.columns[name]; ok {
			return nil, &SyntaxError{"header", 1, i + 1, fmt.Sprintf("column %q stands there twice", name)}
		}
		t.columns[name] = i
	}
	t.layout, err = recognise(t.header, layouts)
	return t, err
}

// row reads the fields of a row, which is at most maxLine long.
func (t *table) row() ([]string, error) {
	t.bound.most = t.csv.InputOffset() + maxLine
	return t.csv.Read()
}

// bound reads so far and no further.
type bound struct {
	r          io.Reader
	read, most int64
}

// Read implements [io.Reader].
func (b *bound) Read(p []byte) (int, error) {
	if b.read >= b.most {
		return 0, fmt.Errorf("a row of more than %d bytes", maxLine)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.most-b.read)])
	b.read += int64(n)
	return n, err
}

// csvError turns an error of encoding/csv into ours.
func csvError(layout string, err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return &SyntaxError{layout, parse.Line, parse.Column, parse.Err.Error()}
	}
	return fmt.Errorf("trace: %s: %w", layout, err)
}

// next returns the next row, or io.EOF.
func (t *table) next() (*row, error) {
	fields, err := t.row()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, csvError(t.layout.name, err)
	}
	return &row{table: t, fields: fields}, nil
}

// read reads all rows.
func (t *table) read() (*Trace, error) {
	tr := &Trace{Layout: t.layout.name}
	seen := map[string]int{}
	for {
		r, err := t.next()
		if errors.Is(err, io.EOF) {
			return tr, nil
		}
		if err != nil {
			return nil, err
		}
		tasks := len(tr.Tasks)
		t.layout.row(r, tr)
		if r.err == nil && len(tr.Tasks) > tasks {
			r.checkTask(tr, seen)
		}
		if r.err != nil {
			return nil, r.err
		}
	}
}

// readRows reads the rows of a file of one layout.
func readRows(r io.Reader, l layout, take func(*row)) error {
	t, err := newTableOf(r, []layout{l})
	if err != nil {
		return err
	}
	for {
		r, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if take(r); r.err != nil {
			return r.err
		}
	}
}

// row is one line; the first fault is kept and the rest ignored.
type row struct {
	table  *table
	fields []string
	err    error
}

// fail notes a fault of a column.
func (r *row) fail(column, format string, args ...any) {
	if r.err != nil {
		return
	}
	line, col := r.table.csv.FieldPos(r.table.columns[column])
	r.err = &SyntaxError{r.table.layout.name, line, col, column + " " + fmt.Sprintf(format, args...)}
}

// checkTask refuses what Run would refuse, with its place.
func (r *row) checkTask(tr *Trace, seen map[string]int) {
	t := &tr.Tasks[len(tr.Tasks)-1]
	id := r.table.layout.need[0]
	line, col := r.table.csv.FieldPos(r.table.columns[id])
	if err := t.Validate(); err != nil {
		r.err = &SyntaxError{r.table.layout.name, line, col, err.Error()}
	} else if first, ok := seen[t.ID]; ok {
		r.err = &SyntaxError{r.table.layout.name, line, col, fmt.Sprintf("task %q was on line %d already", t.ID, first)}
	}
	seen[t.ID] = line
}

// text returns a field; empty if there is no such column.
func (r *row) text(column string) string {
	if i, ok := r.table.columns[column]; ok {
		return strings.TrimSpace(r.fields[i])
	}
	return ""
}

// name is a field that must not be empty.
func (r *row) name(column string) string {
	s := r.text(column)
	if s == "" {
		r.fail(column, "is empty, want a name")
	}
	return s
}

// number is a field from 0 to limit; missing columns and empty fields are 0.
func (r *row) number(column string, limit float64) float64 {
	s := r.text(column)
	if s == "" {
		return 0
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0 && x <= limit) {
		r.fail(column, "is %q, want a number from 0 to %g", s, limit)
		return 0
	}
	return x
}

// count is a whole number from 0 to limit.
func (r *row) count(column string, limit int) int {
	x := r.number(column, float64(limit))
	if x != math.Trunc(x) {
		r.fail(column, "is %q, want a whole number", r.text(column))
	}
	return int(x)
}

// maxSeconds is the longest time that a trace may hold: a century.
const (
	maxSeconds = 100 * 366 * 86400
	century    = maxSeconds * time.Second
)

// duration is a field in units of unit.
func (r *row) duration(column string, unit time.Duration) time.Duration {
	x := r.number(column, float64(century)/float64(unit))
	return time.Duration(math.Round(float64(x * float64(unit))))
}

// mib is a field in MiB; large is how much is too much.
func (r *row) mib(column string) profile.Bytes {
	const large = 1 << 40 // an exbibyte
	return profile.BytesOf(math.Round(r.number(column, large) * (1 << 20)))
}

// clock is a field such as "2020-04-01 13:00:08", as time since 1970; ok is false
// if it is empty.
func (r *row) clock(column string) (at time.Duration, ok bool) {
	s := r.text(column)
	if s == "" || s == "None" {
		return 0, false
	}
	for _, form := range []string{time.DateTime, "2006-01-02 15:04:05-07:00", time.RFC3339} {
		if t, err := time.Parse(form, s); err == nil && t.Year() >= 1970 && t.Year() < 2200 {
			return time.Duration(t.UnixNano()), true
		}
	}
	r.fail(column, "is %q, want a time such as 2020-04-01 13:00:08", s)
	return 0, false
}
