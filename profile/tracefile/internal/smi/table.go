package smi

import (
	"bufio"
	"bytes"
	"iter"
	"strings"
	"time"

	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/tracefile/internal/gather"
)

// ReadTable reads what nvidia-smi dmon, nvidia-smi pmon and dcgmi dmon print:
// columns between blanks, named by a header that may come again with other
// columns. Unit rows carry nothing that the names do not; dcgmi's hold blanks
// inside a unit, so that nothing may be aligned on them.
func ReadTable(r *bufio.Reader, c *gather.Collector) error {
	t := table{Collector: c}
	err := c.Each(r, func(line []byte) error {
		if line[0] == '#' {
			t.header(line)
			return nil
		}
		return t.row(line)
	})
	for i := range c.Sources {
		c.Sources[i].Idle()
	}
	return err
}

// role is what a column holds.
type role uint8

const (
	valueRole role = iota
	gpuRole
	entityRole // dcgmi: "GPU 0", two words
	pidRole
	dateRole
	clockRole
	commandRole
	otherRole
)

type column struct {
	role    role
	measure gather.Measure
}

type table struct {
	*gather.Collector
	columns []column
	key     []byte
}

// IsTableHeader recognises "# gpu ...", "#Date Time gpu ..." and "#Entity ...".
func IsTableHeader(line []byte) bool {
	if len(line) == 0 || line[0] != '#' {
		return false
	}
	for name := range names(line[1:]) {
		if role := roleOf(string(name)); role == gpuRole || role == entityRole {
			return true
		}
	}
	return false
}

// header takes the names of the columns; a line of units is none.
func (t *table) header(line []byte) {
	if !IsTableHeader(line) {
		return
	}
	t.columns = t.columns[:0]
	for name := range names(line[1:]) {
		t.columns = append(t.columns, column{roleOf(string(name)), tableMeasures[string(name)]})
	}
}

// names yields the words of a header.
func names(header []byte) iter.Seq[[]byte] {
	return bytes.FieldsFuncSeq(header, gather.IsGap[rune])
}

func roleOf(name string) role {
	if role, ok := tableRoles[strings.ToLower(name)]; ok {
		return role
	}
	if tableMeasures[name].Quantity == gather.Ignored {
		return otherRole
	}
	return valueRole
}

// What the columns of the three tools hold. dmon's sm is utilization.gpu.
//
//nolint:gochecknoglobals // read-only tables
var (
	tableRoles = map[string]role{
		"gpu": gpuRole, "entity": entityRole, "pid": pidRole, "date": dateRole, "time": clockRole, "command": commandRole, "name": commandRole,
	}
	tableMeasures = map[string]gather.Measure{
		"sm":    gather.GPUBusy.In(gather.Percent),
		"GPUTL": gather.GPUBusy.In(gather.Percent),
		"mem":   gather.MemBusy.In(gather.Percent),
		"MCUTL": gather.MemBusy.In(gather.Percent),
		"GRACT": gather.GraphicsActive.In(gather.One),
		"SMACT": gather.SMActive.In(gather.One),
		"SMOCC": gather.SMOccupancy.In(gather.One),
		"TENSO": gather.TensorActive.In(gather.One),
		"DRAMA": gather.DRAMActive.In(gather.One),
		"FP32A": gather.FP32Active.In(gather.One),
		"fb":    gather.MemUsed.In(gather.Mebi),
		"FBUSD": gather.MemUsed.In(gather.Mebi),
		"pwr":   gather.Power.In(gather.One),
		"POWER": gather.Power.In(gather.One),
		"TOTEC": gather.Energy.In(gather.Milli),
		"pclk":  gather.SMClock.In(gather.One),
		"SMCLK": gather.SMClock.In(gather.One),
		"gtemp": gather.Temperature.In(gather.One),
		"TMPTR": gather.Temperature.In(gather.One),
		"txpci": gather.PCIeSent.In(gather.Mega),
		"rxpci": gather.PCIeReceived.In(gather.Mega),
		"PCITX": gather.PCIeSent.In(gather.One),
		"PCIRX": gather.PCIeReceived.In(gather.One),
	}
)

