package smi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/tracefile/internal/gather"
)

// ReadCSV reads what nvidia-smi --format=csv prints, with or without header and
// units. The header, or Options.Fields, names the columns; unknown ones are
// passed over.
func ReadCSV(r *bufio.Reader, c *gather.Collector) error {
	t := csvTable{Collector: c}
	for _, name := range c.Options.Fields {
		t.column(name)
	}
	if len(t.columns) > 0 && !slices.ContainsFunc(t.columns, func(c csvColumn) bool { return c.measure.Quantity != gather.Ignored }) {
		return fmt.Errorf("Options.Fields %q name nothing that is read", c.Options.Fields)
	}
	err := c.Each(r, func(line []byte) error {
		if line[0] >= 'a' && line[0] <= 'z' && IsCSVHeader(line) { // rows begin otherwise
			t.header(line)
			return nil
		}
		t.Instead = ""
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
	csvProduct
	csvPID
	csvProcess
	csvBus
	csvRoles int = iota
)

type csvTable struct {
	*gather.Collector
	columns []csvColumn
	cells   [csvRoles][]byte
	key     []byte
}

type csvColumn struct {
	role    csvRole
	measure gather.Measure
}

// IsCSVHeader recognises a line of column names.
func IsCSVHeader(line []byte) bool {
	known := 0
	for name := range bytes.SplitSeq(line, []byte(",")) {
		role, m := csvField(string(name))
		if role != csvValue || m.Quantity != gather.Ignored {
			known++
		}
	}
	return known > 0 && (known > 1 || !bytes.Contains(line, []byte(",")))
}

func (t *csvTable) header(line []byte) {
	t.Instead = "a header and no row"
	t.columns = t.columns[:0]
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
			t.columns[drop].measure = gather.Measure{}
		}
	}
}

func (t *csvTable) column(name string) {
	role, m := csvField(name)
	t.columns = append(t.columns, csvColumn{role, m})
}

// csvField returns what a column of nvidia-smi's queries holds, from a name like
// "memory.used [MiB]".
func csvField(name string) (csvRole, gather.Measure) {
	name, unit, _ := strings.Cut(strings.TrimSpace(name), " [")
	name = strings.TrimSpace(name)
	m := csvMeasures[name]
	if known, ok := units[strings.TrimSuffix(unit, "]")]; ok {
		m.Unit = known
	}
	return csvNames[name], m
}

// What the columns of a query hold, by their names without the unit: those that name the
// source or the time, then the others.
//
//nolint:gochecknoglobals // read-only tables
var (
	csvNames = map[string]csvRole{
		"timestamp": csvTime, "index": csvIndex, "uuid": csvUUID, "gpu_uuid": csvUUID, "name": csvProduct, "gpu_name": csvProduct,
		"pci.bus_id": csvBus, "gpu_bus_id": csvBus, "pid": csvPID, "process_name": csvProcess,
	}
	csvMeasures = map[string]gather.Measure{
		"utilization.gpu":    gather.GPUBusy.In(gather.Percent),
		"gpu_utilization":    gather.GPUBusy.In(gather.Percent),
		"utilization.memory": gather.MemBusy.In(gather.Percent),
		"mem_utilization":    gather.MemBusy.In(gather.Percent),
		"memory.used":        gather.MemUsed.In(gather.Mebi),
		"used_memory":        gather.MemUsed.In(gather.Mebi),
		"used_gpu_memory":    gather.MemUsed.In(gather.Mebi),
		"max_memory_usage":   gather.MemUsed.In(gather.Mebi),
		"power.draw":         gather.Power.In(gather.One),
		"power.draw.average": gather.Power.In(gather.One),
		"power.draw.instant": gather.Power.In(gather.One),
		"clocks.sm":          gather.SMClock.In(gather.One),
		"clocks.current.sm":  gather.SMClock.In(gather.One),
		"temperature.gpu":    gather.Temperature.In(gather.One),
	}
	units = map[string]gather.Unit{
		"%": gather.Percent, "W": gather.One, "MHz": gather.One, "C": gather.One, "B": gather.One,
		"mW": gather.Milli, "KiB": gather.Kibi, "MiB": gather.Mebi, "GiB": gather.Gibi,
	}
)

func (t *csvTable) row(line []byte) error {
	if len(t.columns) == 0 {
		return errors.New("no header: name the columns in Options.Fields")
	}
	var r gather.Row
	t.cells = [csvRoles][]byte{}
	bad, rest := false, line
	for i := range t.columns {
		if rest == nil {
			t.Warn("a row of fewer columns than the header: %q", reading.Clip(line))
			return nil
		}
		var cell []byte
		if at := bytes.IndexByte(rest, ','); at >= 0 {
			cell, rest = rest[:at], rest[at+1:]
		} else {
			cell, rest = rest, nil
		}
		cell = gather.Trim(cell)
		col := &t.columns[i]
		switch {
		case col.role != csvValue:
			t.cells[col.role] = cell
		case col.measure.Quantity != gather.Ignored:
			bad = !col.put(&r, cell) || bad
		}
	}
	if bad {
		t.Warn("a value that cannot be: %q", reading.Clip(line))
	}
	if stamp := t.cells[csvTime]; stamp != nil {
		at, ok := t.Stamp(stamp)
		if !ok {
			t.Warn("timestamp %q is not YYYY/MM/DD hh:mm:ss.sss", reading.Clip(stamp))
			return nil
		}
		r.At = at
	}
	t.key = t.key[:0]
	for _, role := range []csvRole{csvUUID, csvIndex, csvBus, csvPID} {
		t.key = append(append(t.key, t.cells[role]...), ',')
	}
	s, err := t.Source(t.key, t.labels)
	if err != nil {
		return err
	}
	return t.Push(s, &r)
}

// put reads "35 %", "1035 MiB" or a number without its unit.
func (col *csvColumn) put(r *gather.Row, cell []byte) bool {
	end := bytes.IndexByte(cell, ' ')
	if end < 0 || cell[0] == '[' {
		end = len(cell)
	}
	m := col.measure
	if unit := gather.Trim(cell[end:]); len(unit) > 0 {
		var ok bool
		if m.Unit, ok = units[string(unit)]; !ok {
			return false
		}
	}
	v, state := gather.Number(cell[:end])
	return state == gather.Missing || state == gather.Known && r.Put(m, v)
}

func (t *csvTable) labels() map[string]string {
	labels := map[string]string{}
	for role, name := range [csvRoles]string{
		csvIndex: gather.LabelGPU, csvUUID: gather.LabelUUID, csvProduct: gather.LabelName, csvPID: gather.LabelPID, csvProcess: gather.LabelCommand,
	} {
		if cell := t.cells[role]; name != "" && len(cell) > 0 {
			labels[name] = string(cell[:min(len(cell), gather.MaxKey)])
		}
	}
	if bytes.HasPrefix(t.cells[csvUUID], []byte("MIG-")) {
		labels[gather.LabelInstance] = string(t.cells[csvUUID])
	}
	return labels
}
