package prometheus

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile/internal/reading"
	"example.com/colloc/profile/tracefile/internal/gather"
)

// ReadMatrix reads the JSON that Prometheus answers to query_range or query,
// one series at a time:
//
//	{"status":"success","data":{"resultType":"matrix","result":[
//	  {"metric":{"__name__":"...","gpu":"0"},"values":[[1700000000,"0.5"],...]}]}}
func ReadMatrix(r *bufio.Reader, c *gather.Collector) error {
	m := NewMatrix(c)
	if err := m.Read(r); err != nil {
		return err
	}
	return m.Finish()
}

// Matrix gathers points of all series by source and time.
type Matrix struct {
	*gather.Collector
	points [][]point // by source
	count  int
}

type point struct {
	millis  int64
	measure gather.Measure
	value   float64
}

// NewMatrix returns a matrix whose points go to a collector.
func NewMatrix(c *gather.Collector) *Matrix { return &Matrix{Collector: c} }

// answer is the head of an answer; its series are read one by one.
type answer struct {
	status, kind string
	message      string
	warnings     []string
	others       []string // keys that no answer has
}

// Read takes the points of one answer.
func (m *Matrix) Read(r io.Reader) error {
	limited := &io.LimitedReader{R: r, N: gather.MaxJSON}
	dec := json.NewDecoder(limited)
	var a answer
	err := m.object(dec, func(key string) error { return m.top(dec, key, &a) })
	switch {
	case errors.Is(err, gather.ErrOther):
		return err
	case limited.N <= 0:
		return fmt.Errorf("the answer is longer than %d bytes: ask for less at a time", gather.MaxJSON)
	case err != nil:
		return fmt.Errorf("offset %d: %w", dec.InputOffset(), reading.NoEOF(err))
	case a.status == "error":
		return fmt.Errorf("the server answered with an error: %s", reading.Clip(a.message))
	case a.status == "" && a.kind == "":
		return a.unlike()
	case a.status != "success":
		return errors.New("no answer of Prometheus: status is not success")
	case a.kind != "matrix" && a.kind != "vector":
		return fmt.Errorf("result type %q; want matrix or vector", reading.Clip(a.kind))
	}
	for _, w := range a.warnings {
		m.WarnAt(0, "the server warns: %s", reading.Clip(w))
	}
	return nil
}

// object visits the keys of an object; visit must take the value.
func (m *Matrix) object(dec *json.Decoder, visit func(key string) error) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	if tok != json.Delim('{') {
		return fmt.Errorf("%v instead of an object", tok)
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return fmt.Errorf("%v instead of a key", tok)
		}
		if err := visit(key); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

func (m *Matrix) top(dec *json.Decoder, key string, a *answer) error {
	switch key {
	case "status":
		return dec.Decode(&a.status)
	case "error":
		return dec.Decode(&a.message)
	case "warnings", "infos":
		var list []string
		err := dec.Decode(&list)
		a.warnings = append(a.warnings, list...)
		return err
	case "data":
		return m.object(dec, func(key string) error {
			switch key {
			case "resultType":
				return dec.Decode(&a.kind)
			case "result":
				return m.result(dec)
			}
			return dec.Decode(new(json.RawMessage))
		})
	}
	if err := a.stray(key); err != nil {
		return err
	}
	return dec.Decode(new(json.RawMessage))
}

// series is one line of the matrix, or one element of a vector.
type series struct {
	Metric map[string]string `json:"metric"`
	Values []promPoint       `json:"values"`
	Value  *promPoint        `json:"value"`
}

// promPoint is [time, "value"].
type promPoint struct {
	millis int64
	value  float64
	state  gather.Reading
}

// UnmarshalJSON reads a point without keeping its text.
func (p *promPoint) UnmarshalJSON(data []byte) error {
	when, text, ok := bytes.Cut(bytes.Trim(data, "[] \t\r\n"), []byte(","))
	seconds, err := strconv.ParseFloat(string(gather.Trim(when)), 64)
	if !ok || err != nil || !(math.Abs(seconds) <= 1e11) {
		return fmt.Errorf("a point %s without a Unix time", reading.Clip(data))
	}
	text = gather.Trim(text)
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return fmt.Errorf("a point %s whose value is no text", reading.Clip(data))
	}
	p.millis = int64(math.Round(seconds * 1000))
	if p.value, p.state = gather.Number(text[1 : len(text)-1]); p.state == gather.Garbled {
		return fmt.Errorf("a point %s whose value is no number", reading.Clip(data))
	}
	return nil
}

func (m *Matrix) result(dec *json.Decoder) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	if tok != json.Delim('[') {
		return fmt.Errorf("%v instead of a list of series", tok)
	}
	for dec.More() {
		var s series
		if err := dec.Decode(&s); err != nil {
			return err
		}
		if err := m.series(&s); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

func (m *Matrix) series(s *series) error {
	what, ok := metrics[s.Metric["__name__"]]
	if !ok {
		return nil
	}
	labels := newLabelSet()
	for _, name := range slices.Sorted(maps.Keys(s.Metric)) {
		labels.add(name, s.Metric[name])
	}
	key := labels.key()
	if _, err := m.Source(key, func() map[string]string { return labels.labels }); err != nil {
		return err
	}
	i := m.Index[string(key)]
	for len(m.points) < len(m.Sources) {
		m.points = append(m.points, nil)
	}
	if m.Sources[i].MIG && what.Quantity == gather.GPUBusy {
		return nil
	}
	values := s.Values
	if s.Value != nil {
		values = append(values, *s.Value)
	}
	if m.count += len(values); m.count > 8*gather.MaxSamples {
		return fmt.Errorf("more than %d points", 8*gather.MaxSamples)
	}
	for _, v := range values {
		if v.state == gather.Known {
			m.points[i] = append(m.points[i], point{v.millis, what, v.value})
		}
	}
	return nil
}

// Finish puts the points of each source in order of time and makes samples of
// those of the same millisecond.
func (m *Matrix) Finish() error {
	for i, points := range m.points {
		slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.millis, b.millis) })
		bad := 0
		for len(points) > 0 {
			r := gather.Row{}
			r.At = time.UnixMilli(points[0].millis).UTC()
			n := 0
			for n < len(points) && points[n].millis == points[0].millis {
				if !r.Put(points[n].measure, points[n].value) {
					bad++
				}
				n++
			}
			if err := m.Push(&m.Sources[i], &r); err != nil {
				return err
			}
			points = points[n:]
		}
		if bad > 0 {
			m.WarnAt(0, "%d values that cannot be, such as a ratio above 1, are left out", bad)
		}
		m.points[i] = nil
	}
	return nil
}

// stray passes over a key that no answer of Prometheus has. It stops at the nodes
// of an execution trace, which may be long.
func (a *answer) stray(key string) error {
	if len(a.others) < gather.MaxNamedKeys {
		a.others = append(a.others, reading.Clip(key))
	}
	if key == "nodes" && a.others[0] == "schema" {
		return fmt.Errorf("%w: an execution trace of PyTorch (ExecutionTraceObserver), which tells operators but no times on the GPU; "+
			"export_chrome_trace of the profiler does", gather.ErrOther)
	}
	return nil
}

// unlike says what a JSON object looks like that is no answer of Prometheus.
func (a *answer) unlike() error {
	if len(a.others) == 0 {
		return fmt.Errorf("an object without keys that are known: %w", gather.ErrFormat)
	}
	return fmt.Errorf("an object with the keys %s, neither a profiler's trace (traceEvents) nor an answer of Prometheus (status, data): %w",
		strings.Join(a.others, ", "), gather.ErrFormat)
}
