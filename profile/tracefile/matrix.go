package tracefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// readMatrix reads the JSON that Prometheus answers to query_range or query,
// one series at a time:
//
//	{"status":"success","data":{"resultType":"matrix","result":[
//	  {"metric":{"__name__":"...","gpu":"0"},"values":[[1700000000,"0.5"],...]}]}}
func readMatrix(r *bufio.Reader, c *collector) error {
	m := newMatrix(c)
	if err := m.read(r); err != nil {
		return err
	}
	return m.finish()
}

// matrix gathers points of all series by source and time.
type matrix struct {
	*collector
	points [][]point // by source
	count  int
}

type point struct {
	millis  int64
	measure measure
	value   float64
}

func newMatrix(c *collector) *matrix { return &matrix{collector: c} }

// answer is the head of an answer; its series are read one by one.
type answer struct {
	status, kind string
	message      string
	warnings     []string
	others       []string // keys that no answer has
}

func (m *matrix) read(r io.Reader) error {
	limited := &io.LimitedReader{R: r, N: MaxJSON}
	dec := json.NewDecoder(limited)
	var a answer
	err := m.object(dec, func(key string) error { return m.top(dec, key, &a) })
	switch {
	case errors.Is(err, ErrOther):
		return err
	case limited.N <= 0:
		return fmt.Errorf("the answer is longer than %d bytes: ask for less at a time", MaxJSON)
	case err != nil:
		return fmt.Errorf("offset %d: %w", dec.InputOffset(), noEOF(err))
	case a.status == "error":
		return fmt.Errorf("the server answered with an error: %s", clip(a.message))
	case a.status == "" && a.kind == "":
		return a.unlike()
	case a.status != "success":
		return errors.New("no answer of Prometheus: status is not success")
	case a.kind != "matrix" && a.kind != "vector":
		return fmt.Errorf("result type %q; want matrix or vector", clip(a.kind))
	}
	for _, w := range a.warnings {
		m.warnAt(0, "the server warns: %s", clip(w))
	}
	return nil
}

// object visits the keys of an object; visit must take the value.
func (m *matrix) object(dec *json.Decoder, visit func(key string) error) error {
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

func (m *matrix) top(dec *json.Decoder, key string, a *answer) error {
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
	state  reading
}

// UnmarshalJSON reads a point without keeping its text.
func (p *promPoint) UnmarshalJSON(data []byte) error {
	when, text, ok := bytes.Cut(bytes.Trim(data, "[] \t\r\n"), []byte(","))
	seconds, err := strconv.ParseFloat(string(trim(when)), 64)
	if !ok || err != nil || !(math.Abs(seconds) <= 1e11) {
		return fmt.Errorf("a point %s without a Unix time", clip(data))
	}
	text = trim(text)
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return fmt.Errorf("a point %s whose value is no text", clip(data))
	}
	p.millis = int64(math.Round(seconds * 1000))
	if p.value, p.state = number(text[1 : len(text)-1]); p.state == garbled {
		return fmt.Errorf("a point %s whose value is no number", clip(data))
	}
	return nil
}

func (m *matrix) result(dec *json.Decoder) error {
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

func (m *matrix) series(s *series) error {
	what, ok := metrics[s.Metric["__name__"]]
	if !ok {
		return nil
	}
	labels := newLabelSet()
	for _, name := range slices.Sorted(maps.Keys(s.Metric)) {
		labels.add(name, s.Metric[name])
	}
	key := labels.key()
	if _, err := m.source(key, func() map[string]string { return labels.labels }); err != nil {
		return err
	}
	i := m.index[string(key)]
	for len(m.points) < len(m.sources) {
		m.points = append(m.points, nil)
	}
	if m.sources[i].mig && what.quantity == gpuBusy {
		return nil
	}
	values := s.Values
	if s.Value != nil {
		values = append(values, *s.Value)
	}
	if m.count += len(values); m.count > 8*MaxSamples {
		return fmt.Errorf("more than %d points", 8*MaxSamples)
	}
	for _, v := range values {
		if v.state == known {
			m.points[i] = append(m.points[i], point{v.millis, what, v.value})
		}
	}
	return nil
}

// finish puts the points of each source in order of time and makes samples of
// those of the same millisecond.
func (m *matrix) finish() error {
	for i, points := range m.points {
		slices.SortStableFunc(points, func(a, b point) int {
			switch {
			case a.millis < b.millis:
				return -1
			case a.millis > b.millis:
				return 1
			}
			return 0
		})
		bad := 0
		for len(points) > 0 {
			r := row{}
			r.At = time.UnixMilli(points[0].millis).UTC()
			n := 0
			for n < len(points) && points[n].millis == points[0].millis {
				if !r.put(points[n].measure, points[n].value) {
					bad++
				}
				n++
			}
			if err := m.push(&m.sources[i], &r); err != nil {
				return err
			}
			points = points[n:]
		}
		if bad > 0 {
			m.warnAt(0, "%d values that cannot be, such as a ratio above 1, are left out", bad)
		}
		m.points[i] = nil
	}
	return nil
}

// noEOF turns an end in the middle of something into what it is.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
