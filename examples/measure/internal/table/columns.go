package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"

	"example.com/colloc/profile"
)

// column is one column of the tidy table: a field of Row, either text or a number, which is
// empty where it is missing.
type column struct {
	name, unit, doc string
	field           int
}

// columns are the schema: the fields of Row and their tags. README.md repeats it, and a test
// compares the two.
var columns = func() []column {
	row := reflect.TypeFor[Row]()
	list := make([]column, row.NumField())
	for i := range list {
		tag := row.Field(i).Tag
		list[i] = column{tag.Get("csv"), tag.Get("unit"), tag.Get("doc"), i}
	}
	return list
}()

// at is the value of the column in a row: a *string or a *profile.Opt[float64].
func (c *column) at(r *Row) any { return reflect.ValueOf(r).Elem().Field(c.field).Addr().Interface() }

// WriteCSV writes the tidy table.
func WriteCSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	cells := make([]string, len(columns))
	for k := range columns {
		cells[k] = columns[k].name
	}
	_ = out.Write(cells) // Error returns it
	for i := range rows {
		for k, c := range columns {
			cells[k] = c.write(&rows[i])
		}
		_ = out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

func (c *column) write(r *Row) string {
	switch to := c.at(r).(type) {
	case *string:
		return *to
	case *profile.Opt[float64]:
		x, ok := to.Get()
		switch {
		case !ok:
			return ""
		case x == math.Trunc(x) && math.Abs(x) < 1<<53:
			return strconv.FormatFloat(x, 'f', 0, 64)
		}
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	return ""
}

// readCSV reads a tidy table. Columns may be in any order and more than the
// schema has; name stands for the file in errors.
func readCSV(name string, r io.Reader) ([]Row, error) {
	in := csv.NewReader(r)
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: header: %w", name, err)
	}
	at := make(map[string]int)
	for i, title := range head {
		at[title] = i
	}
	for _, c := range columns {
		if _, ok := at[c.name]; !ok {
			return nil, fmt.Errorf("%s:1: no column %q: this is not a table of measure -csv", name, c.name)
		}
	}
	var rows []Row
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var r Row
		for _, c := range columns {
			if err := c.read(&r, cells[at[c.name]]); err != nil {
				line, _ := in.FieldPos(at[c.name])
				return nil, fmt.Errorf("%s:%d: column %s: %w", name, line, c.name, err)
			}
		}
		rows = append(rows, r)
	}
}

func (c *column) read(r *Row, cell string) error {
	switch to := c.at(r).(type) {
	case *string:
		*to = cell
	case *profile.Opt[float64]:
		if cell == "" {
			return nil
		}
		x, err := strconv.ParseFloat(cell, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
			return fmt.Errorf("%q is no number of 0 or more", cell)
		}
		*to = profile.Some(x)
	}
	return nil
}
