package prometheus

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/tracefile/internal/gather"
)

// ReadExposition reads Prometheus text: one answer of an exporter, or many one
// after the other. A metric that comes again for the same source begins the next
// sample, and so does another timestamp.
func ReadExposition(r *bufio.Reader, c *gather.Collector) error {
	e := exposition{Collector: c, series: map[string]int{}}
	if err := c.Each(r, e.line); err != nil {
		return err
	}
	for i := range e.pending {
		if err := e.flush(i); err != nil {
			return err
		}
	}
	return nil
}

type exposition struct {
	*gather.Collector
	series  map[string]int // label text to source
	pending []pendingRow   // one for each source
	held    int            // bytes of label text in series
	ids     map[string]int // metric name to bit
}

// pendingRow is the sample that a source is being told.
type pendingRow struct {
	gather.Row
	seen  uint64 // bits of metrics
	stamp int64  // milliseconds; 0 is none
}

const maxHeld = 32 << 20 // bytes of label texts that are remembered

// IsMetricLine recognises "NAME{...} 1" with a name that is read.
func IsMetricLine(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte("{"))
	_, known := metrics[string(name)]
	return ok && known
}

func (e *exposition) line(line []byte) error {
	name, rest, ok := bytes.Cut(line, []byte("{"))
	if !ok || line[0] == '#' {
		return nil // a comment, or a metric without labels: none of ours
	}
	m, ok := metrics[string(name)]
	if !ok {
		if e.Unknown == "" {
			e.Unknown = reading.Clip(string(name))
		}
		return nil
	}
	end := bytes.LastIndexByte(rest, '}')
	if end < 0 {
		e.Warn("labels without an end: %q", reading.Clip(line))
		return nil
	}
	value, stamp := gather.Word(rest[end+1:])
	v, state := gather.Number(value)
	if state == gather.Missing {
		return nil
	}
	if state == gather.Garbled {
		e.Warn("%q is no value: %q", reading.Clip(value), reading.Clip(line))
		return nil
	}
	i, err := e.find(rest[:end])
	if err != nil || i < 0 {
		return err
	}
	return e.put(i, name, m, v, gather.Trim(stamp))
}

// find returns the source of a label text; -1 is none.
func (e *exposition) find(text []byte) (int, error) {
	if i, ok := e.series[string(text)]; ok {
		return i, nil
	}
	labels := newLabelSet()
	if !labels.parse(string(text)) {
		e.Warn("labels are damaged: %q", reading.Clip(text))
		return -1, nil
	}
	key := labels.key()
	if _, err := e.Source(key, func() map[string]string { return labels.labels }); err != nil {
		return -1, err
	}
	i := e.Index[string(key)]
	for len(e.pending) < len(e.Sources) {
		e.pending = append(e.pending, pendingRow{})
	}
	if e.held += len(text); e.held < maxHeld {
		e.series[string(text)] = i
	}
	return i, nil
}

func (e *exposition) put(i int, name []byte, m gather.Measure, v float64, stamp []byte) error {
	p := &e.pending[i]
	millis := int64(0)
	if len(stamp) > 0 {
		var ok bool
		if millis, ok = wholeNumber(stamp); !ok {
			e.Warn("timestamp %q is no number of milliseconds", reading.Clip(stamp))
			return nil
		}
	}
	id, ok := e.ids[string(name)]
	if !ok {
		if e.ids == nil {
			e.ids = map[string]int{}
		}
		id = len(e.ids)
		e.ids[string(name)] = id
	}
	if bit := uint64(1) << id; p.seen&bit != 0 || p.seen != 0 && p.stamp != millis {
		if err := e.flush(i); err != nil {
			return err
		}
	}
	if !p.Put(m, v) {
		e.Warn("a value that cannot be: %s %v", reading.Clip(name), v)
		return nil
	}
	p.seen |= 1 << id
	p.stamp = millis
	return nil
}

func wholeNumber(text []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}

// flush appends the sample of a source if it has any value.
func (e *exposition) flush(i int) error {
	p := e.pending[i]
	if p.seen == 0 {
		return nil
	}
	e.pending[i] = pendingRow{}
	if p.stamp != 0 {
		p.At = time.UnixMilli(p.stamp).UTC()
	}
	s := &e.Sources[i]
	if s.MIG && p.seen&^e.busyBits() == 0 {
		return nil // nothing but the utilisation that is dropped
	}
	return e.Push(s, &p.Row)
}

// busyBits are those of the metrics that are dropped for MIG instances.
func (e *exposition) busyBits() uint64 {
	var bits uint64
	for name, id := range e.ids {
		if metrics[name].Quantity == gather.GPUBusy {
			bits |= 1 << id
		}
	}
	return bits
}

// parse reads `gpu="0",UUID="GPU-1"`, with \\, \" and \n inside values.
func (l *labelSet) parse(text string) bool {
	for {
		text = strings.TrimLeft(text, " \t,")
		if text == "" {
			return true
		}
		name, rest, ok := strings.Cut(text, `="`)
		if !ok {
			return false
		}
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(rest) {
			return false
		}
		l.add(strings.TrimSpace(name), unescape.Replace(rest[:end]))
		text = rest[end+1:]
	}
}

//nolint:gochecknoglobals // safe for concurrent use
var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
