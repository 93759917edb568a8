package tracefile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// readCSV reads what nvidia-smi --format=csv prints, with or without header and
// units. The header, or Options.Fields, names the columns; unknown ones are
// passed over.
func readCSV(r *bufio.Reader, c *collector) error {
	t := csvTable{collector: c}
	for _, name := range c.options.Fields {
		t.column(name)
	}
	if len(t.columns) > 0 && len(t.measures) == 0 {
		return fmt.Errorf("Options.Fields %q name nothing that is read", c.options.Fields)
	}
	err := c.each(r, func(line []byte) error {
		if line[0] >= 'a' && line[0] <= 'z' && isCSVHeader(line) { // rows begin otherwise
			t.header(line)
			return nil
		}
		t.instead = ""
		return t.row(line)
	})
	if err == nil && len(t.columns) == 0 {
		return errors.New("no header: name the columns in Options.Fields")
	}
	return err
}

// csvRole is a column that names the source or the time.
type csvRole uint8

const (
	csvValue csvRole = iota
	csvTime
	csvIndex
	csvUUID
	csvName
	csvPID
	csvProcess
	csvBus
	csvRoles int = iota
)

type csvTable struct {
	*collector
	columns  []csvColumn
	measures []int // indices of columns with values
	cells    [csvRoles][]byte
	key      []byte
}

type csvColumn struct {
	role    csvRole
	measure measure
	unit    []byte
}

// isCSVHeader recognises a line of column names.
func isCSVHeader(line []byte) bool {
	known := 0
	for name := range bytes.SplitSeq(line, []byte(",")) {
		role, m, _ := csvField(string(name))
		if role != csvValue || m.quantity != ignored {
			known++
		}
	}
	return known > 0 && (known > 1 || !bytes.Contains(line, []byte(",")))
}

func (t *csvTable) header(line []byte) {
	t.instead = "a header and no row"
	t.columns, t.measures = t.columns[:0], t.measures[:0]
	for name := range bytes.SplitSeq(line, []byte(",")) {
		t.column(string(name))
	}
	t.onePower(line)
}

// onePower keeps, of several columns of power, the one that nvidia-smi itself
// shows: the average over a second where the board has it.
func (t *csvTable) onePower(line []byte) {
	best, rank := -1, 0
	for i, name := range strings.Split(string(line), ",") {
		name, _, _ = strings.Cut(strings.TrimSpace(name), " [")
		r := map[string]int{"power.draw": 3, "power.draw.average": 2, "power.draw.instant": 1}[name]
		if r == 0 {
			continue
		}
		drop := i
		if r > rank {
			drop, best, rank = best, i, r
		}
		if drop >= 0 {
			t.columns[drop].measure = measure{}
		}
	}
}

func (t *csvTable) column(name string) {
	role, m, unit := csvField(name)
	t.columns = append(t.columns, csvColumn{role, m, []byte(unit)})
	if m.quantity != ignored {
		t.measures = append(t.measures, len(t.columns)-1)
	}
}

// csvField returns what a column of nvidia-smi's queries holds, from a name like
// "memory.used [MiB]".
func csvField(name string) (csvRole, measure, string) {
	name, unit, _ := strings.Cut(strings.TrimSpace(name), " [")
	unit = strings.TrimSuffix(unit, "]")
	switch strings.TrimSpace(name) {
	case "timestamp":
		return csvTime, measure{}, ""
	case "index":
		return csvIndex, measure{}, ""
	case "uuid", "gpu_uuid":
		return csvUUID, measure{}, ""
	case "name", "gpu_name":
		return csvName, measure{}, ""
	case "pci.bus_id", "gpu_bus_id":
		return csvBus, measure{}, ""
	case "pid":
		return csvPID, measure{}, ""
	case "process_name":
		return csvProcess, measure{}, ""
	case "utilization.gpu", "gpu_utilization":
		return csvValue, measure{gpuBusy, percent}, unit
	case "utilization.memory", "mem_utilization":
		return csvValue, measure{memBusy, percent}, unit
	case "memory.used", "used_memory", "used_gpu_memory", "max_memory_usage":
		return csvValue, measure{memUsed, mebi}, unit
	case "power.draw", "power.draw.average", "power.draw.instant":
		return csvValue, measure{power, one}, unit
	case "clocks.sm", "clocks.current.sm":
		return csvValue, measure{smClock, one}, unit
	case "temperature.gpu":
		return csvValue, measure{temperature, one}, unit
	}
	return csvValue, measure{}, unit
}

func (t *csvTable) row(line []byte) error {
	if len(t.columns) == 0 {
		return errors.New("no header: name the columns in Options.Fields")
	}
	var r row
	t.cells = [csvRoles][]byte{}
	bad, rest := false, line
	for i := range t.columns {
		if rest == nil {
			t.warn("a row of fewer columns than the header: %q", clip(line))
			return nil
		}
		var cell []byte
		if at := bytes.IndexByte(rest, ','); at >= 0 {
			cell, rest = rest[:at], rest[at+1:]
		} else {
			cell, rest = rest, nil
		}
		cell = trim(cell)
		col := &t.columns[i]
		switch {
		case col.role != csvValue:
			t.cells[col.role] = cell
		case col.measure.quantity != ignored:
			bad = !r.value(col, cell) || bad
		}
	}
	if bad {
		t.warn("a value that cannot be: %q", clip(line))
	}
	if stamp := t.cells[csvTime]; stamp != nil {
		at, ok := t.stamp(stamp)
		if !ok {
			t.warn("timestamp %q is not YYYY/MM/DD hh:mm:ss.sss", clip(stamp))
			return nil
		}
		r.At = at
	}
	t.key = t.key[:0]
	for _, role := range []csvRole{csvUUID, csvIndex, csvBus, csvPID} {
		t.key = append(append(t.key, t.cells[role]...), ',')
	}
	s, err := t.source(t.key, t.labels)
	if err != nil {
		return err
	}
	return t.push(s, &r)
}

// value reads "35 %", "1035 MiB" or a number without its unit.
func (r *row) value(col *csvColumn, cell []byte) bool {
	end := bytes.IndexByte(cell, ' ')
	if end < 0 || len(cell) > 0 && cell[0] == '[' {
		end = len(cell)
	}
	m := col.measure
	if unit := trim(cell[end:]); len(unit) > 0 && !bytes.Equal(unit, col.unit) {
		var ok bool
		if m.unit, ok = unitOf(string(unit)); !ok {
			return false
		}
	}
	v, state := number(cell[:end])
	return state == missing || state == known && r.put(m, v)
}

func unitOf(name string) (unit, bool) {
	switch name {
	case "%":
		return percent, true
	case "W", "MHz", "C", "B":
		return one, true
	case "mW":
		return milli, true
	case "KiB":
		return kibi, true
	case "MiB":
		return mebi, true
	case "GiB":
		return gibi, true
	}
	return one, false
}

func trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

func (t *csvTable) labels() map[string]string {
	labels := map[string]string{}
	for role, name := range [csvRoles]string{
		csvIndex: LabelGPU, csvUUID: LabelUUID, csvName: LabelName, csvPID: LabelPID, csvProcess: LabelCommand,
	} {
		if cell := t.cells[role]; name != "" && len(cell) > 0 {
			labels[name] = string(cell[:min(len(cell), maxKey)])
		}
	}
	if bytes.HasPrefix(t.cells[csvUUID], []byte("MIG-")) {
		labels[LabelInstance] = string(t.cells[csvUUID])
	}
	return labels
}