// cells are the words of a row that name its source.
type cells struct {
	gpu, kind, pid, command, date, clock []byte
}

// row reads one row and appends it to its source.
func (t *table) row(line []byte) error {
	if first, _ := gather.Word(line); len(t.columns) == 0 || string(first) == "ID" {
		return nil // before the first header, or dcgmi's units
	}
	var r gather.Row
	var w cells
	bad, rest := false, line
	for i := range t.columns {
		col := &t.columns[i]
		var cell []byte
		cell, rest = gather.Word(rest)
		if cell == nil && col.role != commandRole {
			t.Warn("a row of fewer columns than the header: %q", reading.Clip(line))
			return nil
		}
		if col.role == valueRole {
			v, state := gather.Number(cell)
			bad = bad || state == gather.Garbled || state == gather.Known && !r.Put(col.measure, v)
		}
		rest = w.take(col.role, cell, rest)
	}
	if bad {
		t.Warn("a value that cannot be: %q", reading.Clip(line))
	}
	return t.finish(&r, &w)
}

// take keeps a cell that is no value; it returns what is left of the line.
func (w *cells) take(role role, cell, rest []byte) []byte {
	switch role {
	case gpuRole:
		w.gpu = cell
	case entityRole:
		w.kind = cell
		w.gpu, rest = gather.Word(rest)
	case pidRole:
		w.pid = cell
	case dateRole:
		w.date = cell
	case clockRole:
		w.clock = cell
	case commandRole: // the rest of the line: names may hold blanks
		w.command = bytes.TrimSpace(cell[:len(cell)+len(rest)])
		return nil
	case valueRole, otherRole:
	}
	return rest
}

func (t *table) finish(r *gather.Row, w *cells) error {
	switch {
	case len(w.gpu) == 0 || w.gpu[0] < '0' || w.gpu[0] > '9':
		t.Warn("no row of the table")
		return nil
	case len(w.pid) == 1 && w.pid[0] == '-':
		t.Instead = "rows of GPUs that no process used, and no other"
		return nil // an idle GPU of pmon
	case bytes.HasPrefix(w.command, []byte("nvidia-cuda-mps")):
		return nil // the daemon, not a task
	}
	if w.date != nil {
		at, ok := t.day(w.date, w.clock)
		if !ok {
			t.Warn("date %q and time %q are not YYYYMMDD and hh:mm:ss", reading.Clip(w.date), reading.Clip(w.clock))
			return nil
		}
		r.At = at
	}
	t.key = append(append(append(append(append(t.key[:0], w.kind...), ' '), w.gpu...), ' '), w.pid...)
	s, err := t.Source(t.key, w.labels)
	if err != nil {
		return err
	}
	return t.Push(s, r)
}

func (t *table) day(date, clock []byte) (at time.Time, ok bool) {
	if len(date) != 8 {
		return at, false
	}
	n, ok := gather.Digits(date)
	if !ok {
		return at, false
	}
	return t.Date(n/10000, n/100%100, n%100, clock)
}

// labels says which GPU, MIG instance or process the cells name.
func (w *cells) labels() map[string]string {
	labels := map[string]string{}
	switch kind := string(w.kind); kind {
	case "", "GPU":
		labels[gather.LabelGPU] = string(w.gpu)
	case "GPU-I":
		labels[gather.LabelInstance] = string(w.gpu)
	default:
		labels[gather.LabelInstance] = kind + " " + string(w.gpu)
	}
	if len(w.pid) > 0 {
		labels[gather.LabelPID] = string(w.pid)
		labels[gather.LabelCommand] = string(w.command[:min(len(w.command), gather.MaxKey)])
	}
	return labels
}
