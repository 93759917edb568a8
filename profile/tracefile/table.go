package tracefile

import (
	"bufio"
	"bytes"
	"iter"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// readTable reads what nvidia-smi dmon, nvidia-smi pmon and dcgmi dmon print:
// columns between blanks, named by a header that may come again with other
// columns. Unit rows carry nothing that the names do not; dcgmi's hold blanks
// inside a unit, so that nothing may be aligned on them.
func readTable(r *bufio.Reader, c *collector) error {
	t := table{collector: c}
	err := c.each(r, func(line []byte) error {
		if line[0] == '#' {
			t.header(line)
			return nil
		}
		return t.row(line)
	})
	for i := range c.sources {
		c.sources[i].idle()
	}
	return err
}

// idle sets to 0 what pmon leaves blank of a process that it tells in another
// second: a "-" there means that the process did nothing. A process that it never
// tells, as on MIG instances, stays missing.
func (s *source) idle() {
	if s.labels[LabelPID] == "" {
		return
	}
	told := func(of func(*profile.Sample) *profile.Opt[float64]) {
		some := false
		for _, block := range s.blocks {
			for i := range block {
				some = some || !of(&block[i]).IsZero()
			}
		}
		for _, block := range s.blocks {
			for i := range block {
				if v := of(&block[i]); some && v.IsZero() {
					*v = profile.Some(0.0)
				}
			}
		}
	}
	told(func(x *profile.Sample) *profile.Opt[float64] { return &x.GPUBusy })
	told(func(x *profile.Sample) *profile.Opt[float64] { return &x.MemBusy })
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
	measure measure
}

type table struct {
	*collector
	columns []column
	key     []byte
}

// isTableHeader recognises "# gpu ...", "#Date Time gpu ..." and "#Entity ...".
func isTableHeader(line []byte) bool {
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
	if !isTableHeader(line) {
		return
	}
	t.columns = t.columns[:0]
	for name := range names(line[1:]) {
		t.columns = append(t.columns, column{roleOf(string(name)), columnMeasure(string(name))})
	}
}

// names yields the words of a header.
func names(header []byte) iter.Seq[[]byte] {
	return bytes.FieldsFuncSeq(header, func(r rune) bool { return r < 256 && isGap(byte(r)) })
}

func roleOf(name string) role {
	switch strings.ToLower(name) {
	case "gpu":
		return gpuRole
	case "entity":
		return entityRole
	case "pid":
		return pidRole
	case "date":
		return dateRole
	case "time":
		return clockRole
	case "command", "name":
		return commandRole
	}
	if columnMeasure(name).quantity == ignored {
		return otherRole
	}
	return valueRole
}

// columnMeasure returns what a column of the three tools measures.
func columnMeasure(name string) measure {
	switch name {
	case "sm", "GPUTL": // dmon's sm is utilization.gpu
		return measure{gpuBusy, percent}
	case "mem", "MCUTL":
		return measure{memBusy, percent}
	case "GRACT":
		return measure{graphicsActive, one}
	case "SMACT":
		return measure{smActive, one}
	case "SMOCC":
		return measure{smOccupancy, one}
	case "TENSO":
		return measure{tensorActive, one}
	case "DRAMA":
		return measure{dramActive, one}
	case "FP32A":
		return measure{fp32Active, one}
	case "fb", "FBUSD":
		return measure{memUsed, mebi}
	case "pwr", "POWER":
		return measure{power, one}
	case "TOTEC":
		return measure{energy, milli}
	case "pclk", "SMCLK":
		return measure{smClock, one}
	case "gtemp", "TMPTR":
		return measure{temperature, one}
	case "txpci":
		return measure{pcieSent, mega}
	case "rxpci":
		return measure{pcieReceived, mega}
	case "PCITX":
		return measure{pcieSent, one}
	case "PCIRX":
		return measure{pcieReceived, one}
	}
	return measure{}
}

// cells are the words of a row that name its source.
type cells struct {
	gpu, kind, pid, command, date, clock []byte
}

// row reads one row and appends it to its source.
func (t *table) row(line []byte) error {
	if first, _ := word(line); len(t.columns) == 0 || string(first) == "ID" {
		return nil // before the first header, or dcgmi's units
	}
	var r row
	var w cells
	bad, rest := false, line
	for i := range t.columns {
		col := &t.columns[i]
		var cell []byte
		cell, rest = word(rest)
		if cell == nil {
			if col.role != commandRole {
				t.warn("a row of fewer columns than the header: %q", clip(line))
				return nil
			}
			break
		}
		if col.role == valueRole {
			v, state := number(cell)
			bad = bad || state == garbled || state == known && !r.put(col.measure, v)
			continue
		}
		rest = w.take(col.role, cell, rest)
	}
	if bad {
		t.warn("a value that cannot be: %q", clip(line))
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
		w.gpu, rest = word(rest)
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

// word cuts the first word off. Commas are blanks: dmon writes them on demand.
func word(line []byte) (first, rest []byte) {
	start := 0
	for start < len(line) && isGap(line[start]) {
		start++
	}
	end := start
	for end < len(line) && !isGap(line[end]) {
		end++
	}
	if start == end {
		return nil, nil
	}
	return line[start:end], line[end:]
}

func isGap(b byte) bool { return b <= ' ' || b == ',' }

func (t *table) finish(r *row, w *cells) error {
	switch {
	case len(w.gpu) == 0 || w.gpu[0] < '0' || w.gpu[0] > '9':
		t.warn("no row of the table")
		return nil
	case len(w.pid) == 1 && w.pid[0] == '-':
		t.instead = "rows of GPUs that no process used, and no other"
		return nil // an idle GPU of pmon
	case bytes.HasPrefix(w.command, []byte("nvidia-cuda-mps")):
		return nil // the daemon, not a task
	}
	if w.date != nil {
		at, ok := t.day(w.date, w.clock)
		if !ok {
			t.warn("date %q and time %q are not YYYYMMDD and hh:mm:ss", clip(w.date), clip(w.clock))
			return nil
		}
		r.At = at
	}
	t.key = append(append(append(append(append(t.key[:0], w.kind...), ' '), w.gpu...), ' '), w.pid...)
	s, err := t.source(t.key, w.labels)
	if err != nil {
		return err
	}
	return t.push(s, r)
}

func (t *table) day(date, clock []byte) (at time.Time, ok bool) {
	if len(date) != 8 {
		return at, false
	}
	n, ok := digits(date)
	if !ok {
		return at, false
	}
	return t.date(n/10000, n/100%100, n%100, clock)
}

// labels says which GPU, MIG instance or process the cells name.
func (w *cells) labels() map[string]string {
	labels := map[string]string{}
	switch kind := string(w.kind); kind {
	case "", "GPU":
		labels[LabelGPU] = string(w.gpu)
	case "GPU-I":
		labels[LabelInstance] = string(w.gpu)
	default:
		labels[LabelInstance] = kind + " " + string(w.gpu)
	}
	if len(w.pid) > 0 {
		labels[LabelPID] = string(w.pid)
		labels[LabelCommand] = string(w.command[:min(len(w.command), maxKey)])
	}
	return labels
}
